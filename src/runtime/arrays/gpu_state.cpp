// Library handles, plans and kernels: created on first use, destroyed before the context.
// SPDX-License-Identifier: MIT
#include "arrays/gpu_state.hpp"

#include <algorithm>
#include <span>

namespace glint {

/// Returns the machine code of this layer's kernels, created by cmake/cuda.cmake. k: 0 for elementwise.cu, 1 for
/// axes.cu, 2 for random.cu. Empty if glint was built without nvcc.
std::span<const unsigned char> arrays_fatbin(int k);

}  // namespace glint

namespace glint::arrays {

OnGpu::State::State(const gpu::Stream& of) : stream(of) {
    stream.context().on_pressure([kept = std::weak_ptr(fft_work)]() -> std::uint64_t {
        const auto work = kept.lock();
        if (!work) return 0;
        const std::uint64_t bytes = work->of_stream[0].bytes() + work->of_stream[1].bytes();
        *work = {};
        return bytes;
    });
}

std::uint64_t OnGpu::State::room() const {
    const std::uint64_t limit = home().limit, live = home().counters.live;
    return limit - std::min(limit, live);
}

const gpu::Stream& OnGpu::State::second() {
    if (!second_stream) second_stream.emplace(stream.context());
    return *second_stream;
}

gpu::Buffer<std::byte>& OnGpu::State::blas_workspace_for(const gpu::Stream& on) {
    gpu::Buffer<std::byte>& memory = blas_workspaces[&on.state() == &stream.state() ? 0 : 1];
    // The size that NVIDIA recommends, if memory allows; 16 KiB are sufficient for correctness.
    constexpr std::size_t least = 64 << 10, most = std::size_t(32) << 20;
    std::size_t bytes = std::clamp<std::size_t>(room() / 16 / least * least, least, most);
    for (; !memory; bytes /= 2) try {
            memory = gpu::Buffer<std::byte>(on, bytes);
        } catch (const gpu::OutOfMemory&) {
            if (bytes <= least) throw;
        }
    return memory;
}

lib::Blas OnGpu::State::ready_blas(const gpu::Stream& on) {
    const Cublas& library = cublas();
    if (!blas) {
        const gpu::detail::Current current(home());
        lib::Blas made = nullptr;
        check(Library::cublas, "cublasCreate", library.cublasCreate_v2(&made));
        const lib::Status status = library.cublasSetMathMode(made, lib::cublas::default_math);
        if (status) library.cublasDestroy_v2(made);
        check(Library::cublas, "cublasSetMathMode", status);
        blas = made;
    }
    gpu::Buffer<std::byte>& workspace = blas_workspace_for(on);
    const auto address = reinterpret_cast<void*>(workspace.write_on(on));
    if (bound_to == &on.state() && bound_workspace == address) return blas;
    const gpu::detail::Current current(home());
    bound_to = nullptr;
    // Binding the first stream unsets the workspace of the second.
    check(Library::cublas, "cublasSetStream", library.cublasSetStream_v2(blas, on.state().stream));
    check(Library::cublas, "cublasSetWorkspace", library.cublasSetWorkspace_v2(blas, address, workspace.bytes()));
    bound_to = &on.state(), bound_workspace = address;
    return blas;
}

lib::Solver OnGpu::State::ready_solver() {
    if (solver) return solver;
    const Cusolver& library = cusolver();
    const gpu::detail::Current current(home());
    lib::Solver made = nullptr;
    check(Library::cusolver, "cusolverDnCreate", library.cusolverDnCreate(&made));
    const lib::Status status = library.cusolverDnSetStream(made, stream.state().stream);
    if (status) library.cusolverDnDestroy(made);
    check(Library::cusolver, "cusolverDnSetStream", status);
    return solver = made;
}

FftPlan& OnGpu::State::plan_for(FftPlan wanted) {
    const auto known =
        std::find_if(plans.begin(), plans.end(), [&](const FftPlan& plan) { return plan.does_as(wanted); });
    if (known != plans.end()) {
        plans.splice(plans.begin(), plans, known);
        return plans.front();
    }
    const Cufft& library = cufft();
    const gpu::detail::Current current(home());
    constexpr std::size_t max_plans = 8;
    for (; plans.size() >= max_plans; plans.pop_back()) library.cufftDestroy(plans.back().plan);
    check(Library::cufft, "cufftCreate", library.cufftCreate(&wanted.plan));
    plans.push_front(wanted);
    FftPlan& plan = plans.front();
    try {
        check(Library::cufft, "cufftSetAutoAllocation", library.cufftSetAutoAllocation(plan.plan, 0));
        long long extent[2] = {plan.extent[0], plan.extent[1]};
        check(Library::cufft, "cufftMakePlanMany64",
              library.cufftMakePlanMany64(plan.plan, plan.rank, extent, nullptr, 1, 0, nullptr, 1, 0, plan.type,
                                          plan.count, &plan.work_bytes));
    } catch (...) {
        library.cufftDestroy(plan.plan);
        plans.pop_front();
        throw;
    }
    return plan;
}

gpu::Buffer<std::byte> OnGpu::State::fft_work_for(const gpu::Stream& on, std::size_t bytes) {
    if (bytes == 0) return {};
    if (bytes > home().limit / 16) return {on, bytes};
    gpu::Buffer<std::byte>& kept = fft_work->of_stream[&on.state() == &stream.state() ? 0 : 1];
    if (kept.bytes() < bytes) kept = {}, kept = gpu::Buffer<std::byte>(on, bytes);
    return kept;
}

const gpu::Kernel& OnGpu::State::kernel_named(const std::string& name, int shared_bytes, int fatbin) {
    const auto known = kernels.find(name);
    if (known != kernels.end()) return known->second;
    if (arrays_fatbin(fatbin).empty())
        throw gpu::NoGpu(cu::no_device,
                         "this glint was built without CUDA: build it where nvcc is found (./dev setup gpu), or take "
                         "the CPU");
    const auto module = modules.try_emplace(fatbin, stream.context(), arrays_fatbin(fatbin)).first;
    return kernels.emplace(name, module->second.kernel(name, shared_bytes)).first->second;
}

void OnGpu::State::drop_plans() noexcept {
    for (const FftPlan& plan : plans) cufft().cufftDestroy(plan.plan);
    plans.clear();
}

/// Synchronizes before the libraries free their own memory, which enqueued work may use.
OnGpu::State::~State() {
    if (gpu::forked() || home().released || !gpu::detail::lost_reason(home().ordinal).empty()) return;
    const gpu::detail::Current current(home(), std::nothrow);
    home().driver->cuStreamSynchronize(stream.state().stream);
    if (second_stream) home().driver->cuStreamSynchronize(second_stream->state().stream);
    drop_plans();
    if (solver) cusolver().cusolverDnDestroy(solver);
    if (blas) cublas().cublasDestroy_v2(blas);
}

template <class T>
void scale(OnGpu::State& state, const gpu::Stream& stream, std::uint64_t x, T factor, std::int64_t n) {
    launch(stream, state.kernel<T>("arrays_scale"), (n + map_threads - 1) / map_threads, map_threads, 0, x, factor,
           (long long)n);
}
template void scale(OnGpu::State&, const gpu::Stream&, std::uint64_t, float, std::int64_t);
template void scale(OnGpu::State&, const gpu::Stream&, std::uint64_t, double, std::int64_t);

template <class T>
void transpose(OnGpu::State& state, std::uint64_t out, std::uint64_t in, std::int64_t rows, std::int64_t columns) {
    constexpr unsigned side = transpose_side;
    const std::int64_t blocks = ((rows + side - 1) / side) * ((columns + side - 1) / side);
    launch(state.stream, state.kernel<T>("arrays_transpose"), blocks, transpose_threads,
           side * (side + 1) * unsigned(sizeof(T)), out, in, (long long)rows, (long long)columns);
}
template void transpose<float>(OnGpu::State&, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t);
template void transpose<double>(OnGpu::State&, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t);

OnGpu::OnGpu(const gpu::Context&, const gpu::Stream& stream) : state_(std::make_unique<State>(stream)) {}
OnGpu::~OnGpu() = default;

void OnGpu::drop_caches() {
    State& state = *state_;
    state.stream.synchronize();
    if (state.second_stream) state.second_stream->synchronize();
    const auto current = state.current();
    state.drop_plans();
    for (auto& workspace : state.blas_workspaces) workspace = {};
    *state.fft_work = {};
}

}  // namespace glint::arrays
