// The plain structs that the host passes to the kernel of joint fits.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/joint/joint_abi.hpp"

namespace glint {

/// A group, whose pixels the kernel cuts. Its input is a sequence of floats:
/// - for each window the corners x and y of the fitted part, then of the searched part, in pixels of the image,
/// - the windows' photoelectrons,
/// - read variances and quantum efficiencies, if there are maps,
/// - the light of other molecules, now and in the earlier fit, max_psf_parameters each.
struct JointPlace {
    int width, height, pitch;
    int molecules;  // for which memory is laid out
    int windows, light, earlier;
    bool again;                // fitted before: fit only if the change of the light matters
    bool search;               // search for further molecules
    unsigned long long first;  // index of its first float in the input of all groups
    unsigned long long space;  // of the k-th place: index of the first float of the k-th team's memory
    unsigned long long cell;   // index of the first value of its cell in the PSF's table
};
constexpr int joint_corners = 4;
constexpr int joint_planes = 5;  // of a JointImage, which follow a team's JointSpace

/// Kernel parameter, passed by value. The camera's numbers are as in Rois, for all pixels if there is no map.
struct JointLaunch {
    KernelPsf psf;
    JointNumbers numbers;
    unsigned groups;
    int size, searched_size;  // of windows, px
    bool variance_map, qe_map;
    float variance, qe, excess_noise;
};

constexpr unsigned joint_team_threads = 128;
constexpr unsigned joint_shared_bytes = 1024;  // dynamic shared memory: JointKernel::Shared at most

}  // namespace glint
