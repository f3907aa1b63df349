// The metadata of ND2 files ("CLX lite variant"): a tree of named values.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glint::nd2 {

/// A value, or a level with values in it. Elements of lists have no name.
struct Value {
    std::string name;
    double number = 0;  ///< of integers, floating-point numbers and true (1) or false
    std::string text;   ///< UTF-8; raw bytes if they are not text
    std::vector<Value> children;

    /// Returns the first child of that name, or null. A child of null is null, so paths can be followed without checks.
    const Value* child(std::string_view child_name) const;
    double number_of(std::string_view child_name, double otherwise = 0) const;
    std::string text_of(std::string_view child_name) const;
};

/// Returns the value at the end of a path of names below `value`, or null.
const Value* follow(const Value* value, std::initializer_list<std::string_view> path);

/// Parses a chunk of metadata. Throws std::runtime_error with the bare reason: damaged, deeper than 64 levels, more
/// than a million values.
Value parse_variant(std::span<const std::byte> bytes);

}  // namespace glint::nd2
