// snapshot_leases(): holders, waiters and foreign processes, for display.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include "gpu/lease/context_creation_lock.hpp"
#include "gpu/lease/lease_state.hpp"
#include "gpu/lease/queue.hpp"
#include "gpu/process.hpp"

namespace glint::gpu {
namespace lease {
namespace {

double seconds_between(std::uint64_t then_ns, std::uint64_t now_ns) {
    return now_ns > then_ns ? double(now_ns - then_ns) / 1e9 : 0;
}

/// Fills in the data of the process, but no data of a GPU.
LeaseHolder make_holder(const ScannedSlot& slot, const std::string& directory, std::uint64_t now_ns) {
    LeaseHolder holder;
    holder.uid = slot.name.uid, holder.pid = slot.record.pid;
    holder.since_s = seconds_between(slot.record.since_ns, now_ns);
    holder.elsewhere = slot.record.pid_namespace != pid_namespace();
    if (holder.elsewhere) return holder;
    holder.stopped = is_stopped(holder.pid, holder.uid);
    holder.ended = has_ended(holder.pid);
    if (holder.ended) holder.kept_by = writers_of(directory + '/' + slot.name.text());
    return holder;
}

void add_holder(const ScannedSlot& slot, const Observation& observation, const std::string& directory,
                std::uint64_t now_ns, std::vector<LeaseGpu>& gpus) {
    LeaseHolder holder = make_holder(slot, directory, now_ns);
    for (const Share& share : slot.record.used_shares())
        for (std::size_t g = 0; g < gpus.size(); ++g)
            if (observation.gpus[g].id == share.gpu) {
                // At most the amount that the queue accepts (add_reservations).
                holder.reserved_bytes = std::min(share.reserved_bytes, gpus[g].total_bytes);
                holder.held_bytes = std::min(share.held_bytes, gpus[g].total_bytes);
                holder.contexts = share.held_bytes ? 1 + int(share.more_contexts) : 0;
                gpus[g].holders.push_back(holder);
            }
}

std::vector<std::string> candidates_of(const Record& ticket, const Observation& observation) {
    std::vector<std::string> uuids;
    for (const Share& share : ticket.used_shares())
        for (const ObservedGpu& seen : observation.gpus)
            if (seen.id == share.gpu) uuids.push_back(seen.gpu.uuid);
    return uuids;
}

/// Returns the processes that do not descend from a holder. A program under `glint lease` is a child of the holder. The
/// pids of holders in other containers are unknown here, so the result includes the processes of these holders.
std::vector<DeviceProcess> without_holders(const std::vector<DeviceProcess>& processes,
                                           const std::vector<LeaseHolder>& holders) {
    std::set<unsigned> known;
    for (const LeaseHolder& holder : holders) {
        if (!holder.elsewhere && !holder.ended) known.insert(holder.pid);
        known.insert(holder.kept_by.begin(), holder.kept_by.end());
    }
    std::vector<DeviceProcess> left;
    for (const DeviceProcess& process : processes)
        if (!descends_from(process.pid, known)) left.push_back(process);
    return left;
}

void finish(const ObservedGpu& seen, LeaseGpu& gpu) {
    std::uint64_t to_come = 0, held = 0;
    int contexts = 0;
    for (const LeaseHolder& holder : gpu.holders) {
        to_come += holder.reserved_bytes - std::min(holder.reserved_bytes, holder.held_bytes);
        held += holder.held_bytes;
        contexts += holder.contexts;
    }
    // The same estimate as in the queue (estimate_free_from_leases).
    if (!seen.free_known) gpu.free_bytes = std::min(gpu.free_bytes, gpu.total_bytes - std::min(gpu.total_bytes, held));
    gpu.available_bytes = gpu.free_bytes - std::min(gpu.free_bytes, to_come);
    gpu.foreign_count = std::max(0, gpu.processes - contexts);
    if (gpu.foreign_count) gpu.foreign_processes = without_holders(seen.processes, gpu.holders);
}

}  // namespace

LeaseSnapshot snapshot_in(const Dependencies& deps) {
    LeaseSnapshot found;
    found.directory = deps.directory->path();
    found.why_no_directory = deps.directory->why_not();
    const Observation observation = deps.probe->observe();
    found.why_no_gpu = observation.why_none;
    for (const ObservedGpu& seen : observation.gpus) {
        const Gpu& gpu = seen.gpu;
        found.gpus.push_back({.uuid = gpu.uuid,
                              .name = seen.name,
                              .total_bytes = gpu.total_bytes,
                              .free_bytes = gpu.free_bytes,
                              .utilization_percent = gpu.utilization_percent,
                              .processes = gpu.processes});
    }
    const StateDir::Scan scan = deps.directory->scan();
    const std::uint64_t now_ns = deps.clock->now_ns();
    std::vector<const ScannedSlot*> waiting;
    for (const ScannedSlot& slot : scan.slots) {
        if (!slot.alive) continue;
        if (slot.record.state == State::holding) add_holder(slot, observation, found.directory, now_ns, found.gpus);
        if (slot.record.state == State::waiting || slot.record.state == State::claiming) waiting.push_back(&slot);
    }
    for (std::size_t g = 0; g < found.gpus.size(); ++g) {
        finish(observation.gpus[g], found.gpus[g]);
        if (const auto creator = holder_of_context_creation(*deps.directory, observation.gpus[g].id))
            found.gpus[g].creator_pid = creator->pid, found.gpus[g].creator_since_s = creator->since_s;
    }
    std::stable_sort(waiting.begin(), waiting.end(), [](const ScannedSlot* a, const ScannedSlot* b) {
        return a->record.arrived_ns < b->record.arrived_ns;
    });
    for (const ScannedSlot* slot : waiting) {
        const Record& record = slot->record;
        found.waiters.push_back({slot->name.uid, record.pid, record.need_bytes, int(record.gpus),
                                 candidates_of(record, observation), seconds_between(record.arrived_ns, now_ns),
                                 count_passes(record, scan), is_awake(record, now_ns)});
    }
    return found;
}

}  // namespace lease

LeaseSnapshot snapshot_leases() { return lease::snapshot_in(lease::machine_dependencies()); }

}  // namespace glint::gpu
