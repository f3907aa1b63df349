// Loads the driver like glint, by dlopen and cuGetProcAddress, for the tests' programs.
// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "gpu/cuda_abi.hpp"

namespace cu = glint::cu;

struct DriverTable {
    void* library = nullptr;
#define X(name, version, required, parameters) cu::Result(*name) parameters = nullptr;
#include "gpu/driver_list.inc"
#undef X
};

struct NvmlTable {
#define X(name, required, parameters) int(*name) parameters = nullptr;
#include "gpu/nvml_list.inc"
#undef X
};

inline void* open_library(const char* name) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) std::printf("%s\n", dlerror()), std::exit(11);
    return library;
}

inline DriverTable load_driver() {
    DriverTable table;
    table.library = open_library("libcuda.so.1");
    using Get = int(const char*, void**, int, std::uint64_t, int*);
    auto* get = reinterpret_cast<Get*>(dlsym(table.library, "cuGetProcAddress_v2"));
#define X(name, version, required, parameters) get(#name, reinterpret_cast<void**>(&table.name), version, 0, nullptr);
#include "gpu/driver_list.inc"
#undef X
    return table;
}

inline NvmlTable load_nvml() {
    NvmlTable table;
    void* library = open_library("libnvidia-ml.so.1");
#define X(name, required, parameters) table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, #name));
#include "gpu/nvml_list.inc"
#undef X
    table.nvmlInit_v2();
    return table;
}

/// Loaded on first use.
inline const DriverTable& driver() {
    static const DriverTable table = load_driver();
    return table;
}
inline const NvmlTable& nvml() {
    static const NvmlTable table = load_nvml();
    return table;
}

/// Ends the program, with exit code 10, when a call fails.
#define CHECK_CALL(function, ...) check_result(driver().function(__VA_ARGS__), #function)
inline void check_result(cu::Result result, const char* function) {
    if (result == cu::success) return;
    std::printf("FAILED %s %d\n", function, result);
    std::exit(10);
}
