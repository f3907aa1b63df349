// Constants shared by the kernel of random.cu and its launch.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::arrays {

constexpr unsigned random_threads = 256;

}  // namespace glint::arrays
