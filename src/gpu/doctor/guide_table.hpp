// What to type where, to get a part.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::gpu::doctor {

enum class Part { driver, nvml, device_files, nvcc, cublas, cufft, cusolver, openblas, fftw };
enum class System { any, debian, ubuntu, fedora, rhel, suse, arch, wsl, container };

/// A part on a system. What is said for `any` holds where a system has no lines of its own.
struct HowTo {
    Part part;
    System system;
    const char* lines;
};
const char* how_to(Part part, System system);

/// Lines that make NVIDIA's packages known, in which {repository} stands for their place and {name} for their file's
/// name; null where there are none.
const char* repository_lines(System system);

}  // namespace glint::gpu::doctor
