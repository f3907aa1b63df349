// Adapters for user-defined functions: choose CPU or GPU per call, and fall back if GPU memory runs out.
//
// All adapters refer to the Session, which must outlive them. Use them in the session's thread.
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

/// Calls act(keep), where keep(call) runs call() and stores its result. Returns that result. Result may be void.
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

/// Returns a function that calls `on_cpu` or `on_gpu`, whichever is expected to be faster, by session.run(). The two
/// must be equivalent. `work_of` maps the arguments to a Work. `on_gpu` gets the session as an additional first
/// argument. The result throws as the two functions.
///
///     static constexpr glint::offload::Operation blur{"blur", "pixels", 1, 1, 0};
///     const auto work_of = [](const std::vector<float>& image) {
///         return glint::offload::Work{.operation = &blur, .size = double(image.size())};
///     };
///     const auto fast_blur = glint::offload::accelerate(session, blur_on_cpu, blur_on_gpu, work_of);
///     const std::vector<float> blurred = fast_blur(image);
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

/// Returns a function that calls `on_gpu`. If GPU memory runs out, it retries once after session.clean_up(), then calls
/// `on_cpu` and records a Fallback. While session.oom_safe() is false, it throws gpu::OutOfMemory instead.
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

/// Processes n independent items, each once and in order. Calls on_gpu(first, count), at first with all items. Each
/// time GPU memory runs out, halves the count, down to `least`. Below `least`, calls on_cpu(first, count) for the
/// remaining items. Returns the number of items processed on the GPU. Throws as oom_safe().
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
