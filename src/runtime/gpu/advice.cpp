// The tables of error codes, with meaning and remedy.
// SPDX-License-Identifier: MIT
#include "gpu/advice.hpp"

#include <algorithm>
#include <iterator>

namespace glint::gpu {
namespace {

constexpr const char* report_it = "report it, with this message: it is an error in the program";
constexpr const char* driver_580 = "install driver 580 or newer";

constexpr Advice of_cuda[] = {
    {1, 1, "the driver was given an invalid value", report_it},
    {2, 2, "the GPU has no memory left for this",
     "request less, wait for the processes that `glint top` shows, or use another GPU"},
    {3, 3, "the driver was not started in this process", "fork before the first use of a GPU, or start a new program"},
    {4, 4, "the driver is shutting down with the process", "end all work on GPUs before main() returns"},
    {5, 8, "a profiler prevents this", "run without it"},
    {34, 34, "the toolkit's stub library was loaded instead of the driver",
     "remove the folder lib64/stubs from LD_LIBRARY_PATH; install driver 580 or newer"},
    {35, 36, "the driver is older than what this needs, or not visible here",
     "install driver 580 or newer; a container needs --gpus all (Docker) or --nv (Apptainer), WSL2 a driver in "
     "Windows"},
    {46, 46, "the GPU is busy: its compute mode allows one process, or it is being reset",
     "wait for it, or have an administrator allow several processes: nvidia-smi -c DEFAULT"},
    {100, 100, "there is no GPU that this process may use",
     "see `nvidia-smi -L` and CUDA_VISIBLE_DEVICES; start a container with --gpus all"},
    {101, 101, "there is no GPU of this number",
     "`glint devices` lists the GPUs that CUDA_VISIBLE_DEVICES leaves visible"},
    {102, 102, "the virtual GPU has no licence", "ask the administrator of the virtual machines (nvidia-gridd)"},
    {200, 200, "the kernels in this program are damaged", "install it again"},
    {201, 202, "there is no context, or not the right one, for this call",
     "keep the Context as long as its buffers and streams are used"},
    {205, 205, "memory could not be mapped", "check for a limit on the process's memory (ulimit -v, cgroup)"},
    {206, 208, "memory shared with graphics is in the wrong state", report_it},
    {209, 209, "there are no kernels for this GPU's generation in this program",
     "build it for that compute capability, which `glint devices` shows, or use another GPU"},
    {210, 213, "memory shared with graphics is in the wrong state", report_it},
    {214, 214, "the GPU's memory had an error that it could not correct",
     "run again; if it happens again: `glint doctor`, a reset, another GPU"},
    {215, 215, "the GPU does not support this limit", report_it},
    {216, 216, "the GPU's compute mode allows one thread, and another one is using it",
     "have an administrator allow several processes: nvidia-smi -c DEFAULT"},
    {217, 217, "these GPUs have no peer access to each other's memory",
     "copy through the host, or use GPUs that `nvidia-smi topo -p2p r` shows as connected"},
    {218, 218, "kernels could not be compiled for this GPU", driver_580},
    {219, 219, "the graphics context is invalid", report_it},
    {220, 220, "the link between GPUs failed", "run again; if it happens again: nvidia-smi nvlink -e, a reset"},
    {221, 221, "the driver's compiler for kernels is missing",
     "install all parts of the driver (libnvidia-ptxjitcompiler.so.1)"},
    {222, 222, "the kernels were built by a newer CUDA than the driver supports", "install a newer driver"},
    {223, 223, "compiling kernels is switched off", "unset CUDA_DISABLE_PTX_JIT"},
    {224, 225, "a kernel needs a feature that this GPU or driver does not have", driver_580},
    {226, 226, "an access to another GPU's memory failed, or the hardware failed",
     "run again; if it happens again: `dmesg | grep -i xid`, `glint doctor`"},
    {300, 300, "the kernels in this program are damaged", "install it again"},
    {301, 303, "a file or library of the driver is missing or of another version",
     "install all parts of the driver again, in one version; restart the container if there is one"},
    {304, 304, "the operating system refused a request of the driver",
     "check the permissions of /dev/nvidia*, `ulimit -a` and `dmesg`; `glint doctor` checks some of these"},
    {400, 402, "a handle is not valid, or not in the state for this", report_it},
    {500, 500, "a kernel or symbol is not in this program", "install it again: its parts are of different versions"},
    {600, 600, "the work is not done yet", "wait for it: this is not a failure"},
    {700, 700, "a kernel touched memory that is not its own",
     "compute-sanitizer finds the place; report it if the kernel is glint's"},
    {701, 701, "a kernel needs more registers or shared memory than this GPU has",
     "use smaller ROIs or another GPU; report it, with this message"},
    {702, 702, "a kernel exceeded the time limit of a GPU with a display", "use a GPU without a display"},
    {703, 703, "a kernel uses textures in another way than they were created for", report_it},
    {704, 705, "the connection between two GPUs is not in the state for this", report_it},
    {708, 708, "this process already uses the GPU", "set this before the first use of the GPU"},
    {709, 709, "the context was destroyed, perhaps by another library of this process",
     "let nothing reset the device (cudaDeviceReset) while it is used"},
    {710, 710, "an assertion in a kernel failed", "its message is on stderr; report it if the kernel is glint's"},
    {711, 711, "the GPU is connected to the maximum number of other GPUs", "use fewer GPUs in one process"},
    {712, 713, "host memory is page-locked already, or was not", report_it},
    {714, 718, "a kernel failed: stack overflow, invalid instruction or invalid address",
     "compute-sanitizer finds the place; if it finds none, the hardware: `dmesg | grep -i xid`"},
    {719, 719, "a kernel failed, and the GPU does not report why",
     "compute-sanitizer may find the place; else the hardware: `dmesg | grep -i xid`"},
    {720, 720, "more blocks must run simultaneously than this GPU supports", report_it},
    {721, 721, "a kernel did not release some of the GPU's tensor memory", report_it},
    {800, 800, "the driver does not permit this",
     "check whether a container or the administrator forbids it, or a stream is being captured"},
    {801, 801, "this GPU or driver cannot do this (a virtual GPU, WSL2)", "use another GPU, or a newer driver"},
    {802, 802, "the NVLink switches between the GPUs are not initialized",
     "an administrator starts nvidia-fabricmanager, of the driver's version"},
    {803, 803, "the driver's library and kernel module are of different versions",
     "reboot after a driver update; restart a container; remove compat libraries from LD_LIBRARY_PATH"},
    {804, 804, "compatibility libraries are found before the driver's, and this GPU does not support them",
     "remove the folder compat from LD_LIBRARY_PATH, or update the driver"},
    {805, 805, "the MPS server cannot be reached",
     "start it (nvidia-cuda-mps-control -d), mount its pipe into the container, or unset CUDA_MPS_PIPE_DIRECTORY"},
    {806, 807, "the MPS server fails or is not ready", "try again; else restart it (nvidia-cuda-mps-control)"},
    {808, 809, "MPS has its maximum number of clients", "wait until some have ended"},
    {810, 810, "the MPS server has ended this client: another client's kernel failed", "run again"},
    {811, 812, "kernels that start kernels do not work here (MPS?)", "run without MPS"},
    {900, 908, "a stream is being captured into a graph, which does not allow this, or the capture failed",
     "end the capture first; the streams that are captured must be joined"},
    {909, 909, "a wait took too long", "check whether the GPU is overloaded (`glint top`); try again"},
    {910, 910, "a graph differs too much from the one before", "create a new graph"},
    {911, 911, "something outside of CUDA that this work waits for has failed",
     "read the messages of that program or device"},
    {912, 912, "a kernel's blocks are grouped in a way that this GPU does not support", report_it},
    {913, 915, "a function or resource is not in the state for this", report_it},
    {916, 916, "the keys of the GPU's encrypted memory could not be changed", "restart the program, else the machine"},
    {999, 999, "the driver cannot identify the error",
     "try again later (a full GPU can have this effect); if it stays: `dmesg | grep -i nvrm`, a reboot"},
};

constexpr Advice of_nvml[] = {
    {1, 3, "NVML refuses the query", report_it},
    {4, 4, "this user may not use the NVIDIA device files",
     "ask to join the group that /dev/nvidia* belongs to; in a container, ask for the device"},
    {5, 5, "NVML was started twice", report_it},
    {6, 6, "there is no such GPU", "check `nvidia-smi -L`; in a container request all GPUs (--gpus all)"},
    {7, 7, "NVML's answer is too long", report_it},
    {8, 8, "a GPU gets too little power", "connect its power cable"},
    {9, 9, "the NVIDIA kernel module is not loaded", "load it (modprobe nvidia), or install driver 580 or newer"},
    {10, 10, "a GPU does not answer", "check `dmesg | grep -i nvrm`; reboot if this continues"},
    {11, 11, "the machine gives a GPU no interrupts", "check `dmesg | grep -i nvrm`; update the firmware (BIOS)"},
    {12, 13, "NVML is older than the driver 580", "install driver 580 or newer, all parts of one version"},
    {14, 14, "a GPU's configuration memory is damaged", "have the GPU replaced"},
    {15, 15, "a GPU has fallen off the bus", "reboot; if it happens again, check power, heat and the card's seat"},
    {16, 16, "a GPU needs a reset", "when nobody uses it: nvidia-smi --gpu-reset -i N, else reboot"},
    {17, 17, "the operating system denies this process a GPU",
     "check the device rules of its cgroup or container, and SELinux"},
    {18, 18, "NVML and the kernel module are of different versions", "reboot after a driver update"},
    {19, 19, "another program is changing the GPU", "try again later"},
    {20, 23, "NVML lacks memory or data for an answer", "try again later"},
    {24, 24, "a GPU does not support this clock rate", "`nvidia-smi -q -d SUPPORTED_CLOCKS` lists the supported ones"},
    {25, 26, "NVML no longer supports this query, or not yet", "install driver 580 or newer, all parts of one version"},
    {27, 29, "a GPU is not ready, or in a state that does not allow it", "try again later; reboot if this continues"},
    {30, 30, "a GPU cannot be reset in this way", "reboot instead"},
    {999, 999, "NVML failed for an unknown reason", "check `dmesg | grep -i nvrm`; reboot if this continues"},
};

template <std::size_t N>
const Advice* find(const Advice (&table)[N], int code) {
    const Advice* found = std::find_if(std::begin(table), std::end(table),
                                       [=](const Advice& a) { return a.first <= code && code <= a.last; });
    return found == std::end(table) ? nullptr : found;
}

}  // namespace

const Advice* cuda_advice(int result) { return find(of_cuda, result); }
const Advice* nvml_advice(int result) { return find(of_nvml, result); }

}  // namespace glint::gpu
