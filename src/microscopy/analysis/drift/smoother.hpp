// One axis' drift from noisy means a frame: a Kalman smoother of a smooth curve, a jitter that forgets and jumps.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace glint::drift {

/// State: level and slope (an integrated random walk) and an Ornstein-Uhlenbeck jitter; white jitter beside them.
struct Motion {
    double slope_step = 1e-3;    ///< nm/frame a square root of frame
    double jitter_nm = 3;        ///< standard deviation
    double forget_frames = 100;  ///< of the jitter
    double white_nm = 0;
    double start_slope = 1;  ///< nm/frame, standard deviation of the slope of the first frame
};

/// No motion but jumps.
inline constexpr Motion no_motion{0, 0, 100, 0, 0};

/// `value` with the weight `information` (1/variance) a frame; information 0: nothing seen.
struct Seen {
    std::vector<double> value, information;
};

/// Means of `width` frames, the last of what is left.
Seen means_of(const Seen& seen, std::size_t width);

struct Smooth {
    std::vector<double> value, variance;
    std::vector<double> jump_test;  ///< chi-squared of a shift of the level that begins in this frame
    double log_likelihood = 0;
};

/// `frames` to an observation (> 1: means of that many frames). `jumps`: where the level is free to shift.
Smooth smooth(const Seen& seen, const Motion& motion, double frames, const std::vector<char>& jumps);
double log_likelihood(const Seen& seen, const Motion& motion, double frames, const std::vector<char>& jumps);

}  // namespace glint::drift
