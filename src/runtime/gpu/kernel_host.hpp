// GLINT_KERNEL under the host compiler: a descriptor exported as simgpu_kernel_NAME. The simulated driver uses it to
// check a launch and runs it block by block.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace glint::gpu {

struct SimulatedParameter {
    unsigned size, alignment;  // bytes
    bool pointer, read_only;   // read_only: a pointer to const
};

/// One block of a launch.
struct SimulatedBlock {
    unsigned block, block_dim, grid_dim;
    const unsigned* thread_order;  // a permutation: a kernel must not depend on it
    void* const* arguments;        // as for cuLaunchKernel
    void* scratch;                 // of the launch's shared size
};

struct SimulatedKernel {
    static constexpr unsigned this_version = 1;
    unsigned version;
    unsigned max_threads;
    bool uses_scratch;
    unsigned parameter_count;
    const SimulatedParameter* parameters;
    void (*run)(const SimulatedBlock& block);
};

namespace detail {

template <class List>
struct Described;
template <class... P>
struct Described<Types<P...>> {
    static constexpr SimulatedParameter parameters[] = {{unsigned(sizeof(P)), unsigned(alignof(P)),
                                                         std::is_pointer_v<P>,
                                                         std::is_const_v<std::remove_pointer_t<P>>}...};

    /// Calls `phase` once per thread of the block.
    template <class Phase, std::size_t... n>
    static void run(Phase phase, const SimulatedBlock& block, std::index_sequence<n...>) {
        for (unsigned i = 0; i < block.block_dim; ++i)
            phase(Index{block.block, block.thread_order[i], block.block_dim, block.grid_dim},
                  *static_cast<P*>(block.arguments[n])...);
    }
    template <class Phase>
    static void run(Phase phase, const SimulatedBlock& block) {
        run(phase, block, std::index_sequence_for<P...>{});
    }
};

template <class Kernel>
void run_block(const SimulatedBlock& block) {
    using Run = Described<typename SignatureOf<Kernel>::Parameters>;
    const Scratch scratch{block.scratch};
    if constexpr (HasPhases<Kernel>) {
        std::vector<typename Kernel::PerThread> own(block.block_dim);
        for (int phase = 0; phase < Kernel::phases; ++phase)
            Run::run([&](Index index, auto... p) { Kernel::phase(phase, own[index.thread], index, scratch, p...); },
                     block);
    } else {
        if constexpr (HasStage<Kernel>)
            Run::run([&](Index index, auto... p) { Kernel::stage(index, scratch, p...); }, block);
        Run::run(
            [&](Index index, auto... p) {
                if constexpr (SignatureOf<Kernel>::scratch)
                    Kernel::compute(index, scratch, p...);
                else
                    Kernel::compute(index, p...);
            },
            block);
    }
}

template <class Kernel>
constexpr SimulatedKernel describe() {
    using S = SignatureOf<Kernel>;
    return {SimulatedKernel::this_version,
            Kernel::max_threads,
            S::scratch,
            S::count,
            Described<typename S::Parameters>::parameters,
            &run_block<Kernel>};
}

}  // namespace detail
}  // namespace glint::gpu

#define GLINT_KERNEL(name, number, ...)                                                                         \
    using name##_kernel = __VA_ARGS__;                                                                          \
    static_assert(::glint::gpu::detail::SignatureOf<name##_kernel>::count == number, "number of parameters");   \
    extern "C" __attribute__((visibility("default"))) const ::glint::gpu::SimulatedKernel simgpu_kernel_##name; \
    const ::glint::gpu::SimulatedKernel simgpu_kernel_##name = ::glint::gpu::detail::describe<name##_kernel>();
