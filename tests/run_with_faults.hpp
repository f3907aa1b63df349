// Runs the body of a test in a separate process, whose simulated driver fails as specified.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/run_program.hpp"

namespace glint::test {

/// Expects SUITE.DISABLED_in_a_child_BODY to pass; `fault` is for SIMGPU_FAULT.
inline void expect_passes(const std::string& suite, const std::string& body, const std::string& fault) {
    char self[4096] = {};
    ASSERT_GT(::readlink("/proc/self/exe", self, sizeof self - 1), 0);
    TemporaryFolder folder;
    const Ended ended =
        run(folder, "export SIMGPU_FAULT=" + fault + "; exec " + self + " --gtest_color=no" +
                        " --gtest_also_run_disabled_tests --gtest_filter=" + suite + ".DISABLED_in_a_child_" + body);
    EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
    EXPECT_NE(ended.out.find("[  PASSED  ] 1 test"), std::string::npos) << ended.out;
}

}  // namespace glint::test
