// Publishes what a lease has, and gives it back.
// SPDX-License-Identifier: MIT
#include "gpu/lease/lease_state.hpp"

#include <algorithm>

namespace glint::gpu::lease {

LeaseState::~LeaseState() {
    if (slot) slot->give_back();
}

void LeaseState::publish() {
    if (slot->publish() || ::getpid() != owner || slot->kept_for_child()) return;
    // Whoever owns the directory can remove our file, and then nobody sees the lease. The new slot keeps its own past.
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

Lease acquire_in(const Surroundings& around, const LeaseRequest& request) {
    Admitted admitted = admit(around, request);
    auto state = std::make_unique<LeaseState>();
    state->directory = around.directory;
    state->clock = around.clock;
    for (const SeenGpu& seen : admitted.gpus) {
        state->devices.push_back({seen.ordinal, seen.gpu.uuid, seen.name, seen.gpu.context_bytes});
        state->ids.push_back(seen.id);
    }
    state->driver = admitted.driver;
    state->waited_s = admitted.waited_s;
    state->bytes = request.bytes;
    state->slot = std::move(admitted.slot);
    if (admitted.watch) state->spent_watch.emplace(std::move(*admitted.watch));
    return Lease(std::move(state));
}

}  // namespace glint::gpu::lease
