// The plain structs that the host passes to the kernel of joint fits.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/joint/joint_abi.hpp"

namespace glint {

/// A JointImage, whose planes follow one another: data, known, per_photon, variance, searched.
struct JointPlace {
    int width, height, pitch;
    JointNoise noise;
    int molecules;             // that memory is laid out for
    unsigned long long first;  // of its floats among those of all groups
    unsigned long long space;  // of the k-th place: the first float of the k-th team's memory
};
constexpr int joint_planes = 5;

/// Kernel parameter, passed by value.
struct JointLaunch {
    KernelPsf psf;
    JointNumbers numbers;
    unsigned groups;
};

constexpr unsigned joint_team_threads = 128;
constexpr unsigned joint_shared_bytes = 1024;  // dynamic shared memory: JointKernel::Shared at most

}  // namespace glint
