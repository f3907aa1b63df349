// Loads NVIDIA's libraries and their functions.
// SPDX-License-Identifier: MIT
#include "arrays/libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "glint/arrays/error.hpp"
#include "gpu/pool.hpp"

namespace glint::arrays {
namespace {

std::vector<std::string> folders() {
    std::vector<std::string> all{""};
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* home = std::getenv(variable); home && *home) all.push_back(fmt::format("{}/lib64/", home));
    all.push_back("/usr/local/cuda/lib64/");
    return all;
}

void* function_of(void* library, const char* name) {
    if (void* function = dlsym(library, name)) return function;
    throw LibraryMissing(cu::not_found, fmt::format("a CUDA library lacks {}: install one of CUDA 12 or 13", name));
}

}  // namespace

void* open_library(std::initializer_list<const char*> names, const char* package, const char* apt) {
    std::string why;
    for (const std::string& folder : folders())
        for (const char* name : names) {
            if (void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
            const char* error = dlerror();
            // The error of a library that exists but does not load is more useful than "not found".
            const bool absent = error && std::string(error).find("cannot open shared object") != std::string::npos;
            if (error && (why.empty() || !absent)) why = error;
        }
    throw LibraryMissing(cu::not_found,
                         fmt::format("{} was not found ({}): install it (pip install {}, or apt-get install {} from "
                                     "NVIDIA's repository), and put its folder into LD_LIBRARY_PATH",
                                     *names.begin(), why, package, apt));
}

const Cublas& cublas() {
    static const Cublas table = [] {
        Cublas t;
        void* library = open_library({"libcublas.so.13", "libcublas.so.12"}, "nvidia-cublas", "libcublas-13-0");
#define X(name, parameters) t.name = reinterpret_cast<lib::Status(*) parameters>(function_of(library, #name));
#include "arrays/cublas_list.inc"
#undef X
        return t;
    }();
    return table;
}

const Cufft& cufft() {
    static const Cufft table = [] {
        Cufft t;
        void* library = open_library({"libcufft.so.12", "libcufft.so.11"}, "nvidia-cufft", "libcufft-13-0");
#define X(name, parameters) t.name = reinterpret_cast<lib::Status(*) parameters>(function_of(library, #name));
#include "arrays/cufft_list.inc"
#undef X
        return t;
    }();
    return table;
}

const Cusolver& cusolver() {
    static const Cusolver table = [] {
        Cusolver t;
        cublas();  // a dependency: once loaded, it is found by its soname, whatever its folder
        void* library = open_library({"libcusolver.so.12", "libcusolver.so.11"}, "nvidia-cusolver", "libcusolver-13-0");
#define X(name, parameters) t.name = reinterpret_cast<lib::Status(*) parameters>(function_of(library, #name));
#include "arrays/cusolver_list.inc"
#undef X
        return t;
    }();
    return table;
}

const Nvrtc& nvrtc() {
    static const Nvrtc table = [] {
        Nvrtc t;
        void* library = open_library({"libnvrtc.so.13", "libnvrtc.so.12"}, "nvidia-cuda-nvrtc", "cuda-nvrtc-13-0");
#define X(name, parameters) t.name = reinterpret_cast<lib::Status(*) parameters>(function_of(library, #name));
#include "arrays/nvrtc_list.inc"
#undef X
        return t;
    }();
    return table;
}

void check(const gpu::detail::ContextState& home, Library library, const char* call, lib::Status status) {
    if (status == lib::success) return;
    home.require_usable("a library's handle");
    const std::string what = fmt::format("{}: {}", home.label(), describe(library, call, status));
    const gpu::detail::Current current(home);
    std::size_t free = 0, total = 0;
    home.check(home.driver->cuMemGetInfo(&free, &total), what.c_str());  // throws DeviceLost after a faulty kernel
    constexpr std::size_t next_to_nothing = std::size_t(256) << 20;
    if (lacks_memory(library, status) || (may_lack_memory(library, status) && free < next_to_nothing))
        throw gpu::OutOfMemory(status, what, 0, false, free);
    throw gpu::GpuError(status, what);
}

}  // namespace glint::arrays
