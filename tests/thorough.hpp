// How much of a large test a run does: a part, which differs from commit to commit, or with TEST_THOROUGH=1 all of it.
// SPDX-License-Identifier: MIT
//
// `./dev test` sets both variables: TEST_TURN is a number made of the commit's hash, TEST_THOROUGH is `--thorough`. They are
// not named GLINT_..., which are the program's, and which it checks.
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

/// Whether this run does case number k: all, or one in `of`. The others have their turn at other commits.
inline bool has_turn(long k, int of) { return thorough() || k % of == long(turn() % (unsigned long)(of)); }

/// The size of a sample: `full`, or a tenth. What is expected of it must follow from its size.
constexpr int smaller = 10;
inline int sample(int full) { return thorough() ? full : full / smaller; }

}  // namespace glint::test
