// The tables of errors.
// SPDX-License-Identifier: MIT
#include "gpu/advice.hpp"

#include <algorithm>
#include <iterator>

namespace glint::gpu {
namespace {

constexpr const char* report_it = "report it, with this message: it is a fault of the program";

constexpr Advice of_nvml[] = {
    {1, 3, "NVML refuses the question", report_it},
    {4, 4, "this user may not use the NVIDIA device files",
     "ask for the group that /dev/nvidia* belongs to, or in a container for the device"},
    {6, 6, "there is no such GPU", "see `nvidia-smi -L`; in a container ask for all GPUs (--gpus all)"},
    {7, 7, "NVML's answer is too long", report_it},
    {8, 8, "a GPU gets too little power", "connect its power cable"},
    {9, 9, "the NVIDIA kernel module is not loaded", "load it (modprobe nvidia), or install driver 580 or newer"},
    {10, 10, "a GPU does not answer", "see `dmesg | grep -i nvrm`; reboot if it stays so"},
    {11, 11, "the machine gives a GPU no interrupts", "see `dmesg | grep -i nvrm`; update the firmware (BIOS)"},
    {12, 13, "NVML is older than the driver 580", "install driver 580 or newer, all parts of one version"},
    {14, 14, "a GPU's configuration memory is damaged", "have the GPU replaced"},
    {15, 15, "a GPU has fallen off the bus", "reboot; if it comes again, look at power, heat and the card's seat"},
    {16, 16, "a GPU needs a reset", "when nobody uses it: nvidia-smi --gpu-reset -i N, else reboot"},
    {17, 17, "the operating system keeps this process from a GPU",
     "see the device rules of its cgroup or container, and SELinux"},
    {18, 18, "NVML and the kernel module are of different versions", "reboot after a driver update"},
    {19, 19, "another program is changing the GPU", "try again later"},
    {20, 23, "NVML lacks memory or data for an answer", "try again later"},
    {27, 29, "a GPU is not ready, or in a state that does not allow it", "try again later; reboot if it stays so"},
    {999, 999, "NVML failed for a reason it does not know", "see `dmesg | grep -i nvrm`; reboot if it stays so"},
};

template <std::size_t N>
const Advice* find(const Advice (&table)[N], int code) {
    const Advice* found = std::find_if(std::begin(table), std::end(table),
                                       [=](const Advice& a) { return a.first <= code && code <= a.last; });
    return found == std::end(table) ? nullptr : found;
}

}  // namespace

const Advice* nvml_advice(int result) { return find(of_nvml, result); }

}  // namespace glint::gpu
