// Explains exceptions, from the tables of codes and from the amounts in the exceptions.
// SPDX-License-Identifier: MIT
#include <new>

#include "glint/gpu/advice.hpp"
#include "glint/gpu/error.hpp"
#include "glint/gpu/lease.hpp"
#include "gpu/advice.hpp"
#include "gpu/driver.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace {

constexpr const char* look = "see what `glint doctor` finds";

/// Messages of failed calls end with the remedy, which FriendlyError stores in its own field.
std::string without_remedy(const GpuError& error) {
    const std::string words = error.what();
    const Advice* advice = cuda_advice(error.code);
    return advice ? words.substr(0, words.find(text("; ", advice->remedy))) : words;
}

std::string remedy_of(int code) {
    const Advice* advice = cuda_advice(code);
    return advice ? advice->remedy : look;
}

std::string suggestion(const LeaseTimeout& error) {
    return text(
        bytes_text(error.required_bytes), " were needed on one GPU, context included, and at most ",
        bytes_text(error.available_bytes),
        " were free: `glint top` shows which processes hold the rest; wait longer (`gpu_timeout`), request less "
        "(`gpu_memory`), or use the CPU (`backend=cpu`)");
}

std::string suggestion(const OutOfMemory& error) {
    const std::string asked = error.asked_bytes ? bytes_text(error.asked_bytes) : "memory";
    if (error.beyond_limit)
        return text(asked,
                    " did not fit into this program's own limit: raise it (`gpu_memory`, GLINT_GPU_MEMORY_LIMIT, the "
                    "lease), or process less data per call; waiting for others does not help");
    const std::string free = error.free_bytes ? text(", ", bytes_text(error.free_bytes), " were free") : "";
    return text(asked, error.asked_bytes ? " were asked for" : " was asked for", free,
                ": process less data per call, wait for the processes that `glint top` shows, or use another GPU");
}

std::string suggestion(const NoGpu&) {
    if (!why_disabled().empty()) return "unset GLINT_GPU_ENABLED, or continue with the CPU (`backend=cpu`)";
    return "`glint doctor` shows what is wrong and `doctor_guide` what to install; meanwhile the CPU does the "
           "same work (`backend=cpu`)";
}

std::string suggestion(const DeviceLost& error) {
    return text("restart the program, since this process cannot use that GPU again; ", remedy_of(error.code));
}

/// Returns the dynamic loader's message about an NVIDIA library; empty for other messages.
std::string library_suggestion(const std::string& message) {
    const auto has = [&](const char* part) { return message.find(part) != message.npos; };
    if (!has("cannot open shared object") && !has("ot load dynamic library") && !has("ailed to dlopen")) return "";
    if (has("libcuda.so") || has("libnvidia-ml.so") || has("libnvidia-ptxjitcompiler"))
        return "the NVIDIA driver is not installed, or not visible here. In a container: start it with --gpus all "
               "(Docker, "
               "Podman) or --nv (Apptainer). In WSL2: install the driver in Windows, not in Linux. Else `doctor_guide` "
               "prints the commands; meanwhile use the CPU (`backend=cpu`)";
    for (const char* part :
         {"libcublas", "libcudart", "libcudnn", "libcufft", "libcurand", "libcusolver", "libcusparse", "libnccl",
          "libnvrtc", "libnvJitLink", "libnvToolsExt", "libnvvm", "libcupti"})
        if (has(part))
            return "a library of CUDA is missing, or of another version: install the package again with its CUDA "
                   "libraries "
                   "(PyTorch, JAX and TensorFlow bring their own by pip), or add their folder to LD_LIBRARY_PATH; "
                   "`doctor_guide` prints the commands for those that glint needs";
    return "";
}

/// For exceptions that are not about GPUs, or come from other libraries.
std::string general_suggestion(const std::exception& error) {
    if (const std::string words = library_suggestion(error.what()); !words.empty()) return words;
    if (dynamic_cast<const OptionError*>(&error)) return "correct the option that the message names, and call again";
    if (dynamic_cast<const InputError*>(&error)) return "use another input, or repair this one";
    if (dynamic_cast<const OutputError*>(&error)) return "make room, check the permissions, or write elsewhere";
    if (dynamic_cast<const Cancelled*>(&error)) return "nothing is wrong: call again to continue";
    if (dynamic_cast<const std::bad_alloc*>(&error)) return "the machine's memory is full: process less data per call";
    return "report it, with this message: no such error is known";
}

FriendlyError explain_code(const char* whose, const Advice* advice, int code) {
    if (!advice) return {text(whose, " reports ", code, ", which is not known"), look};
    return {text(advice->meaning, " (", whose, " ", code, ")"), advice->remedy};
}

}  // namespace

FriendlyError explain_error(const std::exception& error) {
    if (const auto* timeout = dynamic_cast<const LeaseTimeout*>(&error)) return {timeout->what(), suggestion(*timeout)};
    if (const auto* full = dynamic_cast<const OutOfMemory*>(&error)) return {without_remedy(*full), suggestion(*full)};
    if (const auto* none = dynamic_cast<const NoGpu*>(&error)) return {none->what(), suggestion(*none)};
    if (const auto* lost = dynamic_cast<const DeviceLost*>(&error)) return {without_remedy(*lost), suggestion(*lost)};
    if (const auto* failed = dynamic_cast<const GpuError*>(&error))
        return {without_remedy(*failed), remedy_of(failed->code)};
    return {error.what(), general_suggestion(error)};
}

FriendlyError explain_cuda_code(int code) { return explain_code("CUDA", cuda_advice(code), code); }
FriendlyError explain_nvml_code(int code) { return explain_code("NVML", nvml_advice(code), code); }

}  // namespace glint::gpu
