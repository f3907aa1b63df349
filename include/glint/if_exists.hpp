// The policy for output files that exist already.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

/// Whether an existing output file is replaced. `refuse` is checked again when the finished file gets its name: a file
/// that was created in the meantime is not replaced either, unless its content is identical.
enum class IfExists { replace, refuse };

}  // namespace glint
