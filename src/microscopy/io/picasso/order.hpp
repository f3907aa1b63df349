// The order in which Picasso's tables have their columns.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

namespace glint {

/// Names of Picasso's columns in its usual order; ours that it does not know come last.
std::span<const char* const> picasso_order();

}  // namespace glint
