// Publishes the state of a lease in its slot, and releases it.
// SPDX-License-Identifier: MIT
#include "gpu/lease/lease_state.hpp"

#include <algorithm>

#include "gpu/lease/child_use.hpp"
#include "gpu/lease/inherited_lease.hpp"
#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

/// The observation of each of these GPUs; null: it is gone, or NVML does not report its free memory.
std::vector<const ObservedGpu*> find(const Observation& observation, const std::vector<GpuId>& ids) {
    std::vector<const ObservedGpu*> found;
    for (const GpuId& id : ids) {
        const auto seen = std::find_if(observation.gpus.begin(), observation.gpus.end(),
                                       [&](const ObservedGpu& gpu) { return gpu.id == id && gpu.free_known; });
        found.push_back(seen == observation.gpus.end() ? nullptr : &*seen);
    }
    return found;
}

/// A new lease, through the queue.
std::unique_ptr<LeaseState> take(const Dependencies& deps, const LeaseRequest& request) {
    Admitted admitted = admit(deps, request);
    auto state = std::make_unique<LeaseState>();
    for (const ObservedGpu& seen : admitted.gpus) {
        state->devices.push_back({seen.ordinal, seen.gpu.uuid, seen.name, seen.gpu.context_bytes});
        state->ids.push_back(seen.id);
    }
    state->driver = admitted.driver;
    state->waited_s = admitted.waited_s;
    state->bytes = request.bytes;
    state->slot = std::move(admitted.slot);
    if (admitted.watch) state->spent_watch.emplace(std::move(*admitted.watch));
    return state;
}

}  // namespace

LeaseState::~LeaseState() {
    if (slot) slot->release();
}

void LeaseState::publish() {
    if (slot->publish() || ::getpid() != owner || slot->kept_for_child()) return;
    // The owner of the directory can delete the slot file, which hides the lease from others. Publish it again in a new
    // slot; that slot keeps its own sequence, occupancy and history.
    std::string why_not;
    auto other = Slot::take(*directory, why_not);
    if (!other) return;
    const Record& lost = slot->record;
    Record& record = other->record;
    record.state = lost.state, record.gpus = lost.gpus, record.need_bytes = lost.need_bytes;
    record.arrived_ns = lost.arrived_ns, record.since_ns = lost.since_ns, record.beat_ns = lost.beat_ns;
    record.share_count = lost.share_count, record.shares = lost.shares;
    if (other->publish()) slot = std::move(other);
}

std::string LeaseState::name() const {
    return slot ? name_of_lease(slot->name(), slot->record.occupancy) : inherited_name;
}

int LeaseState::keep_for_child() {
    if (!slot) return -1;
    const Observation observation = probe->observe();
    const StateDir::Scan scan = directory->scan();
    unexplained_before.clear();
    for (const ObservedGpu* seen : find(observation, ids))
        unexplained_before.push_back(seen ? unexplained_bytes(*seen, scan, slot->name()) : 0);
    return slot->keep_for_child();
}

void LeaseState::publish_held_by(unsigned pid) {
    if (!slot || unexplained_before.empty()) return;
    const std::string mark = text(inherited_variable, "=", name());
    // A reparented descendant (daemon) is recognised by GLINT_LEASE in its environment; one that has overwritten its
    // environment is recognised by its ancestry.
    const auto is_its = [&](unsigned other) {
        const std::vector<unsigned> family = lineage(other);
        return std::find(family.begin(), family.end(), pid) != family.end() || was_started_with(other, mark);
    };
    const Observation observation = probe->observe();
    const StateDir::Scan scan = directory->scan();
    const std::vector<const ObservedGpu*> found = find(observation, ids);
    bool changed = false;
    for (std::size_t k = 0; k < ids.size(); ++k) {
        if (!found[k]) continue;
        Share& share = slot->record.shares[k];
        const std::uint64_t unexplained = unexplained_bytes(*found[k], scan, slot->name());
        const std::uint64_t grown = unexplained - std::min(unexplained, unexplained_before[k]);
        const ChildUse use = use_by_child(*found[k], is_its, std::min(grown, share.reserved_bytes));
        const std::uint32_t more = std::uint32_t(std::max(1, use.contexts) - 1);
        changed |= share.held_bytes != use.bytes || share.more_contexts != more;
        share.held_bytes = use.bytes, share.more_contexts = more;
    }
    if (changed) publish();
}

void LeaseState::learn(std::size_t device, std::uint64_t context_bytes, int most_contexts) {
    const std::lock_guard lock(mutex);
    if (!slot || (!context_bytes && !most_contexts)) return;
    auto& known = slot->record.known;
    auto entry = std::find_if(known.begin(), known.end(),
                              [&](const Known& k) { return k.gpu == ids[device] && k.driver == driver; });
    if (entry == known.end()) {
        std::rotate(known.begin(), known.end() - 1, known.end());
        entry = known.begin();
        *entry = {ids[device], driver, 0, 0, 0};
    }
    constexpr std::uint64_t mib = std::uint64_t(1) << 20;
    if (context_bytes) entry->context_mib = std::uint32_t((context_bytes + mib - 1) / mib);
    if (most_contexts) entry->most_contexts = std::uint32_t(most_contexts);
    publish();
}

Lease acquire_in(const Dependencies& deps, const LeaseRequest& request) {
    check(request);
    auto state = inherit_lease(deps, request);
    if (!state) state = take(deps, request);
    state->directory = deps.directory;
    state->clock = deps.clock;
    state->probe = deps.probe;
    return Lease(std::move(state));
}

}  // namespace glint::gpu::lease
