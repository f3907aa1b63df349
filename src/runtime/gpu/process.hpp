// Other processes, as /proc shows them, and whether one is a server of NVIDIA MPS.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace glint::gpu {

struct ProcessInfo {
    char state = '?';  ///< R, S, D (waits in the kernel), T (stopped), Z (zombie)
    unsigned parent = 0;
    std::uint32_t uid = 0;
    std::string name;
};

/// Returns the content of a file of the system (/proc, /sys); empty if it cannot be read, or disappears meanwhile.
std::string content_of(const std::string& path);
/// Returns nullopt for a process that has ended, belongs to another pid namespace, or is hidden.
std::optional<ProcessInfo> process_info(unsigned pid);
/// Whether there is no process with this number. A hidden process has not ended.
bool has_ended(unsigned pid);
/// Returns the user of a process; nullopt if process_info() returns nullopt. Cheaper than process_info(), as it does
/// not read the state.
std::optional<std::uint32_t> owner_of(unsigned pid);
/// "1000 (alice)", or "1000" without an entry of that number.
std::string user_text(std::uint32_t uid);
/// Returns the number of this process's pid namespace (a container has its own); 0: unknown. A pid is valid in its
/// namespace only.
std::uint32_t pid_namespace();
/// Whether this process sees all processes of the machine. In another namespace the pids that NVML reports are invalid.
bool in_first_pid_namespace();
/// Returns the other processes that have the file open for writing, as far as this user may see that.
std::vector<unsigned> writers_of(const std::string& file);
/// Whether a signal or a debugger has stopped the process. False if the pid now belongs to another user's process.
bool is_stopped(unsigned pid, std::uint32_t uid);
/// The process and its ancestors, nearest first.
std::vector<unsigned> lineage(unsigned pid);
/// Whether one of `pids` is the process or an ancestor of it.
bool descends_from(unsigned pid, const std::set<unsigned>& pids);
/// Whether "NAME=value" was in the process's initial environment; also false if that environment may not be read.
bool was_started_with(unsigned pid, const std::string& variable);

/// NVIDIA MPS (Multi-Process Service): one server process holds the context, and client processes share it.
/// Whether an MPS server may be running. If false, the processes need not be examined.
bool mps_may_run();
bool is_mps_server(unsigned pid);

}  // namespace glint::gpu
