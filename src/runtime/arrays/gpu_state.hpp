// The implementation of OnGpu: streams, library handles, plans, kernels, and transfers of operands.
// SPDX-License-Identifier: MIT
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "arrays/cuda/launch.hpp"
#include "arrays/gpu.hpp"
#include "arrays/libraries.hpp"
#include "glint/gpu/buffer.hpp"
#include "gpu/stream_state.hpp"

namespace glint::arrays {

/// A plan of cuFFT and its transform.
struct FftPlan {
    int type = 0, rank = 0;
    std::int64_t extent[2] = {}, count = 0;
    lib::Plan plan = 0;
    std::size_t work_bytes = 0;
    void* bound_stream = nullptr;  // the last stream set
    std::uint64_t bound_work = 0;  // the last work area set

    bool does_as(const FftPlan& other) const {
        return type == other.type && rank == other.rank && extent[0] == other.extent[0] &&
               extent[1] == other.extent[1] && count == other.count;
    }
};

struct OnGpu::State {
    explicit State(const gpu::Stream& of);
    ~State();

    gpu::Stream stream;
    std::optional<gpu::Stream> second_stream;  // for overlapping work
    std::map<int, gpu::Module> modules;        // by the number of their fatbin
    std::map<std::string, gpu::Kernel> kernels;
    lib::Blas blas = nullptr;
    const void *bound_to = nullptr, *bound_workspace = nullptr;  // stream and workspace of `blas`
    gpu::Buffer<std::byte> blas_workspaces[2];                   // one for each stream
    lib::Solver solver = nullptr;
    std::list<FftPlan> plans;  // the last used first
    struct WorkAreas {
        gpu::Buffer<std::byte> of_stream[2];
    };
    std::shared_ptr<WorkAreas> fft_work = std::make_shared<WorkAreas>();  // freed under pressure

    gpu::detail::ContextState& home() const { return stream.context().state(); }
    /// Makes the context current for library calls.
    gpu::detail::Current current() const { return gpu::detail::Current(home()); }
    void check(Library library, const char* call, lib::Status status) const {
        arrays::check(home(), library, call, status);
    }
    /// Bytes that the context's limit leaves.
    std::uint64_t room() const;
    const gpu::Stream& second();

    /// Returns the handle bound to one of the two streams, with our own workspace.
    lib::Blas ready_blas(const gpu::Stream& on);
    gpu::Buffer<std::byte>& blas_workspace_for(const gpu::Stream& on);
    lib::Solver ready_solver();
    /// Returns `wanted` with its plan, which is created if necessary. Without a work area.
    FftPlan& plan_for(FftPlan wanted);
    /// Returns a work area for transforms on one of the two streams; small ones are kept.
    gpu::Buffer<std::byte> fft_work_for(const gpu::Stream& on, std::size_t bytes);

    /// `fatbin`: the argument of arrays_fatbin().
    template <class T>
    const gpu::Kernel& kernel(const char* name, int shared_bytes = 0, int fatbin = 0) {
        const char* suffix = std::is_integral_v<T> ? "_int64" : sizeof(T) == sizeof(float) ? "_float" : "_double";
        return kernel_named(std::string(name) + suffix, shared_bytes, fatbin);
    }
    const gpu::Kernel& kernel_named(const std::string& name, int shared_bytes, int fatbin = 0);

    void drop_plans() noexcept;
};

/// Launches a kernel. Arguments must have exactly the types of the kernel's parameters; addresses are uint64.
template <class... P>
void launch(const gpu::Stream& stream, const gpu::Kernel& kernel, std::int64_t blocks, unsigned threads,
            unsigned shared_bytes, P... arguments) {
    void* pointers[] = {&arguments...};
    gpu::launch(stream, kernel, unsigned(blocks), threads, shared_bytes, pointers);
}

/// Computes x *= factor for n numbers at that address.
template <class T>
void scale(OnGpu::State& state, const gpu::Stream& stream, std::uint64_t x, T factor, std::int64_t n);
/// Transposes in (rows, columns) to out (columns, rows).
template <class T>
void transpose(OnGpu::State& state, std::uint64_t out, std::uint64_t in, std::int64_t rows, std::int64_t columns);

}  // namespace glint::arrays
