// Publishes the state of a lease in its slot, and releases it.
// SPDX-License-Identifier: MIT
#include "gpu/lease/lease_state.hpp"

#include <algorithm>
#include <utility>

#include "gpu/lease/context_creation_lock.hpp"
#include "gpu/lease/history.hpp"
#include "gpu/lease/inherited_lease.hpp"
#include "gpu/lease/measure.hpp"
#include "gpu/lease/queue.hpp"
#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

/// Returns the observation of each of these GPUs; null if the GPU is gone, or NVML does not report its free memory.
std::vector<const ObservedGpu*> find(const Observation& observation, const std::vector<GpuId>& ids) {
    std::vector<const ObservedGpu*> found;
    for (const GpuId& id : ids) {
        const auto seen = std::find_if(observation.gpus.begin(), observation.gpus.end(),
                                       [&](const ObservedGpu& gpu) { return gpu.id == id && gpu.free_known; });
        found.push_back(seen == observation.gpus.end() ? nullptr : &*seen);
    }
    return found;
}

/// Acquires a new lease, through the queue.
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
    state->directory = std::move(admitted.directory);
    state->slot = std::move(admitted.slot);
    if (admitted.watch) state->spent_watch.emplace(std::move(*admitted.watch));
    return state;
}

}  // namespace

std::vector<std::shared_ptr<LeasedContext>> LeaseState::open_contexts() {
    const std::lock_guard lock(mutex);
    return contexts;
}

LeaseState::~LeaseState() {
    heartbeat.reset();        // waits for a running heartbeat
    creation_lock.reset();    // while the slot still names the owner of the lock
    if (::getpid() == owner)  // in a forked child, a mutex may be locked by a thread that the child does not have
        for (const auto& context : open_contexts()) context->end_lease();
    if (slot && ::getpid() == owner && slot->record.state == State::holding) note_end(*directory, *slot);
    if (slot) slot->release();
}

void LeaseState::publish() {
    if (::getpid() == owner && !slot->publish()) republish();
}

// The owner of the directory, and logind when a user logs out (RemoveIPC), can delete the slot's file or the directory.
// This hides the lease from other processes.
void LeaseState::republish() {
    std::shared_ptr<const StateDir> where = directory;
    if (!where->is_current()) where = std::make_shared<StateDir>(directory->path());
    if (!where->why_not().empty()) return;
    std::optional<Slot> other = Slot::replace(*where, *slot);
    if (!other) return;
    slot = std::move(other);
    directory = std::move(where);
}

void LeaseState::publish_held(std::size_t device) {
    if (!slot) return;
    std::uint64_t held = told_bytes[device].value_or(0);
    std::uint32_t count = 0;
    for (const auto& context : contexts)
        if (context->device == device) held += context->held_bytes, ++count;
    if (told_bytes[device]) count = std::max(count, 1u);
    Share& share = slot->record.shares[device];
    share.held_bytes = count ? devices[device].context_bytes + std::min(held, bytes) : 0;
    share.more_contexts = count ? count - 1 : 0;
    publish();
}

Lease::CreationLock LeaseState::lock_context_creation(std::size_t device, const LeaseRequest& request,
                                                      double waited_before_s) {
    const LeasedDevice& where = devices.at(device);
    CreationWait wait{.request = request, .waited_s = waited_before_s, .gpu = text(where.uuid, " (", where.name, ")")};
    std::shared_ptr<const StateDir> used;
    {
        const std::lock_guard lock(mutex);
        used = directory;
        if (slot) wait.self = slot->name();
        wait.reserved_bytes = where.context_bytes + bytes;
    }
    return lease::lock_context_creation(*used, ids[device], *clock, wait);
}

void LeaseState::prepare_context(const LeaseRequest& request) {
    if (!request.for_context) return;
    const std::uint64_t began_ns = clock->now_ns();
    auto had = lock_context_creation(0, request, waited_s);
    waited_s += double(clock->now_ns() - began_ns) / 1e9;
    const std::lock_guard lock(mutex);
    creation_lock = std::move(had);
}

std::optional<Lease::CreationLock> LeaseState::take_creation_lock(std::size_t device) {
    const std::lock_guard lock(mutex);
    return device == 0 ? std::exchange(creation_lock, std::nullopt) : std::nullopt;
}

void LeaseState::drop(const LeasedContext& context) noexcept {
    const std::lock_guard lock(mutex);
    std::erase_if(contexts, [&](const auto& one) { return one.get() == &context; });
    publish_held(context.device);
}

std::optional<double> LeaseState::shortest_wait_s() const {
    if (!slot) return {};
    return waiters->shortest_s(directory, since_ns, clock->now_ns(),
                               [&](const Record& other) { return is_wanted_by(other); });
}

bool LeaseState::is_wanted_by(const Record& other) const {
    const Record& own = slot->record;
    if (own.state == State::part_holding)  // only the other processes under the same lease can get the memory
        return other.state == State::part_waiting &&
               is_part_of(other, {own.lease_uid, own.lease_number}, own.lease_occupancy);
    return other.state == State::waiting && std::ranges::any_of(other.used_shares(), [&](const Share& share) {
               return std::ranges::find(ids, share.gpu) != ids.end();
           });
}

std::function<void()> LeaseState::beat() noexcept try {
    const auto open = open_contexts();
    for (const auto& context : open) context->publish();
    std::function<void()> call;
    std::optional<double> shortest_s;
    {
        const std::lock_guard lock(mutex);
        if (!slot) return {};
        if (!slot->is_visible()) republish();
        shortest_s = shortest_wait_s();
        if (shortest_s && on_wanted) call = [call = on_wanted, s = *shortest_s] { call(s); };
    }
    for (const auto& context : open) context->reclaim(shortest_s.has_value());
    return call;
} catch (...) {
    // The GPU was lost, or there is no memory: the next call on the lease throws the error.
    return {};
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
        // NVML may still show bytes that a process has freed already. These bytes must not count both as free and as
        // held.
        const std::uint64_t held = std::min(use.bytes, unexplained);
        changed |= share.held_bytes != held || share.more_contexts != more;
        share.held_bytes = held, share.more_contexts = more;
    }
    if (changed) publish();
}

void LeaseState::learn(std::size_t device, std::uint64_t context_bytes, int max_contexts) {
    const std::lock_guard lock(mutex);
    if (!slot || (!context_bytes && !max_contexts)) return;
    constexpr std::uint64_t mib = std::uint64_t(1) << 20;
    const auto remember = [&](std::uint32_t Known::*what, std::uint64_t value) {
        if (!value) return;
        auto& known = slot->record.known;
        auto entry = std::find_if(known.begin(), known.end(), [&](const Known& k) {
            return k.gpu == ids[device] && k.driver == driver && k.*what;
        });
        if (entry == known.end()) {
            std::rotate(known.begin(), known.end() - 1, known.end());
            entry = known.begin();
        }
        *entry = {ids[device], driver, 0, 0, to_seconds(clock->now_ns())};
        (*entry).*what = std::uint32_t(value);
    };
    remember(&Known::context_mib, (context_bytes + mib - 1) / mib);
    remember(&Known::max_contexts, std::uint64_t(max_contexts));
    publish();
}

Lease acquire_in(const Dependencies& deps, const LeaseRequest& request) {
    auto state = acquire_state(deps, request);
    state->prepare_context(request);
    return Lease(std::move(state));
}

std::unique_ptr<LeaseState> acquire_state(const Dependencies& deps, const LeaseRequest& request) {
    check(request);
    auto state = inherit_lease(deps, request);
    if (!state) state = take(deps, request);
    if (!state->directory) state->directory = deps.directory;
    state->clock = deps.clock;
    state->probe = deps.probe;
    state->waiters = deps.waiters;
    state->since_ns = deps.clock->now_ns();
    state->told_bytes.resize(state->devices.size());
    return state;
}

}  // namespace glint::gpu::lease
