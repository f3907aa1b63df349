// The table of installation commands, with an entry for each part and system.
// SPDX-License-Identifier: MIT
#include "gpu/doctor/guide.hpp"

#include <algorithm>
#include <iterator>

namespace glint::gpu::doctor {
namespace {

constexpr const char* of_the_host =
    "# in a container the driver is the host's: install it there, with nvidia-container-toolkit, and start with\n"
    "docker run --gpus all ...\n"
    "podman run --device nvidia.com/gpu=all ...\n"
    "apptainer exec --nv ...";
constexpr const char* all_capabilities =
    "# start the container with both of the driver's libraries:\n"
    "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ...";

constexpr HowTo table[] = {
    {Part::driver, System::ubuntu, "sudo apt install nvidia-driver-580-open\nsudo reboot"},
    {Part::driver, System::debian, "sudo apt install nvidia-open\nsudo reboot"},
    {Part::driver, System::fedora, "sudo dnf install nvidia-open\nsudo reboot"},
    {Part::driver, System::rhel,
     "sudo dnf module enable nvidia-driver:open-dkms  # releases 8 and 9 only\nsudo dnf install nvidia-open\nsudo "
     "reboot"},
    {Part::driver, System::suse, "sudo zypper install nvidia-open\nsudo reboot"},
    {Part::driver, System::arch, "sudo pacman -S nvidia-open nvidia-utils\nsudo reboot"},
    {Part::driver, System::wsl,
     "# install NVIDIA's driver, 580 or newer, in Windows, and none in Linux; then in Windows:\n"
     "wsl --update\n"
     "wsl --shutdown\n"
     "# the libraries are then in /usr/lib/wsl/lib"},
    {Part::driver, System::container, of_the_host},
    {Part::driver, System::any, "# driver 580 or newer, from https://www.nvidia.com/drivers"},

    {Part::nvml, System::ubuntu, "sudo apt install nvidia-utils-580"},
    {Part::nvml, System::debian, "sudo apt install libnvidia-ml1"},
    {Part::nvml, System::arch, "sudo pacman -S nvidia-utils"},
    {Part::nvml, System::container, all_capabilities},
    {Part::nvml, System::any, "# install all parts of the driver, of one version: libnvidia-ml.so.1 is one of them"},

    {Part::device_files, System::container, of_the_host},
    {Part::device_files, System::any,
     "sudo modprobe nvidia\nsudo nvidia-modprobe -u -c=0\n# if that fails: sudo dmesg | grep -i nvrm"},

    {Part::nvcc, System::arch, "sudo pacman -S cuda"},
    {Part::nvcc, System::ubuntu, "sudo apt install cuda-nvcc-13-0 cuda-cudart-dev-13-0"},
    {Part::nvcc, System::debian, "sudo apt install cuda-nvcc-13-0 cuda-cudart-dev-13-0"},
    {Part::nvcc, System::fedora, "sudo dnf install cuda-nvcc-13-0 cuda-cudart-devel-13-0"},
    {Part::nvcc, System::rhel, "sudo dnf install cuda-nvcc-13-0 cuda-cudart-devel-13-0"},
    {Part::nvcc, System::suse, "sudo zypper install cuda-nvcc-13-0 cuda-cudart-devel-13-0"},
    {Part::nvcc, System::any, "# the toolkit of CUDA 13, from https://developer.nvidia.com/cuda-downloads"},

    {Part::cublas, System::ubuntu, "sudo apt install libcublas-13-0"},
    {Part::cublas, System::debian, "sudo apt install libcublas-13-0"},
    {Part::cublas, System::fedora, "sudo dnf install libcublas-13-0"},
    {Part::cublas, System::rhel, "sudo dnf install libcublas-13-0"},
    {Part::cublas, System::suse, "sudo zypper install libcublas-13-0"},
    {Part::cublas, System::arch, "sudo pacman -S cuda"},
    {Part::cublas, System::any, "# part of CUDA 13's toolkit, or: pip install nvidia-cublas"},

    {Part::cufft, System::ubuntu, "sudo apt install libcufft-13-0"},
    {Part::cufft, System::debian, "sudo apt install libcufft-13-0"},
    {Part::cufft, System::fedora, "sudo dnf install libcufft-13-0"},
    {Part::cufft, System::rhel, "sudo dnf install libcufft-13-0"},
    {Part::cufft, System::suse, "sudo zypper install libcufft-13-0"},
    {Part::cufft, System::arch, "sudo pacman -S cuda"},
    {Part::cufft, System::any, "# part of CUDA 13's toolkit, or: pip install nvidia-cufft"},

    {Part::cusolver, System::ubuntu, "sudo apt install libcusolver-13-0 libcusparse-13-0 libnvjitlink-13-0"},
    {Part::cusolver, System::debian, "sudo apt install libcusolver-13-0 libcusparse-13-0 libnvjitlink-13-0"},
    {Part::cusolver, System::fedora, "sudo dnf install libcusolver-13-0 libcusparse-13-0 libnvjitlink-13-0"},
    {Part::cusolver, System::rhel, "sudo dnf install libcusolver-13-0 libcusparse-13-0 libnvjitlink-13-0"},
    {Part::cusolver, System::suse, "sudo zypper install libcusolver-13-0 libcusparse-13-0 libnvjitlink-13-0"},
    {Part::cusolver, System::arch, "sudo pacman -S cuda"},
    {Part::cusolver, System::any, "# part of CUDA 13's toolkit, or: pip install nvidia-cusolver"},

    {Part::openblas, System::ubuntu, "sudo apt install libopenblas0-pthread"},
    {Part::openblas, System::debian, "sudo apt install libopenblas0-pthread"},
    {Part::openblas, System::fedora, "sudo dnf install openblas-threads"},
    {Part::openblas, System::rhel, "sudo dnf install openblas-threads"},
    {Part::openblas, System::suse, "sudo zypper install libopenblas_pthreads0"},
    {Part::openblas, System::arch, "sudo pacman -S openblas"},
    {Part::openblas, System::any, "# libopenblas.so.0, of https://www.openblas.net"},

    {Part::fftw, System::ubuntu, "sudo apt install libfftw3-single3 libfftw3-double3"},
    {Part::fftw, System::debian, "sudo apt install libfftw3-single3 libfftw3-double3"},
    {Part::fftw, System::fedora, "sudo dnf install fftw-libs-single fftw-libs-double"},
    {Part::fftw, System::rhel, "sudo dnf install fftw-libs-single fftw-libs-double"},
    {Part::fftw, System::suse, "sudo zypper install libfftw3-3"},
    {Part::fftw, System::arch, "sudo pacman -S fftw"},
    {Part::fftw, System::any, "# libfftw3f.so.3 and libfftw3.so.3, of https://www.fftw.org"},
};

constexpr const char* keyring =
    "wget {repository}/cuda-keyring_1.1-1_all.deb\n"
    "sudo dpkg -i cuda-keyring_1.1-1_all.deb\n"
    "sudo apt update";

}  // namespace

const char* how_to(Part part, System system) {
    for (const System wanted : {system, System::any}) {
        const HowTo* found = std::find_if(std::begin(table), std::end(table),
                                          [&](const HowTo& h) { return h.part == part && h.system == wanted; });
        if (found != std::end(table)) return found->lines;
    }
    return "";
}

const char* repository_lines(System system) {
    switch (system) {
        case System::debian:
        case System::ubuntu: return keyring;
        case System::fedora: return "sudo dnf config-manager addrepo --from-repofile={repository}/{name}.repo";
        case System::rhel: return "sudo dnf config-manager --add-repo {repository}/{name}.repo";
        case System::suse: return "sudo zypper addrepo {repository}/{name}.repo\nsudo zypper refresh";
        default: return nullptr;
    }
}

}  // namespace glint::gpu::doctor
