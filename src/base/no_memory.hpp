// Advice for users if memory is short.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

inline constexpr const char* why_no_memory =
    "not enough memory: work on less (fewer `threads`, a part of the movie by `frames`, a smaller picture), or "
    "raise the limit (`ulimit -v`, that of the container or batch job)";

}  // namespace glint
