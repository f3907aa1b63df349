// The policy for output files that exist already.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

/// `refuse` is checked again when the finished file gets its name: a file that was created meanwhile is not replaced
/// either, unless its content is identical.
enum class IfExists { replace, refuse };

}  // namespace glint
