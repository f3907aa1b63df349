// Evaluates NVML and the state directory for a request.
// SPDX-License-Identifier: MIT
#include "gpu/lease/queue_view.hpp"

#include <algorithm>
#include <set>

#include "gpu/lease/wait_message.hpp"
#include "gpu/pool.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

// A smaller change of NVML's "free" wakes nobody: any context takes several times as much.
constexpr std::uint64_t min_change_bytes = std::uint64_t(64) << 20;
constexpr int cuda_no_device = 100, cuda_out_of_memory = 2;

}  // namespace

bool is_eligible(const ObservedGpu& seen, const LeaseRequest& request) {
    return (request.for_child ? seen.usable_by_child : seen.usable) && !seen.lost &&
           std::ranges::find(request.avoid, seen.gpu.uuid) == request.avoid.end();
}

void QueueView::begin(std::uint64_t arrived_ns) {
    observation_ = probe_.observe();
    check_usable();
    const GpuSet usable = candidates();
    if (const int max_shares = rules_.max_shares_per_user; max_shares && request_.gpus > max_shares)
        throw OptionError(text(request_.gpus, " GPUs were requested together, and GLINT_LEASES_PER_USER=", max_shares));
    // The ticket for evaluations without the directory: still_fits() and the case without a directory use it. Its
    // passes stay 0, because they are counted from other records (queue.cpp).
    ticket_ = {std::uint32_t(::geteuid()), request_.bytes, request_.gpus, usable, 0, arrived_ns};
    Snapshot empty;
    std::uint64_t largest = 0;
    for (const ObservedGpu& seen : observation_.gpus) {
        // Reservations and tickets stay empty, to find out what would fit on the idle machine.
        empty.gpus.push_back(seen.gpu);
        empty.gpus.back().mode = ComputeMode::shared;  // the mode may change; the size does not
        if (can_use(seen)) largest = std::max(largest, seen.gpu.total_bytes);
    }
    if (!ever_fits(empty, ticket_))
        throw OutOfMemory(
            cuda_out_of_memory,
            text("a lease of ", bytes_text(request_.bytes), " beyond the context was requested on ", request_.gpus,
                 request_.gpus > 1 ? " GPUs" : " GPU", "; the largest has ", bytes_text(largest), ": request less"),
            request_.bytes, true);
}

QueueView::Look QueueView::look(const StateDir& directory, bool ask_nvml) {
    scan_ = {};
    if (!own_.has_slot()) {
        observation_ = probe_.observe();
        // An empty directory, and only the request's own ticket: the policy is the same code as with a directory.
        queue_ = make_queue({}, observation_, {}, self(), now(), history_);
        queue_.snapshot.tickets = {ticket_};
        queue_.mine = 0;
        return Look::complete;
    }
    if (ask_nvml) update_observation(probe_.observe());
    scan_ = directory.scan();
    if (!scan_.complete) return Look::too_many_files;
    // One scan after the NVML query may miss a lease that changes in between. That is safe, because fits() scans before
    // and after the query before anything is leased.
    queue_ = make_queue({}, observation_, scan_, self(), now(), history_);
    return queue_.mine ? Look::complete : Look::own_ticket_is_gone;
}

bool QueueView::decide(bool ask_nvml) {
    check_usable();
    // From this query of the GPUs. The published shares are from the time of enqueuing.
    queue_.snapshot.tickets[*queue_.mine].candidates = candidates();
    const std::vector<Decision> decisions = plan(queue_.snapshot, rules_, *queue_.mine);
    // plan() stops at the request's own ticket: later tickets cannot change its result.
    decision_ = decisions.back();
    if (ask_nvml && found_idle_users(decisions)) return false;
    for (std::size_t t = 0; t < decisions.size() && own_.has_slot(); ++t)
        // Stored for head_is_polling(), which then reads that one slot instead of the whole directory.
        if (is_head(decisions[t])) head_ = queue_.ticket_names[t];
    is_circle_ = !circle_message(decision_.gpu, queue_, scan_).empty();
    scanned_at_ns_ = now();
    if (!ask_nvml) decision_.gpus = 0;  // never claim on outdated NVML data
    return true;
}

// An incomplete scan fits nothing: a lease among the entries that were not read could be overcommitted.
bool QueueView::fits(const StateDir& directory, GpuSet gpus, Claims which) {
    const StateDir::Scan before = directory.scan();
    observation_ = probe_.observe();
    const StateDir::Scan after = directory.scan();
    if (!before.complete || !after.complete) return false;
    queue_ = make_queue(before, observation_, after, self(), now(), history_, which);
    return (gpus & ~candidates()) == 0 && claim_covers(gpus) && still_fits(queue_.snapshot, rules_, ticket_, gpus);
}

std::vector<Share> QueueView::make_shares(GpuSet gpus) const {
    std::vector<Share> shares;
    for (std::size_t g = 0; g < observation_.gpus.size(); ++g)
        if (gpus >> g & 1) shares.push_back({observation_.gpus[g].id, to_reserve(g), 0});
    return shares;
}

std::vector<GpuId> QueueView::usable() const {
    std::vector<GpuId> out;
    for (const ObservedGpu& seen : observation_.gpus)
        if (can_use(seen)) out.push_back(seen.id);
    return out;
}

bool QueueView::head_is_polling(const StateDir& directory) const {
    if (is_head() || others_could_start_ || since(scanned_at_ns_) > full_scan_interval_s) return false;
    const auto head = directory.find(head_);
    // The arrival is compared because the slot may have a new owner by now, who is behind this ticket.
    return head && head->alive && head->record.state == State::waiting &&
           head->record.arrived_ns <= ticket_.arrived_ns && is_awake(head->record, now());
}

const SlotName& QueueView::watched_ticket() const {
    // Does not run below 0: a ticket is far only if `window` tickets of its user come before it (Scheduler::decide).
    std::size_t at = *queue_.mine;
    const std::uint32_t user = own_.slot().name().uid;
    for (int before = rules_.window; before > 0;) before -= queue_.ticket_names[--at].uid == user;
    return queue_.ticket_names[at];
}

std::string QueueView::wait_reason(bool all_users) const {
    return wait_message(queue_, observation_, scan_, ticket_, decision_, now(), all_users);
}

/// Without a slot, uses a name that no slot file can have (is_slot_number() is false), so that nothing matches it.
Self QueueView::self() const {
    return own_.has_slot() ? Self{own_.slot().name(), &own_.slot().record}
                           : Self{{std::uint32_t(::geteuid()), slots_per_user}, nullptr};
}

/// Returns the GPUs that this process can use now. They are recomputed, because compute modes may change during the
/// wait.
GpuSet QueueView::candidates() const {
    GpuSet usable = 0;
    for (std::size_t g = 0; g < observation_.gpus.size(); ++g)
        if (can_use(observation_.gpus[g])) usable |= GpuSet(1) << g;
    return usable;
}

/// Checks at each evaluation that there are enough GPUs, since a GPU may be lost. Throws NoGpu if there are too few, as
/// a wait would not help.
void QueueView::check_usable() const {
    const int count = __builtin_popcountll(candidates());
    std::string lost;
    for (const ObservedGpu& seen : observation_.gpus)
        if (seen.lost) lost += text("; ", seen.gpu.uuid, " (", seen.name, "): ", seen.nvml_why);
    if (count == 0)
        throw NoGpu(cuda_no_device, (!observation_.why_none.empty() ? observation_.why_none
                                     : request_.avoid.empty()       ? "no GPU can be used"
                                                                    : "no other GPU can be used") +
                                        lost);
    if (count < request_.gpus)
        throw NoGpu(cuda_no_device,
                    text(request_.gpus, " GPUs were requested together, and this process can use ", count, lost));
}

/// Foreign processes publish nothing, so memory that they free is visible only in NVML. Only the head of the queue
/// polls NVML; memory_was_freed_ makes it notify the watchers.
void QueueView::update_observation(Observation seen) {
    for (std::size_t g = 0; g < seen.gpus.size() && g < observation_.gpus.size(); ++g) {
        const Gpu &is = seen.gpus[g].gpu, &was = observation_.gpus[g].gpu;
        // Each of these changes can remove one of the policy's obstacles: memory, exclusive mode, contexts, the
        // contention rule.
        memory_was_freed_ |= is.free_bytes > was.free_bytes + min_change_bytes || is.mode != was.mode ||
                             is.processes < was.processes || is.utilization_percent + 10 < was.utilization_percent;
    }
    observation_ = std::move(seen);
}

/// Returns true if earlier tickets of a user could have started for too long.
bool QueueView::found_idle_users(const std::vector<Decision>& decisions) {
    std::set<std::uint32_t> startable;
    for (std::size_t t = 0; t + 1 < decisions.size(); ++t)
        if (decisions[t].gpus) startable.insert(queue_.snapshot.tickets[t].uid);
    others_could_start_ = !startable.empty();
    return history_.saw_startable(startable, now());
}

/// Since our claim, another process may have measured that a context takes more than was assumed. The published
/// share would then be too small, and later claimants would be admitted to memory that is not available.
bool QueueView::claim_covers(GpuSet gpus) const {
    // Shares are in the order of the GPUs' indices (make_shares()), so one pointer runs along.
    const Share* share = own_.slot().record.shares.data();
    for (std::size_t g = 0; g < queue_.snapshot.gpus.size(); ++g)
        if (gpus >> g & 1 && share++->reserved_bytes < to_reserve(g)) return false;
    return true;
}

}  // namespace glint::gpu::lease
