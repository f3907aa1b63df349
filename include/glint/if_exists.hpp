// What to do where a file to be written exists already.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

/// `refuse` holds until the file has its name: one that appears while the work goes on is not replaced either, unless it
/// has the very same bytes.
enum class IfExists { replace, refuse };

}  // namespace glint
