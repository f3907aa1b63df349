// Looks up the lease that GLINT_LEASE names. The variable is only a key: all data come from the state directory.
// SPDX-License-Identifier: MIT
#include "gpu/lease/inherited_lease.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "glint/environment.hpp"
#include "gpu/lease/queue_view.hpp"
#include "gpu/limit.hpp"
#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

const ScannedSlot* find_lease(const StateDir::Scan& scan, const std::string& name) {
    const auto found = std::find_if(scan.slots.begin(), scan.slots.end(), [&](const ScannedSlot& slot) {
        return slot.alive && (slot.record.state == State::holding || slot.record.state == State::part_holding) &&
               name_of_lease(slot.name, slot.record.occupancy) == name;
    });
    return found == scan.slots.end() ? nullptr : &*found;
}

/// Returns true if the lease belongs to this user, or to another user (for example root) who started this process under
/// it.
bool is_ours(const ScannedSlot& lease) {
    if (lease.name.uid == ::geteuid()) return true;
    const std::vector<unsigned> family = lineage(unsigned(::getpid()));
    return std::ranges::find(family, lease.record.pid) != family.end() && owner_of(lease.record.pid) == lease.name.uid;
}

/// Returns the lease's GPUs that can be used here, the one with the most free memory first.
std::vector<PartGpu> find_offers(const Record& lease, const Observation& observation, const LeaseRequest& request) {
    std::vector<PartGpu> offers;
    for (const Share& share : lease.used_shares())
        for (const ObservedGpu& seen : observation.gpus)
            if (seen.id == share.gpu && is_eligible(seen, request))
                offers.push_back({seen, share.reserved_bytes - std::min(share.reserved_bytes, lease.need_bytes)});
    std::stable_sort(offers.begin(), offers.end(),
                     [](const PartGpu& a, const PartGpu& b) { return a.gpu.gpu.free_bytes > b.gpu.gpu.free_bytes; });
    return offers;
}

}  // namespace

std::string name_of_lease(const SlotName& slot, std::uint32_t occupancy) { return text(slot.text(), ':', occupancy); }

std::unique_ptr<LeaseState> inherit_lease(const Dependencies& deps, const LeaseRequest& request) {
    if (deps.inherited.empty()) return nullptr;
    const auto refuse = [&](const char* why) {
        if (request.log)
            request.log(
                text(inherited_variable, "=", deps.inherited, ": ", why, "; this process requests a separate lease"));
        return nullptr;
    };
    const StateDir::Scan scan = deps.directory->scan();
    const ScannedSlot* lease = find_lease(scan, deps.inherited);
    if (!lease) return refuse("that lease has ended");
    if (!is_ours(*lease)) return refuse("that lease is another user's, who did not start this process");
    const Observation observation = deps.probe->observe();
    const std::vector<PartGpu> offers = find_offers(lease->record, observation, request);
    if (offers.empty()) return refuse("none of that lease's GPUs can be used here (CUDA_VISIBLE_DEVICES was changed?)");
    if (int(offers.size()) < request.gpus)
        throw NoGpu(100,
                    text(request.gpus, " GPUs were requested together, and the lease that this process runs under has ",
                         offers.size(), ": request fewer, or a larger lease with `lease_gpus`"));
    LeasePart part = admit_part(deps, request, *lease, offers);
    auto state = std::make_unique<LeaseState>();
    for (const PartGpu& offer : part.gpus) {
        const ObservedGpu& seen = offer.gpu;
        state->devices.push_back({seen.ordinal, seen.gpu.uuid, seen.name, offer.context_bytes});
        state->ids.push_back(seen.id);
    }
    state->driver = observation.driver;
    state->waited_s = part.waited_s;
    state->bytes = std::min(request.bytes, lease->record.need_bytes);
    state->directory = deps.directory;
    state->slot = std::move(part.slot);
    state->inherited_name = deps.inherited;
    return state;
}

std::vector<std::pair<std::string, std::string>> child_environment(const LeaseState& state) {
    std::string visible;
    std::uint64_t limit = state.bytes;
    const Observation observation = state.probe->observe();
    for (const LeasedDevice& device : state.devices) {
        visible += (visible.empty() ? "" : ",") + device.uuid;
        for (const ObservedGpu& seen : observation.gpus)
            if (seen.gpu.uuid == device.uuid)
                limit = smaller_limit(limit, environment::gpu_memory_limit_bytes(seen.gpu.total_bytes));
    }
    std::vector<std::pair<std::string, std::string>> variables{{"CUDA_VISIBLE_DEVICES", visible},
                                                               {"GLINT_GPU_MEMORY_LIMIT", std::to_string(limit)}};
    if (const std::string name = state.name(); !name.empty()) {
        variables.emplace_back("GLINT_LEASE_DIR", std::filesystem::absolute(state.directory->path()).string());
        variables.emplace_back(inherited_variable, name);
    }
    return variables;
}

}  // namespace glint::gpu::lease
