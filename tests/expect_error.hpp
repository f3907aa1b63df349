// Checks that a call throws one of glint's errors, and that the message contains what a user needs.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace glint::test {

/// Expects `call` to throw an E whose message contains all `parts`.
template <class E, class F>
void expect_error(F call, std::initializer_list<const char*> parts) {
    try {
        call();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const E& error) {
        for (const char* part : parts)
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
                << '"' << part << "\" in: " << error.what();
    }
}

}  // namespace glint::test
