// `glint top --history`: who had GPUs, and for how long.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::cli {

/// All users' leases of the last days, and each user's sum, on stdout.
void print_history(bool json);

}  // namespace glint::cli
