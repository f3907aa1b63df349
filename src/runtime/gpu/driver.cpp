// Loads libcuda.so.1 and its functions, and explains why it cannot be used.
// SPDX-License-Identifier: MIT
#include "gpu/driver.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <iterator>

#include "glint/environment.hpp"
#include "glint/gpu/error.hpp"
#include "gpu/advice.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace {

constexpr int oldest_cuda = 13000;
constexpr const char* remedy = "install driver 580 or newer";
constexpr unsigned long long legacy_stream = 1;  // of cuGetProcAddress: no per-thread default streams

using GetProcAddressV1 = cu::Result (*)(const char*, void**, int, unsigned long long);
using GetProcAddressV2 = cu::Result (*)(const char*, void**, int, unsigned long long, int*);

std::atomic<bool> started{false}, in_forked_child{false};
std::array<std::atomic<int>, 256> separate_contexts{};  // of glint, by ordinal

std::string cuda_text(int version) { return text(version / 1000, ".", version % 1000 / 10); }

/// A driver that lacks a function returns success and a null pointer.
struct Finder {
    GetProcAddressV1 v1;
    GetProcAddressV2 v2;
    void* operator()(const char* name, int version) const {
        void* function = nullptr;
        int status = 0;
        const cu::Result result =
            v2 ? v2(name, &function, version, legacy_stream, &status) : v1(name, &function, version, legacy_stream);
        return result == cu::success ? function : nullptr;
    }
};

/// Searches by dlsym() first, because a driver too old for cuGetProcAddress has this function, too.
int version_of(void* library, const Finder& find) {
    void* function = dlsym(library, "cuDriverGetVersion");
    if (!function && (find.v1 || find.v2)) function = find("cuDriverGetVersion", 2020);
    int version = 0;
    if (function) reinterpret_cast<cu::Result (*)(int*)>(function)(&version);
    return version;
}

std::string why_not_initialized(const Driver& driver, cu::Result result) {
    const std::string visible = visible_devices_note();
    if (result == cu::no_device)
        return visible.empty() ? "no device: the driver finds no NVIDIA GPU in this machine"
                               : "no device: the driver finds no NVIDIA GPU that " + visible +
                                     " names; unset it, or set it to numbers or UUIDs that `nvidia-smi -L` prints";
    if (result == cu::invalid_device && !visible.empty())
        return "no device: " + visible + " names a GPU twice; name each once";
    const char* name = nullptr;
    driver.cuGetErrorName(result, &name);
    const Advice* advice = cuda_advice(result);
    return text("the driver does not start: cuInit returned ", name ? name : "error", " (", result,
                "): ", advice ? advice->meaning : "unknown", "; ",
                advice ? advice->remedy : "see whether `nvidia-smi` works", visible.empty() ? "" : "; " + visible);
}

void find_functions(Driver& driver, const Finder& find) {
#define X(name, abi, required, parameters)                                      \
    driver.name = reinterpret_cast<cu::Result(*) parameters>(find(#name, abi)); \
    if (!driver.name && required && driver.why.empty())                         \
        driver.why = text("the driver (CUDA ", cuda_text(driver.version), ") lacks ", #name, ": ", remedy);
#include "gpu/driver_list.inc"
#undef X
}

void start(Driver& driver) {
    pthread_atfork(nullptr, nullptr, [] {
        if (started) in_forked_child = true;
    });
    started = true;
    if (const cu::Result result = driver.cuInit(0)) {
        driver.why = why_not_initialized(driver, result);
        return;
    }
    int count = 0;
    const cu::Result result = driver.cuDeviceGetCount(&count);
    if (result || count == 0) driver.why = why_not_initialized(driver, result ? result : cu::no_device);
}

std::string read_switch() {
    try {
        return environment::gpu_enabled() ? "" : "GPUs are switched off by GLINT_GPU_ENABLED=false: unset it";
    } catch (const OptionError& error) {
        return error.what();
    }
}

Driver load_driver() {
    Driver driver;
    if (driver.why = why_disabled(); !driver.why.empty()) return driver;
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: its threads run on
    if (!library) {
        const char* error = dlerror();
        driver.why = text("no NVIDIA driver (", error ? error : "libcuda.so.1 not found",
                          "): for a GPU of this machine ", remedy);
        return driver;
    }
    const Finder find{reinterpret_cast<GetProcAddressV1>(dlsym(library, "cuGetProcAddress")),
                      reinterpret_cast<GetProcAddressV2>(dlsym(library, "cuGetProcAddress_v2"))};
    driver.version = version_of(library, find);
    if (driver.version < oldest_cuda || (!find.v1 && !find.v2)) {
        driver.why = text("the NVIDIA driver is too old: it supports CUDA ",
                          driver.version ? cuda_text(driver.version) : "older than 11.3", ", glint needs CUDA ",
                          cuda_text(oldest_cuda), ": ", remedy);
        return driver;
    }
    find_functions(driver, find);
    if (driver.why.empty()) start(driver);
    return driver;
}

const Driver& loaded() {
    static const Driver driver = load_driver();
    return driver;
}

constexpr const char* fork_message =
    "this process was forked from one that had started the GPU runtime, and CUDA does not survive a fork: "
    "fork before the first use of a GPU, or start a new program (exec, \"spawn\" in Python's multiprocessing)";

}  // namespace

const std::string& why_disabled() {
    static const std::string why = read_switch();
    return why;
}

const Driver& driver() {
    const Driver& ours = loaded();
    if (!forked()) return ours;
    static const Driver useless = [&] {
        Driver copy = ours;
        copy.why = fork_message;
        return copy;
    }();
    return useless;
}

const Driver& usable_driver() {
    if (forked()) throw GpuError(cu::not_initialized, fork_message);
    const Driver& found = loaded();
    if (!why_disabled().empty()) environment::gpu_enabled();  // throws for an invalid value
    if (!found.why.empty()) throw NoGpu(cu::no_device, found.why);
    return found;
}

bool forked() { return in_forked_child; }

bool context_is_there(int ordinal) {
    const Driver& table = driver();
    cu::Device device = 0;
    unsigned flags = 0;
    int active = 0;
    return table.why.empty() && table.cuDeviceGet(&device, ordinal) == cu::success &&
           table.cuDevicePrimaryCtxGetState(device, &flags, &active) == cu::success &&
           (active || separate_contexts[unsigned(ordinal) % separate_contexts.size()] > 0);
}

void note_separate_context(int ordinal, int change) noexcept {
    separate_contexts[unsigned(ordinal) % separate_contexts.size()] += change;
}

std::string visible_devices_note() {
    const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
    return value ? text("CUDA_VISIBLE_DEVICES=\"", value, "\"") : "";
}

std::string describe(cu::Result result) {
    const Driver& table = loaded();
    const char *name = nullptr, *words = nullptr;
    if (table.cuGetErrorName) table.cuGetErrorName(result, &name);
    if (const Advice* advice = cuda_advice(result))
        words = advice->meaning;
    else if (table.cuGetErrorString)
        table.cuGetErrorString(result, &words);
    return text(name ? name : "CUDA error", " (", result, ")", words ? ": " : "", words ? words : "");
}

bool is_sticky(cu::Result result) {
    // Uncorrectable ECC and NVLink errors; a contained fault; illegal address; launch time-out; assertion; stack,
    // instruction, alignment, address space, program counter; launch failure; tensor memory leak.
    constexpr cu::Result sticky[] = {214, 220, 226, cu::illegal_address, 702, 710, 714, 715,
                                     716, 717, 718, cu::launch_failed,   721};
    return std::find(std::begin(sticky), std::end(sticky), result) != std::end(sticky);
}

void check(cu::Result result, const char* what) {
    if (result != cu::success) fail(result, what);
}

void fail(cu::Result result, const std::string& what) {
    const Advice* advice = cuda_advice(result);
    const std::string message = text(what, ": ", describe(result), advice ? "; " : "", advice ? advice->remedy : "");
    if (is_sticky(result))
        throw DeviceLost(result, message +
                                     "; this process cannot use that GPU again: restart it (its memory on the GPU "
                                     "is freed when it ends)");
    if (result == cu::out_of_memory) throw OutOfMemory(result, message, 0);
    throw GpuError(result, message);
}

}  // namespace glint::gpu
