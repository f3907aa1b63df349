// The wrapper of every driver function: the lock, the number of the call, and the fault planned for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string_view>
#include <type_traits>

#include "faults.hpp"

namespace simgpu {

inline std::recursive_mutex& driver_mutex() {
    static auto& mutex = *new std::recursive_mutex;
    return mutex;
}

/// One function of the list, called through the pointer that `function` points to. `before` gets each call's fault, and
/// may refuse the call. The simulated driver keeps the lock while it works. The shim does not, because a real call may
/// block.
template <auto function, auto before, bool keep_lock, class Name,
          class Type = std::remove_cvref_t<decltype(**function)>>
struct Entry;

template <auto function, auto before, bool keep_lock, class Name, class... P>
struct Entry<function, before, keep_lock, Name, cu::Result(P...)> {
    static cu::Result call(P... p) {
        std::unique_lock lock(driver_mutex());
        const Fault fault = count_call(Name::text);
        if (fault.kill && !fault.at_execution) kill_this_process();
        if (const cu::Result refused = before(Name::text, fault)) return refused;
        if constexpr (!keep_lock) lock.unlock();
        return (*function)(p...);
    }
};

/// Returns whether a function may only be called after cuInit.
constexpr bool needs_init(std::string_view name) {
    return name != "cuInit" && name != "cuDriverGetVersion" && !name.starts_with("cuGetError");
}

/// Returns whether a function uses the thread's current context. Memory pools belong to devices, and functions that
/// destroy an object find its context.
constexpr bool needs_context(std::string_view name) {
    for (std::string_view one : {"cuCtxSetCurrent", "cuCtxGetCurrent", "cuCtxPopCurrent", "cuCtxCreate"})
        if (name == one) return false;
    if (name.starts_with("cuMemPool")) return false;
    if (name.ends_with("Destroy")) return false;
    for (std::string_view group :
         {"cuCtx", "cuStream", "cuEvent", "cuMem", "cuIpc", "cuModule", "cuFunc", "cuLaunch", "cuPointer"})
        if (name.starts_with(group)) return true;
    return false;
}

/// Returns whether the real driver refuses a function to any thread while a stream is captured in the global mode. The
/// first three were seen on an H200, the others are in the manual.
constexpr bool spoils_captures(std::string_view name) {
    for (std::string_view one : {"cuStreamSynchronize", "cuEventSynchronize", "cuMemPoolGetAttribute", "cuStreamQuery",
                                 "cuEventQuery", "cuMemAllocManaged", "cuMemAlloc", "cuMemFree"})
        if (name == one) return true;
    return false;
}

}  // namespace simgpu
