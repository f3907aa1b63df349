// The decentralised admission protocol: enqueue a ticket, wait, claim GPUs, confirm the claim, hold the lease.
//
// There is no scheduler process. Every process applies the same policy to the same published records. Two processes may
// decide at the same time; claims resolve that race. A process publishes its claim before it re-reads the directory
// (write, then read), so of two conflicting claims at least one process sees the other, and the later ticket withdraws.
//
// No lock is held while a process decides. A process that is killed loses its slot lock, and the kernel thereby removes
// its ticket, claim or lease. A process that is stopped (SIGSTOP, debugger) delays others for a bounded time only: its
// ticket is skipped after heartbeat_timeout_s and its claim is ignored after claim_timeout_s.
//
// States of the own record: waiting -> claiming -> holding, or claiming -> waiting when the claim is lost. Each change
// is one write of a whole record (slot.cpp), so a kill between two of them leaves either the old state or the new one,
// and in both cases a record whose owner is dead. The names passed to test_point() mark these places; tests kill and
// stop at each.
// SPDX-License-Identifier: MIT
#include "gpu/lease/broker.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "glint/environment.hpp"
#include "gpu/lease/heartbeat.hpp"
#include "gpu/lease/poll_schedule.hpp"
#include "gpu/lease/queue.hpp"
#include "gpu/lease/wait_message.hpp"
#include "gpu/pool.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

constexpr double min_progress_interval_s = 0.5;
// A smaller change of NVML's "free" wakes nobody: any context takes several times as much.
constexpr std::uint64_t min_change_bytes = std::uint64_t(64) << 20;
constexpr int cuda_no_device = 100, cuda_out_of_memory = 2;

/// One call of admit(): the request, its slot in the directory, and the last view of GPUs and queue. One thread.
class QueuedRequest {
  public:
    // The seed mixes the PID in, because processes started by one script may read the same time.
    QueuedRequest(const Dependencies& dependencies, const LeaseRequest& request)
        : deps_(dependencies),
          request_(request),
          started_ns_(now()),
          schedule_(started_ns_ ^ std::uint64_t(::getpid()) << 32) {}

    /// The main loop: look, claim if the policy says so, else sleep. A request with timeout 0 gets exactly one look.
    ///
    /// Who is far from the front asks only the directory, not NVML. A ticket that finds itself at the head in such a
    /// look has stale NVML data: it looks again, with NVML, before it sleeps.
    Admitted run() {
        observation_ = deps_.probe->observe();
        check_possible();
        if (directory_->why_not().empty())
            enqueue();
        else
            continue_without_directory(directory_->why_not());
        bool ask_nvml = true;
        for (;;) {
            if (request_.stop && request_.stop->load()) abort_with<Cancelled>("stopped while waiting for a GPU");
            // Cleared before the scan, not after: an event that arrives during the scan must still wake the next sleep.
            if (watch_) watch_->clear();
            const bool rescan = evaluate(ask_nvml) || (!ask_nvml && is_head());
            if (decision_.gpus && now() >= no_claim_before_ns_ && try_claim(decision_.gpus)) return admitted();
            // Garbage of this process may hold the lease that this request waits for.
            if (std::exchange(may_relieve_, false) && detail::call_pressure_callbacks()) {
                ask_nvml = true;
                continue;
            }
            if (elapsed() >= request_.timeout_s) throw_timeout();
            report_progress();
            ask_nvml = rescan ? is_near() : wait_for_change();
        }
    }

  private:
    std::uint64_t now() const { return deps_.clock->now_ns(); }
    double since(std::uint64_t then_ns) const { return double(now() - then_ns) / 1e9; }
    double elapsed() const { return since(started_ns_); }
    /// Without a slot, a name that no slot file can have (is_slot_number() is false), so that nothing matches
    /// it.
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

    /// Whether there are enough GPUs; at each look, since one may be lost. Throws NoGpu: a wait would not help.
    void check_usable() const {
        const GpuSet usable = candidates();
        const int count = __builtin_popcountll(usable);
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
                        text(request_.gpus, " GPUs at once were asked for, and this process can use ", count, lost));
    }

    /// Fails early where no wait could help: too few GPUs, or more memory than the largest one has.
    void check_possible() {
        check_usable();
        const GpuSet usable = candidates();
        if (const int most = deps_.rules.max_shares_per_user; most && request_.gpus > most)
            throw OptionError(text(request_.gpus, " GPUs at once were asked for, and GLINT_LEASES_PER_USER=", most));
        // The ticket outside the directory: still_fits() and the case without a directory decide by it. Its passes stay
        // 0, as those are counted from the records of others (queue.cpp).
        ticket_ = {std::uint32_t(::geteuid()), request_.bytes, request_.gpus, usable, 0, started_ns_};
        Snapshot empty;
        std::uint64_t largest = 0;
        for (const ObservedGpu& seen : observation_.gpus) {
            // Reservations and tickets stay empty: the question is what would fit on the idle machine.
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
        slot_ = Slot::take(*directory_, why_not);
        if (!slot_) return continue_without_directory(why_not);
        Record& record = slot_->record;
        // The arrival time is the ticket number. A counter would have to be read before it can be taken, and anyone
        // could drive it to its end by writing a very large number.
        record.arrived_ns = started_ns_;
        record.since_ns = started_ns_;
        record.gpus = std::uint32_t(request_.gpus);
        record.need_bytes = request_.bytes;
        record.expected_ms = std::uint32_t(std::clamp(request_.expected_s * 1e3, 0.0, 4e9));
        deps_.test_point("before ticket");
        if (!publish_waiting())
            continue_without_directory(text("no ticket can be written in ", directory_->path(), " (is it full?)"));
        deps_.test_point("ticket");
    }

    /// Publishes the state `waiting` and the GPUs that would do. False: the record could not be written.
    bool publish_waiting() {
        Record& record = slot_->record;
        record.state = State::waiting;
        record.share_count = 0;
        for (const ObservedGpu& seen : observation_.gpus)
            // Nothing is reserved by a waiting ticket. The shares only say which GPUs would do, for the policy of the
            // others.
            if (can_use(seen) && record.share_count < Record::max_shares)
                record.shares[record.share_count++] = {seen.id, 0, 0};
        return heartbeat();
    }

    /// A waiting ticket without a recent heartbeat counts as stopped, and others overtake it. The record is written
    /// without closing the file, so heartbeats wake nobody: only a close raises IN_CLOSE_WRITE. False: others do not
    /// see the slot.
    bool heartbeat() {
        slot_->record.beat_ns = now();
        return slot_->publish();
    }

    /// Fallback without coordination: NVML alone decides, once. Other processes do not see this lease. Told once, since
    /// the directory may be found unusable again at every look.
    void continue_without_directory(const std::string& why) {
        slot_.reset();
        if (!without_directory_)
            log(text(why, "; leases are not coordinated with other processes: NVML alone says what is free"));
        without_directory_ = true;
    }

    // ---- Observing

    /// Reads the directory, NVML if `ask_nvml`, and applies the policy. Returns true when the inotify watch was changed
    /// by this call: events just before that may be lost, so the caller evaluates again before it sleeps.
    ///
    /// Sets decision_, queue_, scan_ and head_. Falls through to a new slot, or to no directory at all, where the slot
    /// cannot be seen any more; that recursion ends after three replacements.
    bool evaluate(bool ask_nvml) {
        deps_.test_point("look");
        scan_ = {};
        if (!slot_) {
            observation_ = deps_.probe->observe();
            // An empty directory and one ticket, the own: the policy is the same code as with a directory.
            queue_ = queue_of({}, observation_, {}, self(), now(), history_);
            queue_.snapshot.tickets = {ticket_};
            queue_.mine = 0;
        } else {
            if (since(slot_->record.beat_ns) >= heartbeat_interval_s && !heartbeat()) return replace_slot(ask_nvml);
            if (ask_nvml) update_observation(deps_.probe->observe());
            scan_ = directory_->scan();
            if (!scan_.complete) {
                continue_without_directory(
                    text("there are too many files in ", directory_->path(), " to trust it: empty it"));
                return evaluate(true);
            }
            // One scan after the NVML query: a lease that changes in between may be missed. That is safe, because
            // confirm() scans on both sides of the query before anything is taken.
            queue_ = queue_of({}, observation_, scan_, self(), now(), history_);
            if (!queue_.mine) return replace_slot(ask_nvml);
        }
        check_usable();
        // From this look at the GPUs. The published shares are those of the time of enqueuing.
        queue_.snapshot.tickets[*queue_.mine].candidates = candidates();
        const std::vector<Decision> decisions = plan(queue_.snapshot, deps_.rules, *queue_.mine);
        // plan() stops at the own ticket: later ones cannot change what it gets.
        decision_ = decisions.back();
        if (ask_nvml && found_idle_users(decisions)) return true;
        for (std::size_t t = 0; t < decisions.size() && slot_; ++t)
            // Remembered for head_is_polling(), which then reads that one slot instead of the whole directory.
            if (is_head(decisions[t])) head_ = queue_.ticket_names[t];
        circle_ = !circle_message(decision_.gpu, queue_, scan_).empty();
        scanned_at_ns_ = now();
        if (!ask_nvml) decision_.gpus = 0;  // never claim on outdated NVML data
        return narrow_watch();
    }

    /// Whether the tickets of a user before the own one have been able to start for too long.
    bool found_idle_users(const std::vector<Decision>& decisions) {
        std::set<std::uint32_t> startable;
        for (std::size_t t = 0; t + 1 < decisions.size(); ++t)
            if (decisions[t].gpus) startable.insert(queue_.snapshot.tickets[t].uid);
        others_could_start_ = !startable.empty();
        return history_.saw_startable(startable, now());
    }

    /// The slot file was deleted (the owner of the directory can do that). A new slot keeps the arrival time, so the
    /// place in the queue stays the same. At most three times: against somebody who deletes in a loop, NVML alone
    /// remains.
    bool replace_slot(bool ask_nvml) {
        slot_.reset();
        if (!directory_->is_current()) {
            watch_.reset();
            directory_ = std::make_shared<StateDir>(directory_->path());
            waiting_file_ = WaitingFile(*directory_);
        }
        // Who removed this slot has perhaps removed others: their holders' heartbeats come first.
        no_claim_before_ns_ = now() + std::uint64_t(2 * Heartbeat::interval_s * 1e9);
        if (++slot_replacements_ > 3)
            continue_without_directory(text("slots vanish from ", directory_->path()));
        else
            enqueue();
        return evaluate(ask_nvml);
    }

    /// Foreign processes publish nothing, so memory that they free is visible in NVML only. Only the head of the queue
    /// polls NVML; memory_was_freed_ makes it notify the watchers.
    void update_observation(Observation seen) {
        for (std::size_t g = 0; g < seen.gpus.size() && g < observation_.gpus.size(); ++g) {
            const Gpu &is = seen.gpus[g].gpu, &was = observation_.gpus[g].gpu;
            // Each of these can turn one of the policy's obstacles off: memory, exclusive mode, contexts, the
            // contention rule.
            memory_was_freed_ |= is.free_bytes > was.free_bytes + min_change_bytes || is.mode != was.mode ||
                                 is.processes < was.processes || is.utilization_percent + 10 < was.utilization_percent;
        }
        observation_ = std::move(seen);
    }

    /// A ticket that only its user's limit holds back is no head: it cannot run whatever NVML says, and polling in vain
    /// it would keep the polls from those behind it. `place` counts such tickets as absent, so at most one ticket is
    /// the head.
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
        // Does not run below 0: a ticket is far only if `window` tickets of its user come before it
        // (Scheduler::decide).
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
        // Not published: it must not be by a later heartbeat either. Where the file was deleted, the next evaluate() takes
        // another slot.
        if (!heartbeat()) return withdraw();
        // From here on every process that scans counts the claim like a lease. Stopped here, it blocks others for
        // claim_timeout_s at most.
        deps_.test_point("claim");
        if (!confirm(gpus)) return withdraw();
        // A conflicting claim that was published later has this one in its view, and withdraws or waits. Killed here,
        // nothing is taken yet.
        deps_.test_point("confirmed");
        // Admission and state in one write: earlier tickets must not see the lease without counting the overtake.
        slot_->record.state = State::holding;
        record_admission();
        if (!slot_->publish()) {
            forget_admission();
            return withdraw();
        }
        // If this process was stopped since its claim, others may have ignored the claim as stale. The record now says
        // `holding`, which never goes stale, so a last check suffices.
        if (since(claimed_ns) > claim_timeout_s / 2 && !fits(gpus, Claims::all)) {
            forget_admission();
            return withdraw();
        }
        deps_.test_point("holding");
        slot_->notify_watchers();
        granted_ = gpus;
        return true;
    }

    /// Fills in a claim. Each share reserves the need plus one context, as the lease will; held_bytes is 0 until a
    /// context is created. `arrived_ns` stays: between two claims the earlier ticket wins, not the earlier claim.
    void claim(GpuSet gpus, std::uint64_t at_ns) {
        Record& record = slot_->record;
        record.state = State::claiming;
        record.since_ns = at_ns;
        record.share_count = 0;
        for (std::size_t g = 0; g < observation_.gpus.size(); ++g)
            if (gpus >> g & 1) record.shares[record.share_count++] = {observation_.gpus[g].id, to_reserve(g), 0};
    }

    std::uint64_t to_reserve(std::size_t gpu) const { return reserved_bytes(queue_.snapshot, ticket_, gpu); }

    /// Whether the claim holds against every other claim and lease. Waits while only later claims are in conflict.
    ///
    /// Of two tickets that see each other's claim, the later one finds an earlier claim in its way and returns at once,
    /// so the earlier one waits for about one scan. No cycle is possible, because comes_before() is a total order. The
    /// claim of a later process that was stopped is stale after claim_timeout_s and conflicts no more; the limit here
    /// is for a stream of claims.
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
    /// once, never zero times. Replaces observation_ and queue_ by this view. An incomplete scan fits nothing: a lease
    /// among the entries that were not read could be overcommitted.
    bool fits(GpuSet gpus, Claims which) {
        const StateDir::Scan before = directory_->scan();
        observation_ = deps_.probe->observe();
        const StateDir::Scan after = directory_->scan();
        if (!before.complete || !after.complete) return false;
        queue_ = queue_of(before, observation_, after, self(), now(), history_, which);
        return (gpus & ~candidates()) == 0 && claim_covers(gpus) &&
               still_fits(queue_.snapshot, deps_.rules, ticket_, gpus);
    }

    /// Another process may have measured, since our claim, that a context takes more than was assumed. The published
    /// share would then be too small, and later claimants would admit themselves into the difference.
    bool claim_covers(GpuSet gpus) const {
        // Shares are in the order of the GPUs' indices (claim()), so one pointer runs along.
        const Share* share = slot_->record.shares.data();
        for (std::size_t g = 0; g < queue_.snapshot.gpus.size(); ++g)
            if (gpus >> g & 1 && share++->reserved_bytes < to_reserve(g)) return false;
        return true;
    }

    /// Back to `waiting`, with the original arrival time. Always false. The next look comes soon: what was lost to was
    /// either a claim, resolved within milliseconds, or memory that NVML showed wrongly for a moment.
    bool withdraw() {
        deps_.test_point("withdraw");
        slot_->record.since_ns = started_ns_;
        publish_waiting();
        slot_->notify_watchers();  // others may have been blocked by the claim
        schedule_.reset_backoff();
        return false;
    }

    /// By these, tickets that came before this one count how often they were overtaken (starvation limit). They stay in
    /// the file for the slot's next owners, so that an overtake counts even after its process has ended or was killed.
    void record_admission() {
        auto& admissions = slot_->record.admissions;
        std::rotate(admissions.begin(), admissions.end() - 1, admissions.end());
        admissions.front() = {started_ns_, now()};
    }

    /// The lease did not come about: nobody was overtaken.
    void forget_admission() {
        auto& admissions = slot_->record.admissions;
        std::rotate(admissions.begin(), admissions.begin() + 1, admissions.end());
        admissions.back() = {};
    }

    /// Hands over slot, watch and the granted GPUs, with what was reserved there for the context.
    Admitted admitted() {
        Admitted result;
        const Share* share = slot_ ? slot_->record.shares.data() : nullptr;  // in the order of the GPUs, as in claim()
        for (std::size_t g = 0; g < observation_.gpus.size(); ++g)
            if (granted_ >> g & 1) {
                result.gpus.push_back(observation_.gpus[g]);
                result.gpus.back().gpu.context_bytes =
                    (share ? share++->reserved_bytes : to_reserve(g)) - request_.bytes;
            }
        result.watch = std::move(watch_);
        result.driver = observation_.driver;
        result.slot = std::move(slot_);
        result.directory = directory_;
        result.waited_s = elapsed();
        return result;
    }

    // ---- Waiting

    int wake() const { return watch_ ? watch_->descriptor() : -1; }

    /// Whether the head of the queue is alive and polls NVML on behalf of all. While it does, others need not poll. One
    /// file is read, not the directory: this runs in every waiting process, every 4 to 16 s.
    bool head_is_polling() const {
        if (is_head() || others_could_start_ || wake() < 0 || since(scanned_at_ns_) > full_scan_interval_s)
            return false;
        const auto head = directory_->find(head_);
        // The arrival is compared because the slot may have a new owner meanwhile, who stands behind this ticket.
        return head && head->alive && head->record.state == State::waiting && head->record.arrived_ns <= started_ns_ &&
               is_awake(head->record, now());
    }

    /// Sleeps until something may have changed. True: query NVML too. False: read the directory only.
    ///
    /// Three things end the sleep: an event, the poll interval, the request's timeout or stop flag. After a timeout the
    /// request makes one more complete look, with NVML, before it gives up.
    bool wait_for_change() {
        if (slot_ && !watch_) {          // created lazily, since closing a watch takes 15 ms; then evaluate again once
            waiting_file_.show(*slot_);  // before the watch, which would hear of it
            watch_.emplace(directory_->path());
            return true;
        }
        deps_.test_point("sleep");
        // Reached only when the head itself could not use what a foreign process freed: a smaller ticket behind it may.
        if (is_head() && std::exchange(memory_was_freed_, false) && slot_) slot_->notify_watchers();
        do {
            if (wait_for_event(schedule_.next_poll_s(position(), wake() >= 0))) return is_near();
            if ((request_.stop && request_.stop->load()) || elapsed() >= request_.timeout_s) return true;
        } while (head_is_polling());
        return is_head() || others_could_start_ || wake() < 0;
    }

    /// True: an event arrived. False: `seconds` passed, the timeout expired or a stop was requested. Sends heartbeats
    /// and progress reports meanwhile.
    ///
    /// The sleep is cut into slices by whichever is due first. StopFlag has no descriptor to poll on, hence
    /// stop_poll_s().
    bool wait_for_event(double seconds) {
        const double until_s = elapsed() + seconds;
        while (elapsed() < until_s) {
            if ((request_.stop && request_.stop->load()) || elapsed() >= request_.timeout_s) return false;
            double wait_s = std::min(until_s - elapsed(), request_.timeout_s - elapsed());
            if (slot_) wait_s = std::min(wait_s, std::max(0.0, heartbeat_interval_s - since(slot_->record.beat_ns)));
            if (request_.stop) wait_s = std::min(wait_s, stop_poll_s(position()));
            if (request_.on_wait) wait_s = std::min(wait_s, progress_interval_s(position()));
            deps_.clock->wait(wake(), wait_s);
            // The memory of a process that died appears in NVML some time after its file was closed (0.13 s after a
            // kill -9 with 64 GiB), so one look now may find nothing: poll quickly for a while.
            if (watch_ && watch_->clear()) {
                schedule_.reset_backoff();
                return true;
            }
            if (slot_ && since(slot_->record.beat_ns) >= heartbeat_interval_s) {
                heartbeat();
                waiting_file_.show(*slot_);
            }
            report_progress();
        }
        return false;
    }

    std::string wait_reason(bool all_users = false) const {
        return wait_message(queue_, observation_, scan_, ticket_, decision_, now(), all_users);
    }

    void report_progress() {
        // The log gets a line for each new reason; on_wait gets numbers regularly.
        if (decision_.obstacle != last_reported_obstacle_ || (circle_ && !circle_reported_)) {
            last_reported_obstacle_ = decision_.obstacle, circle_reported_ = circle_;
            if (request_.log) log("waiting for a GPU: " + wait_reason());
        }
        if (!request_.on_wait || (progress_reported_ns_ && since(progress_reported_ns_) < min_progress_interval_s))
            return;
        progress_reported_ns_ = now();
        request_.on_wait(elapsed(), decision_.available_bytes, decision_.required_bytes);
    }

    /// Ends the wait. The slot is released first, with the state `absent`: the message is not worth a ticket that lives
    /// on until the exception is destroyed.
    template <class E>
    [[noreturn]] void abort_with(const std::string& words) {
        if (slot_) slot_->release();
        throw E(words);
    }

    /// The message is composed before the slot is released, while queue_ and scan_ still describe the wait.
    [[noreturn]] void throw_timeout() {
        const std::string words =
            text("no GPU had room within ", std::round(request_.timeout_s * 10) / 10, " s: ", wait_reason(true));
        if (slot_) slot_->release();
        throw LeaseTimeout(words, decision_.required_bytes, decision_.available_bytes);
    }

    // None of these is shared between threads: each acquire() has a QueuedRequest of its own.
    const Dependencies& deps_;
    const LeaseRequest& request_;
    std::shared_ptr<const StateDir> directory_ = deps_.directory;  // another one after it was removed
    std::uint64_t started_ns_;
    PollSchedule schedule_;
    Ticket ticket_;
    std::optional<Slot> slot_;
    bool without_directory_ = false;
    int slot_replacements_ = 0;
    WaitingFile waiting_file_{*directory_};
    std::optional<Watch> watch_;
    Observation observation_;
    StateDir::Scan scan_;
    Queue queue_;
    ObserverHistory history_;
    Decision decision_;
    SlotName head_;  // slot of the queue's head, which polls NVML
    std::uint64_t scanned_at_ns_ = 0;
    bool others_could_start_ = false;  // at the last look with NVML, before this one: whether they do is to be seen
    GpuSet granted_ = 0;
    std::uint64_t no_claim_before_ns_ = 0;  // after a removal: until the holders' heartbeats have shown their leases
    bool may_relieve_ = request_.relieve_pressure;
    bool memory_was_freed_ = false;  // by a foreign process: watchers have not been notified yet
    Obstacle last_reported_obstacle_ = Obstacle::none;
    bool circle_ = false, circle_reported_ = false;  // circle_message() has something to say
    std::uint64_t progress_reported_ns_ = 0;
};

}  // namespace

Dependencies machine_dependencies() {
    Dependencies deps;
    deps.directory = std::make_shared<StateDir>(environment::lease_directory());
    deps.probe = std::make_shared<NvmlProbe>();
    // The clock is static: the pointer must not delete it.
    deps.clock = std::shared_ptr<Clock>(&machine_clock(), [](Clock*) {});
    deps.waiters = waiters_of_this_process();
    deps.rules.max_shares_per_user = environment::leases_per_user();
    deps.inherited = environment::inherited_lease();
    return deps;
}

void check(const LeaseRequest& request) {
    // 1 PiB, the bound that readers of records apply too (record.cpp): a larger ticket would be ignored by all others.
    constexpr std::uint64_t max_bytes = std::uint64_t(1) << 50;
    if (request.gpus < 1 || request.gpus > int(Record::max_shares))
        throw OptionError(text("a lease of ", request.gpus, " GPUs was asked for: expected 1 to ", Record::max_shares));
    if (request.bytes == 0 || request.bytes > max_bytes)
        throw OptionError(text("a lease of ", request.bytes,
                               " bytes was asked for: expected more than nothing and no more than a GPU can have"));
}

bool is_eligible(const ObservedGpu& seen, const LeaseRequest& request) {
    return (request.for_child ? seen.usable_by_child : seen.usable) && !seen.lost &&
           std::ranges::find(request.avoid, seen.gpu.uuid) == request.avoid.end();
}

Admitted admit(const Dependencies& dependencies, const LeaseRequest& request) {
    return QueuedRequest(dependencies, request).run();
}

}  // namespace glint::gpu::lease
