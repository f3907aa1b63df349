// Tests of fitted motions: axes that move equally share one motion, other axes have their own.
// SPDX-License-Identifier: MIT
#include "analysis/drift/motion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace glint::drift {
namespace {

constexpr std::size_t seen_frames = 4000;

/// Returns observations of a jitter without a random walk, with an error of `error_nm` per frame.
Seen jitter_seen(unsigned seed, const Motion& motion, double error_nm) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    Seen seen;
    const double keep = std::exp(-1 / motion.forget_frames);
    double at = motion.jitter_nm * normal(random);
    for (std::size_t f = 0; f < seen_frames; ++f) {
        seen.value.push_back(at + error_nm * normal(random));
        seen.information.push_back(1 / (error_nm * error_nm));
        at = keep * at + std::sqrt(1 - keep * keep) * motion.jitter_nm * normal(random);
    }
    return seen;
}

std::vector<Motion> motions_of(const Seen& x, const Seen& y) {
    const Motion start{1e-3, 3, 100};
    const AxisToFit axes[] = {{&x, {start}}, {&y, {start}}};
    return fit_motions(axes, std::vector<char>(seen_frames, 0));
}

TEST(DriftMotion, of_axes_that_move_equally_is_the_same) {
    const Motion motion{0, 4, 100};
    const std::vector<Motion> found = motions_of(jitter_seen(1, motion, 30), jitter_seen(2, motion, 30));
    EXPECT_EQ(found[0].slope_step, found[1].slope_step);
    EXPECT_EQ(found[0].jitter_nm, found[1].jitter_nm);
    EXPECT_EQ(found[0].forget_frames, found[1].forget_frames);
}

TEST(DriftMotion, of_axes_that_move_differently_is_separate) {
    // Independent values: frames / (2 forget_frames) = 100, so that a standard deviation is known to 1 / sqrt(200).
    const double most = 4 / std::sqrt(200.0);
    const std::vector<Motion> found = motions_of(jitter_seen(1, {0, 2, 20}, 3), jitter_seen(2, {0, 20, 20}, 3));
    EXPECT_NEAR(found[0].jitter_nm / 2, 1, most);
    EXPECT_NEAR(found[1].jitter_nm / 20, 1, most);
}

}  // namespace
}  // namespace glint::drift
