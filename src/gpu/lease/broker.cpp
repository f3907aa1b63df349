// The decentralised admission protocol: enqueue a ticket, wait, claim GPUs, confirm the claim, hold the lease.
//
// There is no scheduler process. Every process applies the same policy to the same published records. Two processes may
// decide at the same time; claims resolve that race. A process publishes its claim before it re-reads the directory
// (write, then read), so of two conflicting claims at least one process sees the other, and the later ticket withdraws.
//
// No lock is held while a process decides. A process that is killed loses its slot lock, and the kernel thereby removes
// its ticket, claim or lease. A process that is stopped (SIGSTOP, debugger) delays others for a bounded time only: its
// ticket is skipped after heartbeat_timeout_s and its claim is ignored after claim_timeout_s.
// SPDX-License-Identifier: MIT
#include "gpu/lease/broker.hpp"

#include <algorithm>
#include <cmath>

#include "glint/environment.hpp"
#include "gpu/lease/poll_schedule.hpp"
#include "gpu/lease/queue.hpp"
#include "gpu/lease/wait_message.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

constexpr double min_progress_interval_s = 0.5;
constexpr std::uint64_t min_change_bytes = std::uint64_t(64) << 20;
constexpr int cuda_no_device = 100, cuda_out_of_memory = 2;

/// One call of admit(): the request, its slot in the directory, and the last view of GPUs and queue. One thread.
class QueuedRequest {
  public:
    QueuedRequest(const Dependencies& dependencies, const LeaseRequest& request)
        : deps_(dependencies),
          request_(request),
          started_ns_(now()),
          schedule_(started_ns_ ^ std::uint64_t(::getpid()) << 32) {}

    Admitted run() {
        observation_ = deps_.probe->observe();
        check_possible();
        if (deps_.directory->why_not().empty())
            enqueue();
        else
            continue_without_directory(deps_.directory->why_not());
        bool ask_nvml = true;
        for (;;) {
            if (request_.stop && request_.stop->load()) abort_with<Cancelled>("stopped while waiting for a GPU");
            if (watch_) watch_->clear();
            const bool rescan = evaluate(ask_nvml) || (!ask_nvml && is_head());
            if (decision_.gpus && try_claim(decision_.gpus)) return admitted();
            if (elapsed() >= request_.timeout_s) throw_timeout();
            report_progress();
            ask_nvml = rescan ? is_near() : wait_for_change();
        }
    }

  private:
    std::uint64_t now() const { return deps_.clock->now_ns(); }
    double since(std::uint64_t then_ns) const { return double(now() - then_ns) / 1e9; }
    double elapsed() const { return since(started_ns_); }
    Self self() const {
        return slot_ ? Self{slot_->name(), &slot_->record}
                     : Self{{std::uint32_t(::geteuid()), slots_per_user}, nullptr};
    }
    void log(const std::string& words) const {
        if (request_.log) request_.log(words);
    }

    bool can_use(const ObservedGpu& seen) const { return is_eligible(seen, request_); }

    /// The GPUs that this process can use now. Recomputed, because compute modes may change during the wait.
    GpuSet candidates() const {
        GpuSet usable = 0;
        for (std::size_t g = 0; g < observation_.gpus.size(); ++g)
            if (can_use(observation_.gpus[g])) usable |= GpuSet(1) << g;
        return usable;
    }

    /// Fails early where no wait could help: no usable GPU, too few of them, or more memory than the largest one has.
    void check_possible() {
        const GpuSet usable = candidates();
        const int count = __builtin_popcountll(usable);
        if (count == 0)
            throw NoGpu(cuda_no_device, !observation_.why_none.empty() ? observation_.why_none
                                        : request_.avoid.empty()       ? "no GPU can be used"
                                                                       : "no other GPU can be used");
        if (count < request_.gpus)
            throw NoGpu(cuda_no_device,
                        text(request_.gpus, " GPUs at once were asked for, and this process can use ", count));
        if (const int most = deps_.rules.max_shares_per_user; most && request_.gpus > most)
            throw OptionError(text(request_.gpus, " GPUs at once were asked for, and GLINT_LEASES_PER_USER=", most));
        ticket_ = {std::uint32_t(::geteuid()), request_.bytes, request_.gpus, usable, 0, started_ns_};
        Snapshot empty;
        std::uint64_t largest = 0;
        for (const ObservedGpu& seen : observation_.gpus) {
            empty.gpus.push_back(seen.gpu);
            empty.gpus.back().mode = ComputeMode::shared;  // that may change; the size does not
            if (can_use(seen)) largest = std::max(largest, seen.gpu.total_bytes);
        }
        if (!ever_fits(empty, ticket_))
            throw OutOfMemory(
                cuda_out_of_memory,
                text("a lease of ", bytes_text(request_.bytes), " beyond the context was asked for on ", request_.gpus,
                     request_.gpus > 1 ? " GPUs" : " GPU", "; the largest has ", bytes_text(largest), ": ask for less"),
                request_.bytes, true);
    }

    // ---- The ticket

    /// Takes a slot and publishes a ticket. started_ns_ is kept when a slot is replaced, and so the place in the queue.
    void enqueue() {
        std::string why_not;
        slot_ = Slot::take(*deps_.directory, why_not);
        if (!slot_) return continue_without_directory(why_not);
        Record& record = slot_->record;
        record.arrived_ns = started_ns_;
        record.since_ns = started_ns_;
        record.gpus = std::uint32_t(request_.gpus);
        record.need_bytes = request_.bytes;
        deps_.test_point("before ticket");
        if (!publish_waiting())
            continue_without_directory(text("no ticket can be written in ", deps_.directory->path(), " (is it full?)"));
        deps_.test_point("ticket");
    }

    /// Publishes the state `waiting` and the GPUs that would do. False: the record could not be written.
    bool publish_waiting() {
        Record& record = slot_->record;
        record.state = State::waiting;
        record.share_count = 0;
        for (const ObservedGpu& seen : observation_.gpus)
            if (can_use(seen) && record.share_count < Record::max_shares)
                record.shares[record.share_count++] = {seen.id, 0, 0};
        return heartbeat();
    }

    /// A waiting ticket without a recent heartbeat counts as stopped, and others overtake it.
    bool heartbeat() {
        slot_->record.beat_ns = now();
        return slot_->publish();
    }

    /// Fallback without coordination: NVML alone decides, once. Other processes do not see this lease.
    void continue_without_directory(const std::string& why) {
        slot_.reset();
        if (!without_directory_)
            log(text(why, "; leases are not coordinated with other processes: NVML alone says what is free"));
        without_directory_ = true;
    }

    // ---- Observing

    /// Reads the directory, NVML if `ask_nvml`, and applies the policy. Returns true when the inotify watch was changed
    /// by this call: events just before that may be lost, so the caller evaluates again before it sleeps.
    bool evaluate(bool ask_nvml) {
        deps_.test_point("look");
        scan_ = {};
        if (!slot_) {
            observation_ = deps_.probe->observe();
            queue_ = queue_of({}, observation_, {}, self(), now(), claims_);
            queue_.snapshot.tickets = {ticket_};
            queue_.mine = 0;
        } else {
            if (since(slot_->record.beat_ns) >= heartbeat_interval_s && !heartbeat()) return replace_slot(ask_nvml);
            if (ask_nvml) update_observation(deps_.probe->observe());
            scan_ = deps_.directory->scan();
            if (!scan_.complete) {
                continue_without_directory(
                    text("there are too many files in ", deps_.directory->path(), " to trust it: empty it"));
                return evaluate(true);
            }
            // One scan after the NVML query: a lease that changes in between may be missed. That is safe, because
            // confirm() scans on both sides of the query before anything is taken.
            queue_ = queue_of({}, observation_, scan_, self(), now(), claims_);
            if (!queue_.mine) return replace_slot(ask_nvml);
            queue_.snapshot.tickets[*queue_.mine].candidates = candidates();
        }
        const std::vector<Decision> decisions = plan(queue_.snapshot, deps_.rules, *queue_.mine);
        decision_ = decisions.back();
        for (std::size_t t = 0; t < decisions.size() && slot_; ++t)
            if (is_head(decisions[t])) head_ = queue_.ticket_names[t];
        scanned_at_ns_ = now();
        if (!ask_nvml) decision_.gpus = 0;  // never claim on outdated NVML data
        return narrow_watch();
    }

    /// The slot file was deleted (the owner of the directory can do that). A new slot keeps the arrival time, so the
    /// place in the queue stays the same.
    bool replace_slot(bool ask_nvml) {
        slot_.reset();
        if (++slot_replacements_ > 3)
            continue_without_directory(text("slots vanish from ", deps_.directory->path()));
        else
            enqueue();
        return evaluate(ask_nvml);
    }

    /// Foreign processes publish nothing, so memory that they free is visible in NVML only. Only the head of the queue
    /// polls NVML; memory_was_freed_ makes it notify the watchers.
    void update_observation(Observation seen) {
        for (std::size_t g = 0; g < seen.gpus.size() && g < observation_.gpus.size(); ++g) {
            const Gpu &is = seen.gpus[g].gpu, &was = observation_.gpus[g].gpu;
            memory_was_freed_ |= is.free_bytes > was.free_bytes + min_change_bytes || is.mode != was.mode ||
                                 is.processes < was.processes || is.utilization_percent + 10 < was.utilization_percent;
        }
        observation_ = std::move(seen);
    }

    static bool is_head(const Decision& d) { return d.place == 0 && d.obstacle != Obstacle::user_limit; }
    bool is_head() const { return is_head(decision_); }
    bool is_near() const { return decision_.near; }
    QueuePosition position() const {
        return is_head() ? QueuePosition::head : is_near() ? QueuePosition::near : QueuePosition::far;
    }

    /// Prevents a thundering herd. Tickets near the front watch the whole directory. Every other ticket watches one
    /// slot: that of the ticket `window` places before it among those of its user. So an event wakes a bounded number
    /// of processes of each user, however many wait.
    bool narrow_watch() {
        if (!slot_ || !watch_) return false;
        if (is_near()) return watch_->watch_only("");
        std::size_t at = *queue_.mine;
        for (int before = deps_.rules.window; before > 0;) before -= queue_.ticket_names[--at].uid == slot_->name().uid;
        return watch_->watch_only(queue_.ticket_names[at].text());
    }

    // ---- Claiming

    /// Publishes a claim, confirms it against a fresh view, and turns it into a lease. False: claim withdrawn or lost,
    /// the ticket still waits. Killed before `holding` is published, the process leaves nothing; after it, the lease
    /// ends with the slot's lock.
    bool try_claim(GpuSet gpus) {
        if (!slot_) {
            granted_ = gpus;
            return true;
        }
        const std::uint64_t claimed_ns = now();
        claim(gpus, claimed_ns);
        if (!heartbeat()) return false;  // not published: the next evaluate() replaces the slot
        deps_.test_point("claim");
        if (!confirm(gpus)) return withdraw();
        deps_.test_point("confirmed");
        slot_->record.state = State::holding;
        record_admission();
        if (!slot_->publish()) return withdraw();
        // If this process was stopped since its claim, others may have ignored the claim as stale. The record now says
        // `holding`, which never goes stale, so a last check suffices.
        if (since(claimed_ns) > claim_timeout_s / 2 && !fits(gpus, Claims::all)) return withdraw();
        deps_.test_point("holding");
        slot_->notify_watchers();
        granted_ = gpus;
        return true;
    }

    void claim(GpuSet gpus, std::uint64_t at_ns) {
        Record& record = slot_->record;
        record.state = State::claiming;
        record.since_ns = at_ns;
        record.share_count = 0;
        for (std::size_t g = 0; g < observation_.gpus.size(); ++g)
            if (gpus >> g & 1)
                record.shares[record.share_count++] = {observation_.gpus[g].id,
                                                       request_.bytes + queue_.snapshot.gpus[g].context_bytes, 0};
    }

    /// Whether the claim holds against every other claim and lease. Waits while only later claims are in conflict.
    bool confirm(GpuSet gpus) {
        const std::uint64_t began_ns = now();
        while (!fits(gpus, Claims::all)) {
            // A later claim is either withdrawn as soon as its process sees ours, or was confirmed before ours was
            // published. In the second case it becomes a lease, and ours does not fit.
            if (!queue_.later_claim_exists || !fits(gpus, Claims::of_earlier_tickets)) return false;
            if (since(began_ns) > 2 * claim_timeout_s) return false;
            deps_.clock->wait(-1, 0.001);
        }
        return true;
    }

    /// A scan on each side of the NVML query: memory that moves from "reserved" to "used" during it is counted at least
    /// once, never zero times.
    bool fits(GpuSet gpus, Claims which) {
        const StateDir::Scan before = deps_.directory->scan();
        observation_ = deps_.probe->observe();
        const StateDir::Scan after = deps_.directory->scan();
        if (!before.complete || !after.complete) return false;
        queue_ = queue_of(before, observation_, after, self(), now(), claims_, which);
        return claim_covers(gpus) && still_fits(queue_.snapshot, deps_.rules, ticket_, gpus);
    }

    /// Another process may have measured, since our claim, that a context takes more than was assumed.
    bool claim_covers(GpuSet gpus) const {
        const Share* share = slot_->record.shares.data();
        for (std::size_t g = 0; g < queue_.snapshot.gpus.size(); ++g)
            if (gpus >> g & 1 && share++->reserved_bytes < request_.bytes + queue_.snapshot.gpus[g].context_bytes)
                return false;
        return true;
    }

    /// Back to `waiting`, with the original arrival time. Always false.
    bool withdraw() {
        deps_.test_point("withdraw");
        slot_->record.since_ns = started_ns_;
        publish_waiting();
        slot_->notify_watchers();  // others may have been blocked by the claim
        schedule_.reset_backoff();
        return false;
    }

    /// By these, tickets that came before this one count how often they were overtaken (starvation limit).
    void record_admission() {
        auto& admissions = slot_->record.admissions;
        std::rotate(admissions.begin(), admissions.end() - 1, admissions.end());
        admissions.front() = {started_ns_, now()};
    }

    Admitted admitted() {
        Admitted result;
        for (std::size_t g = 0; g < observation_.gpus.size(); ++g)
            if (granted_ >> g & 1) {
                result.gpus.push_back(observation_.gpus[g]);
                result.gpus.back().gpu = queue_.snapshot.gpus[g];
            }
        result.watch = std::move(watch_);
        result.driver = observation_.driver;
        result.slot = std::move(slot_);
        result.waited_s = elapsed();
        return result;
    }

    // ---- Waiting

    int wake() const { return watch_ ? watch_->descriptor() : -1; }

    /// Whether the head of the queue is alive and polls NVML on behalf of all. While it does, others need not poll.
    bool head_is_polling() const {
        if (is_head() || wake() < 0 || since(scanned_at_ns_) > full_scan_interval_s) return false;
        const auto head = deps_.directory->find(head_);
        return head && head->alive && head->record.state == State::waiting && head->record.arrived_ns <= started_ns_ &&
               is_awake(head->record, now());
    }

    /// Sleeps until something may have changed. True: query NVML too. False: read the directory only.
    bool wait_for_change() {
        if (slot_ && !watch_) {  // created lazily, since closing a watch takes 15 ms; then evaluate again once
            watch_.emplace(deps_.directory->path());
            return true;
        }
        deps_.test_point("sleep");
        if (is_head() && std::exchange(memory_was_freed_, false) && slot_) slot_->notify_watchers();
        do {
            if (wait_for_event(schedule_.next_poll_s(position(), wake() >= 0))) return is_near();
            if ((request_.stop && request_.stop->load()) || elapsed() >= request_.timeout_s) return true;
        } while (head_is_polling());
        return is_head() || wake() < 0;
    }

    /// True: an event arrived. False: `seconds` passed, the timeout expired or a stop was requested. Sends heartbeats
    /// and progress reports meanwhile.
    bool wait_for_event(double seconds) {
        const double until_s = elapsed() + seconds;
        while (elapsed() < until_s) {
            if ((request_.stop && request_.stop->load()) || elapsed() >= request_.timeout_s) return false;
            double wait_s = std::min(until_s - elapsed(), request_.timeout_s - elapsed());
            if (slot_) wait_s = std::min(wait_s, std::max(0.0, heartbeat_interval_s - since(slot_->record.beat_ns)));
            if (request_.stop) wait_s = std::min(wait_s, stop_poll_s(position()));
            if (request_.on_wait) wait_s = std::min(wait_s, progress_interval_s(position()));
            deps_.clock->wait(wake(), wait_s);
            if (watch_ && watch_->clear()) {
                schedule_.reset_backoff();
                return true;
            }
            if (slot_ && since(slot_->record.beat_ns) >= heartbeat_interval_s) heartbeat();
            report_progress();
        }
        return false;
    }

    std::string wait_reason() const { return wait_message(queue_, observation_, scan_, ticket_, decision_, now()); }

    void report_progress() {
        if (decision_.obstacle != last_reported_obstacle_) {
            last_reported_obstacle_ = decision_.obstacle;
            if (request_.log) log("waiting for a GPU: " + wait_reason());
        }
        if (!request_.on_wait || (progress_reported_ns_ && since(progress_reported_ns_) < min_progress_interval_s))
            return;
        progress_reported_ns_ = now();
        request_.on_wait(elapsed(), decision_.available_bytes, decision_.required_bytes);
    }

    template <class E>
    [[noreturn]] void abort_with(const std::string& words) {
        if (slot_) slot_->release();
        throw E(words);
    }

    [[noreturn]] void throw_timeout() {
        const std::string words =
            text("no GPU had room within ", std::round(request_.timeout_s * 10) / 10, " s: ", wait_reason());
        if (slot_) slot_->release();
        throw LeaseTimeout(words, decision_.required_bytes, decision_.available_bytes);
    }

    const Dependencies& deps_;
    const LeaseRequest& request_;
    std::uint64_t started_ns_;
    PollSchedule schedule_;
    Ticket ticket_;
    std::optional<Slot> slot_;
    bool without_directory_ = false;
    int slot_replacements_ = 0;
    std::optional<Watch> watch_;
    Observation observation_;
    StateDir::Scan scan_;
    Queue queue_;
    ClaimMemory claims_;
    Decision decision_;
    SlotName head_;  // slot of the queue's head, which polls NVML
    std::uint64_t scanned_at_ns_ = 0;
    GpuSet granted_ = 0;
    bool memory_was_freed_ = false;  // by a foreign process: watchers have not been notified yet
    Obstacle last_reported_obstacle_ = Obstacle::none;
    std::uint64_t progress_reported_ns_ = 0;
};

}  // namespace

Dependencies machine_dependencies() {
    Dependencies deps;
    deps.directory = std::make_shared<StateDir>(environment::lease_directory());
    deps.probe = std::make_shared<NvmlProbe>();
    deps.clock = std::shared_ptr<Clock>(&machine_clock(), [](Clock*) {});
    deps.rules.max_shares_per_user = environment::leases_per_user();
    deps.inherited = environment::inherited_lease();
    return deps;
}

void check(const LeaseRequest& request) {
    constexpr std::uint64_t max_bytes = std::uint64_t(1) << 50;
    if (request.gpus < 1 || request.gpus > int(Record::max_shares))
        throw OptionError(text("a lease of ", request.gpus, " GPUs was asked for: expected 1 to ", Record::max_shares));
    if (request.bytes == 0 || request.bytes > max_bytes)
        throw OptionError(text("a lease of ", request.bytes,
                               " bytes was asked for: expected more than nothing and no more than a GPU can have"));
}

bool is_eligible(const ObservedGpu& seen, const LeaseRequest& request) {
    return (request.for_child ? seen.usable_by_child : seen.usable) &&
           std::ranges::find(request.avoid, seen.gpu.uuid) == request.avoid.end();
}

Admitted admit(const Dependencies& dependencies, const LeaseRequest& request) {
    return QueuedRequest(dependencies, request).run();
}

}  // namespace glint::gpu::lease
