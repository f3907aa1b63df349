// The size of large tests: a part, which differs from commit to commit, or with TEST_THOROUGH=1 all cases.
// SPDX-License-Identifier: MIT
//
// `./dev test` sets both variables: TEST_TURN is a number from the commit's hash, TEST_THOROUGH is `--thorough`. Their
// names do not begin with GLINT_, because the program checks all such variables.
#pragma once

#include <cstdlib>
#include <string>

namespace glint::test {

inline bool thorough() {
    const char* value = std::getenv("TEST_THOROUGH");
    return value && std::string(value) == "1";
}

inline unsigned long turn() {
    const char* value = std::getenv("TEST_TURN");
    return value ? std::strtoul(value, nullptr, 10) : 0;
}

/// Returns whether this run does case number k: all cases, or one in `of`. Other commits run the other cases.
inline bool has_turn(long k, int of) { return thorough() || k % of == long(turn() % (unsigned long)(of)); }

/// The size of a sample: `full`, or a tenth. Expected values must follow from the size.
constexpr int smaller = 10;
inline int sample(int full) { return thorough() ? full : full / smaller; }

}  // namespace glint::test
