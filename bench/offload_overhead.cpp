// Times the same calls with and without a session, interleaved.
// SPDX-License-Identifier: MIT
#include "base/clock.hpp"
#include "bench/offload.hpp"

#include <algorithm>
#include <complex>
#include <functional>
#include <limits>

#include "arrays/cpu.hpp"
#include "arrays/cpu_blas.hpp"
#include "arrays/libraries.hpp"
#include "glint/arrays/operations.hpp"
#include "gpu/stream_state.hpp"
#include "offload/forced.hpp"

namespace glint::cli {
namespace {

using namespace glint::arrays;

constexpr int rounds = 7;
constexpr double round_s = 0.02;  // approximate

/// Measures the best round of each. The rounds alternate, so that both run under the same conditions. `wait` ends a
/// round.
void time_both(const std::function<void()>& ours, const std::function<void()>& library,
               const std::function<void()>& wait, OverheadRow& row) {
    const auto round = [&](const std::function<void()>& call, int calls) {
        const Clock::time_point began = Clock::now();
        for (int k = 0; k < calls; ++k) call();
        wait();
        return seconds_since(began) / calls;
    };
    round(ours, 1), round(library, 1);
    const int calls = std::clamp(int(round_s / round(library, 3)), 1, 2000);
    row.ours_s = row.library_s = std::numeric_limits<double>::infinity();
    for (int k = 0; k < rounds; ++k) {
        row.library_s = std::min(row.library_s, round(library, calls));
        row.ours_s = std::min(row.ours_s, round(ours, calls));
    }
}

void products_on_gpu(Session& session, std::int64_t max_numbers, std::vector<OverheadRow>& rows) {
    lib::Blas handle = nullptr;
    const gpu::detail::Current current(session.context().state());
    check(session.context().state(), Library::cublas, "cublasCreate", cublas().cublasCreate_v2(&handle));
    cublas().cublasSetStream_v2(handle, session.stream().state().stream);
    for (const std::int64_t n : {64, 256, 1024, 4096}) {
        if (n * n > max_numbers) continue;
        const DeviceArray<float> a = empty_on_device<float>(session, {n, n}),
                                 c = empty_on_device<float>(session, {n, n});
        gpu::Buffer<float> zero = a.buffer;
        gpu::fill(session.stream(), zero, 0);
        OverheadRow row{"matmul float32", "gpu", double(n)};
        const float one = 1, nothing = 0;
        gpu::Buffer<float> out = c.buffer;
        const auto* from = reinterpret_cast<const float*>(a.buffer.read_on(session.stream()));
        auto* to = reinterpret_cast<float*>(out.write_on(session.stream()));
        time_both([&] { matmul<float>(session, a, a, c); },
                  [&] { cublas().cublasSgemm_v2_64(handle, 0, 0, n, n, n, &one, from, n, from, n, &nothing, to, n); },
                  [&] { session.synchronize(); }, row);
        rows.push_back(row);
    }
    cublas().cublasDestroy_v2(handle);
}

void transforms_on_gpu(Session& session, std::int64_t max_numbers, std::vector<OverheadRow>& rows) {
    const gpu::detail::Current current(session.context().state());
    for (const std::int64_t n : {std::int64_t(1) << 12, std::int64_t(1) << 20, std::int64_t(1) << 24}) {
        if (2 * n > max_numbers) continue;
        lib::Plan plan = 0;
        std::size_t bytes = 0;
        long long extent = n;
        check(session.context().state(), Library::cufft, "cufftCreate", cufft().cufftCreate(&plan));
        check(session.context().state(), Library::cufft, "cufftMakePlanMany64",
              cufft().cufftMakePlanMany64(plan, 1, &extent, nullptr, 1, n, nullptr, 1, n, lib::cufft::c2c, 1, &bytes));
        cufft().cufftSetStream(plan, session.stream().state().stream);
        const auto a = empty_on_device<std::complex<float>>(session, {n}),
                   c = empty_on_device<std::complex<float>>(session, {n});
        gpu::Buffer<std::complex<float>> zero = a.buffer, out = c.buffer;
        gpu::fill(session.stream(), zero, 0);
        auto* from = reinterpret_cast<lib::Complex<float>*>(a.buffer.read_on(session.stream()));
        auto* to = reinterpret_cast<lib::Complex<float>*>(out.write_on(session.stream()));
        OverheadRow row{"fft complex64", "gpu", double(n)};
        time_both([&] { fft<float>(session, a, c); }, [&] { cufft().cufftExecC2C(plan, from, to, -1); },
                  [&] { session.synchronize(); }, row);
        cufft().cufftDestroy(plan);
        rows.push_back(row);
    }
}

void on_cpu(Session& session, std::int64_t max_numbers, std::vector<OverheadRow>& rows) {
    const auto nothing = [] {};
    for (const int n : {16, 64, 256, 1024}) {
        if (n * n > max_numbers) continue;
        std::vector<float> a(std::size_t(n) * n, 0.5f), c(a.size());
        const View<const float> in(a.data(), {n, n});
        const View<float> out(c.data(), {n, n});
        OverheadRow row{"matmul float32", "cpu", double(n)};
        time_both([&] { matmul<float>(session, in, in, out); },
                  [&] {
                      cpu::openblas().cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n,
                                                  a.data(), n, 0, c.data(), n);
                  },
                  nothing, row);
        rows.push_back(row);
    }
    for (const std::int64_t n : {64, 4096, 1 << 18}) {
        if (2 * n > max_numbers) continue;
        std::vector<std::complex<float>> a(static_cast<std::size_t>(n), 1), c(a.size());
        const View<const std::complex<float>> in(a.data(), {n});
        const View<std::complex<float>> out(c.data(), {n});
        OverheadRow row{"fft complex64", "cpu", double(n)};
        time_both([&] { fft<float>(session, in, out); }, [&] { cpu::fft<float>(in, out, {}, session.threads()); },
                  nothing, row);
        rows.push_back(row);
    }
    const Program sum = compile(input(0) + input(1));
    for (const std::int64_t n : {16, 4096, 1 << 20}) {
        if (n > max_numbers) continue;
        std::vector<float> a(static_cast<std::size_t>(n), 1), c(a.size());
        const View<const float> in(a.data(), {n});
        const View<float> out(c.data(), {n});
        const std::vector<View<const float>> views{in, in};
        const std::vector<Operand<const float>> operands{in, in};
        OverheadRow row{"map float32", "cpu", double(n)};
        time_both([&] { map<float>(session, sum, operands, out); },
                  [&] { cpu::map<float>(sum, views, out, session.threads()); }, nothing, row);
        rows.push_back(row);
    }
}

}  // namespace

std::vector<OverheadRow> overheads(Session& session, std::int64_t max_numbers) {
    std::vector<OverheadRow> rows;
    offload::Forced forced(session);
    forced.to(Backend::gpu);
    products_on_gpu(session, max_numbers, rows);
    transforms_on_gpu(session, max_numbers, rows);
    forced.to(Backend::cpu);
    on_cpu(session, max_numbers, rows);
    return rows;
}

}  // namespace glint::cli
