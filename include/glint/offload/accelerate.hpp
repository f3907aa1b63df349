// Functions of one's own that run where they are done sooner, and that survive a full GPU.
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

/// Calls act(keep) for a result of any type, void too: keep(call) runs call() and keeps what it returns.
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

/// One function of two that do the same: each call goes to the one that is done sooner. `work_of` tells of its
/// arguments what work they are; `on_gpu` gets the session before them. Refers to the session.
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

/// `on_gpu`, and where the GPU's memory does not suffice: once more after a clean-up, then `on_cpu`. The session
/// records it. While its oom_safe() is off, gpu::OutOfMemory is thrown.
template <class OnGpu, class OnCpu>
auto oom_safe(Session& session, std::string_view operation, OnGpu on_gpu, OnCpu on_cpu) {
    return [&session, operation, on_gpu, on_cpu](auto&&... arguments) {
        using Result = std::invoke_result_t<const OnCpu&, decltype(arguments)...>;
        return detail::with_result<Result>([&](const auto& keep) {
            for (int attempt = 0; attempt < 2; ++attempt) try {
                    return keep([&] { return on_gpu(session, arguments...); });
                } catch (const gpu::OutOfMemory& error) {
                    if (!session.recover(operation, error)) throw;
                }
            keep([&] { return on_cpu(arguments...); });
        });
    };
}

/// Work on n items that can be cut: on_gpu(first, count) for all of them at once, for half as many where the GPU's
/// memory does not suffice, and so on down to `least`; what is left then by on_cpu(first, count). Items are done once,
/// in order. Returns how many the GPU did.
template <class OnGpu, class OnCpu>
std::int64_t in_pieces(Session& session, std::string_view operation, std::int64_t n, std::int64_t least,
                       const OnGpu& on_gpu, const OnCpu& on_cpu) {
    std::int64_t done = 0;
    for (std::int64_t piece = n; done < n;) try {
            on_gpu(done, std::min(piece, n - done));
            done += std::min(piece, n - done);
        } catch (const gpu::OutOfMemory& error) {
            if (!session.recover(operation, error)) throw;
            if (piece / 2 < std::max<std::int64_t>(1, least)) break;
            piece /= 2;
        }
    if (done < n) on_cpu(done, n - done);
    return done;
}

}  // namespace glint::offload
