// Closes what a process has inherited.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

/// Closes every descriptor of this number and above.
void close_from(int first);

}  // namespace glint
