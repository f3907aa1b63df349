// What computes: the CPU or a GPU.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

/// As a wish, `automatic` leaves the choice open: GLINT_BACKEND decides (environment::backend), else what is done sooner
/// (glint/offload). As the answer of a decision it is `cpu` or `gpu`.
enum class Backend { automatic, cpu, gpu };

}  // namespace glint
