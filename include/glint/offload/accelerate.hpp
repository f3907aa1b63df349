// Adapters for user-defined functions: choose CPU or GPU per call, and fall back if GPU memory runs out.
//
// All adapters refer to the Session, which must outlive them, and are used in the session's thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glint/offload/session.hpp"

namespace glint::offload {

namespace detail {

/// Calls act(keep), where keep(call) runs call() and stores its result; returns that. Works for void, too.
template <class Result, class Act>
Result with_result(const Act& act) {
    if constexpr (std::is_void_v<Result>) {
        act([](const auto& call) { call(); });
    } else {
        std::optional<Result> result;
        act([&](const auto& call) { result.emplace(call()); });
        return std::move(*result);
    }
}

}  // namespace detail

/// Combines two equivalent functions into one that calls whichever is expected to be faster, by session.run().
/// `work_of` maps the arguments to a Work; `on_gpu` gets the session as an additional first argument. Throws what they
/// throw.
///
///     constexpr Operation blur{"blur", "pixels", 1, 1, 0};
///     auto f = accelerate(session, blur_on_cpu, blur_on_gpu, [](const Image& image) { return work_of(image); });
///     f(image);
template <class OnCpu, class OnGpu, class WorkOf>
auto accelerate(Session& session, OnCpu on_cpu, OnGpu on_gpu, WorkOf work_of) {
    return [&session, on_cpu, on_gpu, work_of](auto&&... arguments) {
        using Result = std::invoke_result_t<const OnCpu&, decltype(arguments)...>;
        return detail::with_result<Result>([&](const auto& keep) {
            session.run(
                work_of(arguments...), [&] { keep([&] { return on_cpu(arguments...); }); },
                [&] { keep([&] { return on_gpu(session, arguments...); }); });
        });
    };
}

/// Calls `on_gpu`. If GPU memory runs out, retries once after session.clean_up(), then calls `on_cpu`, which is
/// recorded as a Fallback. While session.oom_safe() is false, gpu::OutOfMemory is thrown instead.
template <class OnGpu, class OnCpu>
auto oom_safe(Session& session, std::string_view operation, OnGpu on_gpu, OnCpu on_cpu) {
    return [&session, operation, on_gpu, on_cpu](auto&&... arguments) {
        using Result = std::invoke_result_t<const OnCpu&, decltype(arguments)...>;
        return detail::with_result<Result>([&](const auto& keep) {
            for (int attempt = 0; attempt < 2; ++attempt) try {
                    return keep([&] { return on_gpu(session, arguments...); });
                } catch (const gpu::OutOfMemory& error) {
                    if (!session.recover(operation, error)) throw;
                    if (attempt == 1) session.fall_back(operation, error);
                }
            keep([&] { return on_cpu(arguments...); });
        });
    };
}

/// Processes n independent items: on_gpu(first, count) with all of them in one call. Each time GPU memory runs out, the
/// count is halved, down to `least`; on_cpu(first, count) does the rest. Each item is processed once, in order. Returns
/// the number of items processed on the GPU.
template <class OnGpu, class OnCpu>
std::int64_t in_pieces(Session& session, std::string_view operation, std::int64_t n, std::int64_t least,
                       const OnGpu& on_gpu, const OnCpu& on_cpu) {
    std::int64_t done = 0;
    for (std::int64_t piece = n; done < n;) try {
            on_gpu(done, std::min(piece, n - done));
            done += std::min(piece, n - done);
        } catch (const gpu::OutOfMemory& error) {
            if (!session.recover(operation, error)) throw;
            if (piece / 2 < std::max<std::int64_t>(1, least)) {
                session.fall_back(operation, error);
                break;
            }
            piece /= 2;
        }
    if (done < n) on_cpu(done, n - done);
    return done;
}

}  // namespace glint::offload
