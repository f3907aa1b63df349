// A Kalman smoother for the drift of one axis, from noisy means of frames. The drift is a smooth curve, a decaying
// jitter and jumps.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace glint::drift {

/// The state is a level with a slope (an integrated random walk), and an Ornstein-Uhlenbeck jitter. A white jitter is
/// added.
struct Motion {
    double slope_step = 1e-3;    ///< nm/frame per square root of a frame
    double jitter_nm = 3;        ///< standard deviation
    double forget_frames = 100;  ///< decay time of the jitter
    double white_nm = 0;
    double start_slope = 1;  ///< nm/frame, standard deviation of the slope of the first frame
};

/// No motion except jumps.
inline constexpr Motion no_motion{0, 0, 100, 0, 0};

/// Observations: `value` with the weight `information` (1/variance) for each frame. Information 0 means no observation.
struct Seen {
    std::vector<double> value, information;
};

/// Returns means over `width` frames. The last mean may be over fewer.
Seen means_of(const Seen& seen, std::size_t width);

struct Smooth {
    std::vector<double> value, variance;
    std::vector<double> jump_test;  ///< chi-squared of a shift of the level that begins in this frame
    double log_likelihood = 0;
};

/// `frames` is the number of frames per observation (> 1: means). `jumps` marks where the level may shift freely.
Smooth smooth(const Seen& seen, const Motion& motion, double frames, const std::vector<char>& jumps);
double log_likelihood(const Seen& seen, const Motion& motion, double frames, const std::vector<char>& jumps);

}  // namespace glint::drift
