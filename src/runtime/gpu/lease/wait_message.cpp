// Formats the message with the reason why a request waits.
// SPDX-License-Identifier: MIT
#include "gpu/lease/wait_message.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

const char* words_of(Obstacle obstacle) {
    switch (obstacle) {
        case Obstacle::contexts: return "it has as many contexts as it can hold";
        case Obstacle::exclusive: return "its compute mode allows one process at a time, and one is using it";
        case Obstacle::foreign_processes: return "processes without a lease use too much of its memory or keep it busy";
        case Obstacle::user_limit: return "this user's leases have as many GPUs as GLINT_LEASES_PER_USER allows";
        case Obstacle::others_first: return "others came first";
        default: return "";
    }
}

const ScannedSlot* find(const StateDir::Scan& scan, const SlotName& name) {
    const auto slot =
        std::find_if(scan.slots.begin(), scan.slots.end(), [&](const ScannedSlot& s) { return s.name == name; });
    return slot == scan.slots.end() ? nullptr : &*slot;
}

std::string holders_of(int gpu, const Queue& queue, const StateDir::Scan& scan, std::uint64_t now_ns) {
    constexpr int max_named = 4;
    std::string words;
    int count = 0;
    for (std::size_t k = 0; k < queue.snapshot.reservations.size(); ++k) {
        const Reservation& r = queue.snapshot.reservations[k];
        const ScannedSlot* slot = r.gpu == gpu ? find(scan, queue.reservation_names[k]) : nullptr;
        if (!slot || ++count > max_named) continue;
        const double for_s = now_ns > slot->record.since_ns ? double(now_ns - slot->record.since_ns) / 1e9 : 0;
        const bool here = slot->record.pid_namespace == pid_namespace();
        const bool stopped = here && is_stopped(slot->record.pid, r.uid);
        words +=
            text(words.empty() ? "" : ", ", "process ", slot->record.pid, here ? "" : " of another container",
                 " of user ", user_text(r.uid), " (", bytes_text(r.reserved_bytes), ", for ", std::lround(for_s), " s",
                 stopped ? text("; stopped, so it keeps them: kill -CONT ", slot->record.pid, " resumes it") : "", ")");
    }
    if (count > max_named) words += text(" and ", count - max_named, " more");
    return words.empty() ? "no lease is on it" : "leases on it: " + words;
}

/// Returns processes that NVML lists on the GPU and that have no lease there. In a container their pids are invalid.
std::string foreign_on(int gpu, const Queue& queue, const StateDir::Scan& scan, const ObservedGpu& seen) {
    constexpr int max_named = 4;
    if (seen.processes.empty()) return "";
    if (!in_first_pid_namespace())
        return text(seen.processes.size(), " processes, whose users a container does not see");
    std::set<unsigned> leased;
    for (std::size_t k = 0; k < queue.snapshot.reservations.size(); ++k)
        if (queue.snapshot.reservations[k].gpu == gpu)
            if (const ScannedSlot* slot = find(scan, queue.reservation_names[k])) leased.insert(slot->record.pid);
    std::string words;
    int count = 0;
    for (const DeviceProcess& process : seen.processes) {
        if (descends_from(process.pid, leased) || ++count > max_named) continue;
        const std::optional<ProcessInfo> info = process_info(process.pid);
        words +=
            text(words.empty() ? "" : ", ", "process ", process.pid, info ? text(" (", printable(info->name), ")") : "",
                 info ? text(" of user ", user_text(info->uid)) : "",
                 process.used_bytes ? text(" (", bytes_text(process.used_bytes), ")") : "");
    }
    if (count > max_named) words += text(" and ", count - max_named, " more");
    return words.empty() ? "" : "processes without a lease: " + words;
}

/// Returns the processes on the GPUs that the ticket could use.
std::string users_of_all(const Queue& queue, const Observation& observation, const StateDir::Scan& scan,
                         const Ticket& ticket, std::uint64_t now_ns) {
    std::string words;
    for (std::size_t g = 0; g < observation.gpus.size(); ++g) {
        if (!(ticket.candidates >> g & 1)) continue;
        const std::string foreign = foreign_on(int(g), queue, scan, observation.gpus[g]);
        words += text(words.empty() ? "" : "; ", observation.gpus[g].gpu.uuid, ": ",
                      holders_of(int(g), queue, scan, now_ns), foreign.empty() ? "" : ", " + foreign);
    }
    return words;
}

bool same_process(const ScannedSlot& a, const ScannedSlot& b) {
    return a.name.uid == b.name.uid && a.record.pid == b.record.pid && a.record.pid_namespace == b.record.pid_namespace;
}

/// Returns why none of the ticket's GPUs can be used now.
std::string reasons(const Observation& observation, const Ticket& ticket) {
    std::string words;
    for (std::size_t g = 0; g < observation.gpus.size(); ++g) {
        const ObservedGpu& seen = observation.gpus[g];
        const std::string why =
            seen.gpu.mode == ComputeMode::prohibited ? "its compute mode is \"prohibited\"" : seen.nvml_why;
        if (ticket.candidates >> g & 1 && !why.empty()) words += text("; ", seen.gpu.uuid, " (", seen.name, "): ", why);
    }
    return words;
}

}  // namespace

std::string circle_message(int gpu, const Queue& queue, const StateDir::Scan& scan) {
    if (gpu < 0 || !queue.mine || *queue.mine >= queue.ticket_names.size()) return "";  // no slot, so no name
    const ScannedSlot* own = find(scan, queue.ticket_names[*queue.mine]);
    if (!own) return "";
    std::vector<const ScannedSlot*> holders;
    for (std::size_t k = 0; k < queue.snapshot.reservations.size(); ++k)
        if (queue.snapshot.reservations[k].gpu == gpu)
            if (const ScannedSlot* holder = find(scan, queue.reservation_names[k])) holders.push_back(holder);
    if (std::ranges::none_of(holders, [&](const ScannedSlot* holder) { return same_process(*own, *holder); }))
        return "";
    std::string others;
    for (const ScannedSlot* holder : holders) {
        const auto is_its = [&](const SlotName& name) {
            const ScannedSlot* ticket = find(scan, name);
            return ticket && same_process(*ticket, *holder);
        };
        if (std::ranges::none_of(queue.ticket_names, is_its)) return "";  // not waiting, so this lease will end
        if (!same_process(*own, *holder)) others += text(others.empty() ? "" : ", ", holder->record.pid);
    }
    if (others.empty()) return "this process itself holds that lease: release it, or request all GPUs together";
    return text("this process and process ", others, " each hold a lease there and wait for another one: ",
                "each may wait for the other, so release one lease, or request all GPUs together");
}

std::string wait_message(const Queue& queue, const Observation& observation, const StateDir::Scan& scan,
                         const Ticket& ticket, const Decision& decision, std::uint64_t now_ns, bool all_users) {
    if (decision.gpu < 0)
        return text(bytes_text(ticket.need_bytes), " are needed, and no GPU can be used", reasons(observation, ticket));
    const std::string users = all_users ? users_of_all(queue, observation, scan, ticket, now_ns)
                                        : holders_of(decision.gpu, queue, scan, now_ns);
    const std::size_t g = std::size_t(decision.gpu);
    const Gpu& gpu = queue.snapshot.gpus[g];
    const std::string obstacle = words_of(decision.obstacle);
    const std::string circle = circle_message(decision.gpu, queue, scan);
    return text(bytes_text(decision.required_bytes), " with the context are needed",
                ticket.gpus > 1 ? text(" on each of ", ticket.gpus, " GPUs") : "", "; ", gpu.uuid, " (",
                observation.gpus[g].name, ") has ", bytes_text(decision.available_bytes), " of ",
                bytes_text(gpu.total_bytes), " that are neither in use nor reserved",
                obstacle.empty() ? "" : "; " + obstacle, "; ", users, circle.empty() ? "" : "; " + circle,
                observation.gpus[g].nvml_why.empty() ? "" : "; " + observation.gpus[g].nvml_why,
                gpu.processes && !all_users
                    ? text("; NVML counts ", gpu.processes, " processes there, ", bytes_text(gpu.free_bytes), " free")
                    : "",
                decision.place > 0 ? text("; ", decision.place, " requests are ahead of this one") : "");
}

}  // namespace glint::gpu::lease
