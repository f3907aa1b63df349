// At exit, reports leaked objects (SIMGPU_LEAKS=1: message and exit code 87) and the number of calls of each function
// (SIMGPU_REPORT=FILE), from which a test chooses the calls at which to kill the next run.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "faults.hpp"
#include "memory.hpp"
#include "process.hpp"
#include "settings.hpp"

namespace simgpu {
namespace {

int found = 0;

void leak(const std::string& what) {
    std::fprintf(stderr, "simgpu: LEAK: %s at exit\n", what.c_str());
    ++found;
}

void count(std::size_t n, const char* what) {
    if (n) leak(std::to_string(n) + ' ' + what);
}

void audit_devices() {
    for (int i = 0; i < server().device_count; ++i) {
        const Context& context = process().contexts[i];
        if (context.lost) continue;  // its objects cannot be freed
        const Use& use = own_use(i);
        if (context.references) leak("gpu " + std::to_string(i) + ": the context");
        if (const int n = separate_count(i))
            leak("gpu " + std::to_string(i) + ": separate contexts: " + std::to_string(n));
        if (use.managed_bytes + use.pool_bytes)
            leak("gpu " + std::to_string(i) + ": " + std::to_string(use.managed_bytes / mebibyte) + " MiB managed, " +
                 std::to_string(use.pool_bytes / mebibyte) + " MiB in pools");
    }
}

bool any_lost() {
    for (const Context& context : process().contexts)
        if (context.lost) return true;
    return false;
}

void audit() {
    audit_devices();
    if (any_lost()) return;
    count(allocations().size(), "allocations");
    count(pinned().size(), "pinned host blocks");
    count(pool_count(), "memory pools");
    count(process().streams.size(), "streams");
    count(process().events.size(), "events");
    count(process().modules.size(), "modules");
}

// Runs after the destructors of all static objects, of the program and its libraries.
__attribute__((destructor)) void at_exit() {
    if (process().forked) return;
    if (const std::string path = setting("SIMGPU_REPORT"); !path.empty()) {
        std::ofstream report(path);
        for (const auto& [function, calls] : call_counts()) report << function << ' ' << calls << '\n';
    }
    if (!is_set("SIMGPU_LEAKS") || !process().initialized) return;
    audit();
    if (!found) return;
    std::fflush(nullptr);
    _exit(87);
}

}  // namespace
}  // namespace simgpu
