// Installation commands by part and system.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::gpu::doctor {

enum class Part { driver, nvml, device_files, nvcc, cublas, cufft, cusolver, openblas, fftw };
enum class System { any, debian, ubuntu, fedora, rhel, suse, arch, wsl, container };

/// The commands for a part on a system. `any` is the fallback for systems without a line of their own.
struct HowTo {
    Part part;
    System system;
    const char* lines;
};
const char* how_to(Part part, System system);

/// Commands that add NVIDIA's repository, with placeholders {repository} (URL) and {name} (file name); null: none.
const char* repository_lines(System system);

}  // namespace glint::gpu::doctor
