// Checks for processes that hold GPU memory but do not run (zombies, stopped or hidden ones), and for stuck leases and
// context creation locks.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string_view>

#include "gpu/doctor/doctor.hpp"
#include "gpu/lease/context_creation_lock.hpp"
#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::doctor {
namespace {

std::string amount(std::uint64_t bytes) { return bytes ? bytes_text(bytes) : "memory"; }

bool is_holder(const LeaseGpu& gpu, unsigned pid) {
    return std::any_of(gpu.holders.begin(), gpu.holders.end(), [&](const LeaseHolder& holder) {
        return (!holder.elsewhere && holder.pid == pid) ||
               std::ranges::find(holder.kept_by, pid) != holder.kept_by.end();
    });
}
bool is_holder(const LeaseSnapshot& leases, unsigned pid) {
    return std::any_of(leases.gpus.begin(), leases.gpus.end(),
                       [&](const LeaseGpu& gpu) { return is_holder(gpu, pid); });
}

void check(const DeviceProcess& process, const std::string& uuid, bool holder, Findings& findings) {
    const auto say = [&](const std::string& found, const std::string& remedy) {
        findings.push_back({Health::warning, "processes", uuid, found, remedy});
    };
    const auto info = process_info(process.pid);
    if (!info) {
        const bool ended = has_ended(process.pid);
        if (ended && in_first_pid_namespace())
            say(text("process ", process.pid, " has ended and still holds ", amount(process.used_bytes)),
                "check again in a minute; if it stays, reset the GPU when it is not in use, or reboot");
        else if (ended)
            findings.push_back({Health::ok, "processes", uuid,
                                text("process ", process.pid, " of another container, or of the host, holds ",
                                     amount(process.used_bytes)),
                                ""});
        return;
    }
    const std::string who = text("process ", process.pid, " (", info->name, ", user ", info->uid, ")");
    if (info->state == 'Z')
        say(text(who, " is a zombie that holds ", amount(process.used_bytes)),
            text("end its parent, process ", info->parent, ", which has not waited for it"));
    else if (info->state == 'T' && !holder)
        say(text(who, " is stopped and holds ", amount(process.used_bytes)),
            text("resume it (kill -CONT ", process.pid, ") or end it"));
}

/// Returns a text such as "processes that it has started (123 sleep) keep".
std::string left(const LeaseHolder& holder) {
    std::string names;
    for (const unsigned pid : holder.kept_by) {
        const auto info = process_info(pid);
        names += text(names.empty() ? " (" : ", ", pid, info ? " " + info->name : "");
    }
    return text("processes that it has started", names, names.empty() ? "" : ")", " keep");
}

/// Warns if a process holds the context creation lock for longer than creating a context takes, or without a lease of
/// its own or of a parent (`glint lease`).
void check_creator(const LeaseGpu& gpu, Findings& findings) {
    if (gpu.creator_pid == 0) return;
    const std::vector<unsigned> family = lineage(gpu.creator_pid);
    const bool leases = std::any_of(family.begin(), family.end(), [&](unsigned pid) { return is_holder(gpu, pid); });
    const bool long_ago = gpu.creator_since_s > lease::creation_lock_stall_s;
    const auto info = process_info(gpu.creator_pid);
    const std::string found =
        text("process ", gpu.creator_pid, info ? text(" (", info->name, ", user ", info->uid, ")") : "",
             " has the turn to create a context", leases ? "" : " without a lease",
             long_ago ? text(", for ", int(gpu.creator_since_s), " s") : "");
    if (leases && !long_ago)
        findings.push_back({Health::ok, "leases", gpu.uuid, found, ""});
    else
        findings.push_back({Health::warning, "leases", gpu.uuid,
                            text(found, ": others wait for it, for ", lease::creation_lock_timeout_s, " s at most"),
                            info && info->state == 'T' ? text("resume it (kill -CONT ", gpu.creator_pid, ") or end it")
                                                       : "end it, or ask its owner whether it hangs"});
}

/// Reports used memory that no listed process and no lease accounts for, beyond what the driver may use itself.
void check_unseen(const Device& device, const LeaseSnapshot& leases, Findings& findings) {
    constexpr std::uint64_t noticeable = std::uint64_t(2) << 30;
    if (!device.processes.empty() || device.free_bytes == 0) return;
    std::uint64_t unseen = device.total_bytes - std::min(device.total_bytes, device.free_bytes);
    for (const LeaseGpu& gpu : leases.gpus)
        for (const LeaseHolder& holder : gpu.holders)
            if (gpu.uuid == device.uuid) unseen -= std::min(unseen, holder.held_bytes);
    if (unseen > noticeable)
        findings.push_back({Health::warning, "processes", device.uuid,
                            text(bytes_text(unseen), " are used by processes that NVML does not show here"),
                            "normal in a container: look on the host, or start it with --pid=host"});
}

}  // namespace

Findings check_processes(const Inventory& inventory, const LeaseSnapshot& leases) {
    Findings findings;
    int count = 0;
    for (const Device& device : inventory.devices) {
        if (device.instances > 0) continue;  // its instances are checked instead
        count += int(device.processes.size());
        for (const DeviceProcess& process : device.processes)
            check(process, device.uuid, is_holder(leases, process.pid), findings);
        check_unseen(device, leases, findings);
    }
    if (findings.empty())
        findings.push_back(
            {Health::ok, "processes", "", text(count, " use the GPUs, and none is dead or stopped"), ""});
    return findings;
}

Findings check_leases(const LeaseSnapshot& leases) {
    constexpr double long_s = 600;
    Findings findings;
    std::size_t holders = 0;
    for (const LeaseGpu& gpu : leases.gpus) {
        check_creator(gpu, findings);
        for (const LeaseHolder& holder : gpu.holders) {
            ++holders;
            const std::string who = text("the lease of process ", holder.pid, " of user ", holder.uid, " over ",
                                         bytes_text(holder.reserved_bytes));
            if (holder.ended)
                findings.push_back({Health::warning, "leases", gpu.uuid,
                                    who + ": that process has ended, and " + left(holder) + " it",
                                    "end them if they are not needed: the lease ends with the last of them"});
            else if (holder.stopped)
                findings.push_back({Health::warning, "leases", gpu.uuid, who + ": the process is stopped, and keeps it",
                                    text("resume it (kill -CONT ", holder.pid, ") or end it")});
            else if (holder.contexts == 0 && holder.since_s > long_s)
                findings.push_back({Health::warning, "leases", gpu.uuid,
                                    text(who, ": not used for ", int(holder.since_s / 60), " minutes"),
                                    "ask its owner whether it hangs"});
        }
    }
    for (const LeaseWaiter& waiter : leases.waiters)
        if (!waiter.awake)
            findings.push_back({Health::warning, "leases", "",
                                text("process ", waiter.pid, " of user ", waiter.uid,
                                     " waits without a heartbeat (stopped?): it is skipped"),
                                text("resume it (kill -CONT ", waiter.pid, ") or end it")});
    if (std::none_of(findings.begin(), findings.end(), [](const Finding& f) { return f.health != Health::ok; }))
        findings.push_back(
            {Health::ok, "leases", "", text(holders, " held, ", leases.waiters.size(), " waited for"), ""});
    return findings;
}

}  // namespace glint::gpu::doctor
