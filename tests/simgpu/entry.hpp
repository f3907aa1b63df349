// What stands in front of every driver function: the lock, the call's number, and the fault planned for it.
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

/// One function of the list, called through the pointer that `function` points to. `before` sees each call's fault, and
/// may refuse the call. The fake keeps the lock while it works; the shim does not, since a real call may block.
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

/// Those that glint may call before cuInit.
constexpr bool needs_init(std::string_view name) {
    return name != "cuInit" && name != "cuDriverGetVersion" && !name.starts_with("cuGetError");
}

/// Those that work on the thread's current context. Memory pools belong to devices; destroying finds its own context.
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

/// Those that the real driver refuses to any thread while a stream is captured in the global mode; the first three
/// were seen on an H200, the others are in its manual.
constexpr bool spoils_captures(std::string_view name) {
    for (std::string_view one : {"cuStreamSynchronize", "cuEventSynchronize", "cuMemPoolGetAttribute", "cuStreamQuery",
                                 "cuEventQuery", "cuMemAllocManaged", "cuMemAlloc", "cuMemFree"})
        if (name == one) return true;
    return false;
}

}  // namespace simgpu
