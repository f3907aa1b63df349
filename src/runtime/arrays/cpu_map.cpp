// Element-wise arithmetic and reductions on the CPU.
// SPDX-License-Identifier: MIT
#include <limits>
#include <vector>

#include "arrays/cpu.hpp"
#include "arrays/cpu_blocks.hpp"
#include "arrays/cpu_parallel.hpp"

namespace glint::arrays::cpu {
namespace {

// Elements per task. The number is fixed, so that sums do not depend on the number of threads.
constexpr std::int64_t chunk_elements = 1 << 16;

// In additions: waking other threads takes as long as this many additions.
constexpr std::int64_t min_parallel_work = 1 << 19;

/// The approximate cost of a step, in additions.
int cost(Step step) {
    switch (step) {
        case Step::divide:
        case Step::square_root:
        case Step::reciprocal: return 3;
        case Step::remainder: return 60;
        case Step::power:
        case Step::atan2: return 30;
        default: return step >= Step::exp && step <= Step::erf ? 12 : 1;
    }
}

/// Whether the work is too small for several threads.
bool is_small(const Program& program, std::int64_t n) {
    std::int64_t each = 2;
    for (int i = 0; i < program.count; ++i) each += cost(program.instructions[i].step);
    return n * each < min_parallel_work;
}

std::int64_t chunks_of(std::int64_t n) { return (n + chunk_elements - 1) / chunk_elements; }

/// Calls body(blocks, first, n) for each block of a chunk.
template <class T, class Body>
void for_each_block(const BoundProgram<T>& bound, std::int64_t chunk, const Body& body) {
    Blocks<T> blocks(bound);
    const std::int64_t end = std::min(bound.walk.count, (chunk + 1) * chunk_elements);
    for (std::int64_t first = chunk * chunk_elements; first < end; first += block_elements<T>)
        body(blocks, first, std::min(block_elements<T>, end - first));
}

template <class T>
void write(const BoundProgram<T>& bound, const T* values, std::int64_t first, std::int64_t n) {
    T* const out = bound.out->data;
    if (bound.walk.contiguous(0)) {
        if (values != out + first) std::copy_n(values, n, out + first);
        return;
    }
    bound.walk.for_each_run(0, first, n, [&](auto at, auto offset, auto apart, auto length) {
        for (std::int64_t i = 0; i < length; ++i) out[offset + i * apart] = values[at + i];
    });
}

template <class T>
double reduced(Reduction reduction, const T* values, std::int64_t n) {
    const StepLoops<T> loops = step_loops<T>();
    switch (reduction) {
        case Reduction::minimum: return loops.least(values, n);
        case Reduction::maximum: return loops.greatest(values, n);
        default: return loops.sum(values, n);
    }
}

double joined(Reduction reduction, double a, double b) {
    return reduction == Reduction::minimum ? least(a, b) : reduction == Reduction::maximum ? greatest(a, b) : a + b;
}

}  // namespace

template <class T>
void map(const Program& program, std::span<const View<const T>> inputs, const View<T>& out, int threads) {
    const BoundProgram<T> bound(program, inputs, out.shape, &out);
    const std::int64_t n = bound.walk.count;
    parallel(is_small(program, n) ? 1 : threads, chunks_of(n), [&](std::int64_t chunk) {
        for_each_block(bound, chunk, [&](Blocks<T>& blocks, std::int64_t first, std::int64_t size) {
            T* const direct = bound.walk.contiguous(0) ? out.data + first : nullptr;
            write(bound, blocks.run(first, size, direct), first, size);
        });
    });
}

template <class T>
double reduce(Reduction reduction, const Program& program, std::span<const View<const T>> inputs, const Shape& shape,
              int threads) {
    const BoundProgram<T> bound(program, inputs, shape, nullptr);
    const std::int64_t n = bound.walk.count;
    std::vector<double> parts(chunks_of(n));
    parallel(is_small(program, n) ? 1 : threads, std::int64_t(parts.size()), [&](std::int64_t chunk) {
        bool begun = false;
        for_each_block(bound, chunk, [&](Blocks<T>& blocks, std::int64_t first, std::int64_t size) {
            const double part = reduced(reduction, blocks.run(first, size, nullptr), size);
            parts[chunk] = begun ? joined(reduction, parts[chunk], part) : part;
            begun = true;
        });
    });
    double all = parts[0];
    for (std::size_t k = 1; k < parts.size(); ++k) all = joined(reduction, all, parts[k]);
    return reduction == Reduction::mean ? all / double(n) : all;
}

template void map(const Program&, std::span<const View<const std::int64_t>>, const View<std::int64_t>&, int);

#define GLINT_MAP(T)                                                                        \
    template void map(const Program&, std::span<const View<const T>>, const View<T>&, int); \
    template double reduce(Reduction, const Program&, std::span<const View<const T>>, const Shape&, int);
GLINT_MAP(float)
GLINT_MAP(double)

}  // namespace glint::arrays::cpu
