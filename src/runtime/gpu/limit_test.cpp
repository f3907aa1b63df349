// Memory limits in the notations that users write.
// SPDX-License-Identifier: MIT
#include "gpu/limit.hpp"

#include <gtest/gtest.h>

#include "glint/gpu/error.hpp"
#include "tests/expect_error.hpp"

using namespace glint;
using namespace glint::gpu;
using glint::test::expect_error;

constexpr std::uint64_t total = std::uint64_t(100) << 30;

TEST(MemoryLimit, knows_bytes_units_and_percent) {
    const auto parsed = [](const char* value) { return parse_limit(value, total, "limit"); };
    EXPECT_EQ(parsed("1073741824"), std::uint64_t(1) << 30);
    EXPECT_EQ(parsed("4GiB"), std::uint64_t(4) << 30);
    EXPECT_EQ(parsed("1.5 GiB"), std::uint64_t(3) << 29);
    EXPECT_EQ(parsed("64KiB"), 65536u);
    EXPECT_EQ(parsed("64MiB"), std::uint64_t(64) << 20);
    EXPECT_EQ(parsed("2TiB"), std::uint64_t(2) << 40);
    EXPECT_EQ(parsed("6G"), std::uint64_t(6) << 30) << "as Slurm and ulimit mean it";
    EXPECT_EQ(parsed("3kB"), 3000u);
    EXPECT_EQ(parsed("500MB"), 500000000u);
    EXPECT_EQ(parsed("2GB"), 2000000000u);
    EXPECT_EQ(parsed("1TB"), 1000000000000u);
    EXPECT_EQ(parsed("25%"), std::uint64_t(25) << 30);
    EXPECT_EQ(parsed("100 %"), total);
}

TEST(MemoryLimit, nonsense_is_an_error_that_names_it) {
    for (const char* value : {"much", "4 gib", "GiB", "-1GiB", "0", "0%", "101%", "nan", "inf", "1e30", "4GiB!", "0.1"})
        expect_error<OptionError>([&] { parse_limit(value, total, "GLINT_GPU_MEMORY_LIMIT"); },
                                  {"GLINT_GPU_MEMORY_LIMIT=", value, "4GiB"});
}

TEST(MemoryLimit, of_two_the_smaller_one_holds) {
    EXPECT_EQ(smaller_limit(2, 3), 2u);
    EXPECT_EQ(smaller_limit(3, 2), 2u);
    EXPECT_EQ(smaller_limit(0, 3), 3u);
    EXPECT_EQ(smaller_limit(2, 0), 2u);
    EXPECT_EQ(smaller_limit(0, 0), 0u);
}
