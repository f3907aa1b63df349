// Random arrays: the work, the CPU's loop, and the launches on a GPU.
// SPDX-License-Identifier: MIT
#include "glint/arrays/random.hpp"

#include "arrays/cpu_parallel.hpp"
#include "arrays/cuda/launch.hpp"
#include "arrays/host_copy.hpp"
#include "arrays/on_host.hpp"
#include "arrays/philox.hpp"
#include "arrays/transfer.hpp"
#include "glint/error.hpp"

namespace glint::arrays {
namespace {

// The same fixed rules as for element-wise arithmetic.
constexpr double never = std::numeric_limits<double>::infinity();
constexpr offload::Operation random32{"random float32", "elements", 1, 1, never};
constexpr offload::Operation random64{"random float64", "elements", 1, 1, never};

template <class T>
offload::Work work_of(const Operand<T>& out) {
    constexpr double operations_each = 200 / philox::per_block<T>;  // integer ones: 10 rounds of two wide products
    offload::Work work;
    work.operation = sizeof(T) == sizeof(float) ? &random32 : &random64;
    work.size = double(out.shape().count()), work.flops = work.size * operations_each, work.bytes = double(out.bytes());
    (out.on_device() ? work.bytes_to_return : work.bytes_from_gpu) = out.bytes();
    work.gpu_bytes = out.bytes();
    return work;
}

/// Elements [first, first + n) of the sequence.
template <class T>
void fill(T* to, Distribution distribution, std::uint64_t seed, std::int64_t first, std::int64_t n) {
    constexpr std::int64_t each = philox::per_block<T>;
    for (std::int64_t block = first / each; block * each < first + n; ++block) {
        T numbers[each];
        philox::numbers<T>(seed, std::uint64_t(block), distribution == Distribution::normal, numbers);
        for (std::int64_t k = std::max<std::int64_t>(0, first - block * each); k < each && block * each + k < first + n;
             ++k)
            to[block * each + k - first] = numbers[k];
    }
}

template <class T>
void on_cpu(const View<T>& out, Distribution distribution, std::uint64_t seed, std::int64_t first, int threads) {
    constexpr std::int64_t chunk = 1 << 14;
    const std::int64_t n = out.shape.count();
    const bool direct = out.is_contiguous();
    cpu::parallel(n < 4 * chunk ? 1 : threads, (n + chunk - 1) / chunk, [&](std::int64_t k) {
        const std::int64_t begin = k * chunk, count = std::min(chunk, n - begin);
        if (direct) return fill(out.data + begin, distribution, seed, first + begin, count);
        std::vector<T> packed(static_cast<std::size_t>(count));
        fill(packed.data(), distribution, seed, first + begin, count);
        scatter(packed.data(), out, begin, count);
    });
}

}  // namespace

template <class T>
void OnGpu::random(Distribution distribution, std::uint64_t seed, const Operand<T>& out, std::int64_t first) {
    State& state = *state_;
    const gpu::Kernel& kernel = state.kernel<T>("arrays_random", 0, 2);
    const Pieces pieces{.total = out.shape().count(),
                        .bytes_each = out.on_device() ? 0 : std::int64_t(sizeof(T)),
                        .granule = 1024,
                        .overlap = !out.on_device()};
    in_pieces(
        state, pieces, [&](const gpu::Stream& stream, std::int64_t most) { return Sink<T>(stream, out, most); },
        [&](Sink<T>& sink, const gpu::Stream& stream, std::int64_t begin, std::int64_t n) {
            constexpr std::int64_t per_block = std::int64_t(random_threads) * philox::per_block<T>;
            // One more block if the first element is not the first of its block in the sequence.
            launch(stream, kernel, n / per_block + 2, random_threads, 0, sink.write(stream, begin),
                   (unsigned long long)seed, (long long)(first + begin), (long long)n,
                   int(distribution == Distribution::normal));
        },
        [&](Sink<T>& sink, const gpu::Stream& stream, std::int64_t begin, std::int64_t n) {
            sink.finish(stream, begin, n);
        });
}

template <class T>
void random(offload::Session& session, Distribution distribution, std::uint64_t seed, const Operand<T>& out,
            std::int64_t first) {
    const std::int64_t n = out.shape().count();
    if (first < 0 || first > std::numeric_limits<std::int64_t>::max() - n)
        throw OptionError("random: first is " + std::to_string(first) + ": give 0 or more, and room for " +
                          std::to_string(n) + " elements below 2^63");
    if (n == 0) return;
    session.run(
        work_of(out),
        [&] {
            ResultOnHost<T> result(session, out);
            on_cpu(result.view(), distribution, seed, first, session.threads());
            result.finish();
        },
        [&] { on_gpu(session).template random<T>(distribution, seed, out, first); });
}

#define GLINT_RANDOM(T)                                                                                       \
    template void random<T>(offload::Session&, Distribution, std::uint64_t, const Operand<T>&, std::int64_t); \
    template void OnGpu::random<T>(Distribution, std::uint64_t, const Operand<T>&, std::int64_t);
GLINT_RANDOM(float)
GLINT_RANDOM(double)

}  // namespace glint::arrays
