// Shapes and strides.
// SPDX-License-Identifier: MIT
#include "glint/arrays/array.hpp"

#include <gtest/gtest.h>

#include "glint/error.hpp"

namespace glint::arrays {
namespace {

TEST(Array, counts_its_elements) {
    EXPECT_EQ(Shape({2, 3, 4}).count(), 24);
    EXPECT_EQ(Shape({}).count(), 1);
    EXPECT_EQ(Shape({5, 0}).count(), 0);
    EXPECT_THROW(Shape({-1}), OptionError);
    EXPECT_THROW(Shape({1, 1, 1, 1, 1}), OptionError);
    EXPECT_THROW(Shape({std::int64_t(1) << 40, std::int64_t(1) << 40}), OptionError);
}

TEST(Array, knows_whether_it_has_gaps) {
    float elements[24];
    EXPECT_TRUE((View<float>{elements, {2, 3, 4}}.is_contiguous()));
    EXPECT_FALSE((View<float>{elements, {2, 3}, {12, 1}}.is_contiguous()));
    EXPECT_FALSE((View<float>{elements, {3, 2}, {1, 3}}.is_contiguous())) << "transposed";
    EXPECT_TRUE((View<float>{elements, {1, 4}, {99, 1}}.is_contiguous())) << "there is one row";
}

}  // namespace
}  // namespace glint::arrays
