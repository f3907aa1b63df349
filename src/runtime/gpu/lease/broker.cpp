// The decentralised admission protocol: enqueue a ticket, wait, claim GPUs, confirm the claim, hold the lease.
//
// There is no scheduler process. Every process applies the same policy to the same published records. Two processes may
// decide at the same time; claims resolve that race. A process publishes its claim before it re-reads the directory
// (write, then read). So if two claims conflict, at least one process sees the other's claim, and the later ticket
// withdraws.
//
// No lock is held while a process decides. If a process is killed, the kernel releases its slot lock, which
// removes its ticket, claim or lease. A process that is stopped (SIGSTOP, debugger) delays others for a bounded time
// only: its ticket is skipped after heartbeat_timeout_s and its claim is ignored after claim_timeout_s.
//
// States of a process's own record: waiting -> claiming -> holding, or claiming -> waiting when the claim is lost. Each
// change is one write of a whole record (slot.cpp). A kill between two writes leaves the old or the new state; in both
// cases the record's owner is dead. The names passed to test_point() mark these places; tests kill and stop the process
// at each of them.
// SPDX-License-Identifier: MIT
#include "gpu/lease/broker.hpp"

#include <cmath>
#include <optional>

#include "glint/environment.hpp"
#include "gpu/lease/heartbeat.hpp"
#include "gpu/lease/own_record.hpp"
#include "gpu/lease/poll_schedule.hpp"
#include "gpu/lease/queue_view.hpp"
#include "gpu/lease/waiting_file.hpp"
#include "gpu/pool.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

constexpr double min_progress_interval_s = 0.5;

/// One call of admit(): evaluates, claims, and waits in between. One thread.
class QueuedRequest {
  public:
    // The seed includes the PID, because processes started by one script may read the same time.
    QueuedRequest(const Dependencies& dependencies, const LeaseRequest& request)
        : deps_(dependencies),
          request_(request),
          started_ns_(now()),
          schedule_(started_ns_ ^ std::uint64_t(::getpid()) << 32) {}

    /// The main loop: evaluate, claim if the policy says so, else sleep. A request with timeout 0 evaluates exactly
    /// once.
    ///
    /// A request far from the front reads only the directory, not NVML. If such a ticket finds itself at the head, its
    /// NVML data are old: it evaluates again, with NVML, before it sleeps.
    Admitted run() {
        view_.begin(started_ns_);
        if (directory_->why_not().empty())
            enqueue();
        else
            continue_without_directory(directory_->why_not());
        bool ask_nvml = true;
        for (;;) {
            if (request_.stop && request_.stop->load()) abort_with<Cancelled>("stopped while waiting for a GPU");
            // Cleared before the scan, not after: an event that arrives during the scan must still wake the next sleep.
            if (watch_) watch_->clear();
            const bool rescan = evaluate(ask_nvml) || (!ask_nvml && view_.is_head());
            const GpuSet gpus = view_.decision().gpus;
            if (gpus && now() >= no_claim_before_ns_ && try_claim(gpus)) return admitted(gpus);
            // Uncollected objects of this process may hold the lease that this request waits for.
            if (std::exchange(may_relieve_, false) && detail::call_pressure_callbacks()) {
                ask_nvml = true;
                continue;
            }
            if (elapsed() >= request_.timeout_s) throw_timeout();
            report_progress();
            ask_nvml = rescan ? view_.is_near() : wait_for_change();
        }
    }

  private:
    std::uint64_t now() const { return deps_.clock->now_ns(); }
    double since(std::uint64_t then_ns) const { return double(now() - then_ns) / 1e9; }
    double elapsed() const { return since(started_ns_); }
    void log(const std::string& words) const {
        if (request_.log) request_.log(words);
    }

    // ---- The ticket

    /// Takes a slot and publishes a ticket. started_ns_, and thus the place in the queue, is kept when a slot is
    /// replaced.
    void enqueue() {
        std::string why_not;
        if (!own_.take(*directory_, why_not)) return continue_without_directory(why_not);
        deps_.test_point("before ticket");
        if (!own_.publish_ticket(view_.usable()))
            continue_without_directory(text("no ticket can be written in ", directory_->path(), " (is it full?)"));
        deps_.test_point("ticket");
    }

    /// Fallback without coordination: NVML alone decides, only once. Other processes do not see this lease. Logged only
    /// once, since every evaluation may find the directory unusable again.
    void continue_without_directory(const std::string& why) {
        own_.drop();
        if (!without_directory_)
            log(text(why, "; leases are not coordinated with other processes: only NVML reports the free memory"));
        without_directory_ = true;
    }

    // ---- Observation

    /// Reads the directory, and NVML if `ask_nvml`, and applies the policy. Returns true if this call changed the
    /// inotify watch: events just before that may be lost, so the caller evaluates again before it sleeps.
    ///
    /// If the slot is no longer visible, continues with a new slot, or without a directory; that recursion ends
    /// after three replacements.
    bool evaluate(bool ask_nvml) {
        deps_.test_point("look");
        if (own_.has_slot() && own_.heartbeat_is_due() && !own_.heartbeat()) return replace_slot(ask_nvml);
        switch (view_.look(*directory_, ask_nvml)) {
            case QueueView::Look::too_many_files:
                continue_without_directory(
                    text("there are too many files in ", directory_->path(), " to trust it: empty it"));
                return evaluate(true);
            case QueueView::Look::own_ticket_is_gone: return replace_slot(ask_nvml);
            case QueueView::Look::complete: break;
        }
        return !view_.decide(ask_nvml) || narrow_watch();
    }

    /// The slot file was deleted (the owner of the directory can do that). A new slot keeps the arrival time, so the
    /// place in the queue stays the same. At most three times: if another process deletes repeatedly, only NVML
    /// remains.
    bool replace_slot(bool ask_nvml) {
        own_.drop();
        if (!directory_->is_current()) {
            watch_.reset();
            directory_ = std::make_shared<StateDir>(directory_->path());
            waiting_file_ = WaitingFile(*directory_);
        }
        // The process that removed this slot may have removed other slots: wait for their holders' heartbeats first.
        no_claim_before_ns_ = now() + std::uint64_t(2 * Heartbeat::interval_s * 1e9);
        if (++slot_replacements_ > 3)
            continue_without_directory(text("slots vanish from ", directory_->path()));
        else
            enqueue();
        return evaluate(ask_nvml);
    }

    /// Prevents a thundering herd. Tickets near the front watch the whole directory. Every other ticket watches one
    /// slot: that of the ticket `window` places before it among its user's tickets. So an event wakes a bounded number
    /// of each user's processes, however many wait.
    bool narrow_watch() {
        if (!own_.has_slot() || !watch_) return false;
        return watch_->watch_only(view_.is_near() ? "" : view_.watched_ticket().text());
    }

    // ---- Claiming

    /// Publishes a claim, confirms it against a fresh view, and turns it into a lease. Returns false if the claim was
    /// withdrawn or lost; the ticket then still waits. If killed before `holding` is published, the process leaves
    /// nothing. If killed later, the lease ends with the slot's lock.
    bool try_claim(GpuSet gpus) {
        if (!own_.has_slot()) return true;
        const std::uint64_t claimed_ns = now();
        // If the claim was not published, a later heartbeat must not publish it either. If the file was deleted, the
        // next evaluate() takes another slot.
        if (!own_.publish_claim(view_.make_shares(gpus), claimed_ns)) return withdraw();
        // From here on every process that scans counts the claim like a lease. If stopped here, this process blocks
        // other processes for at most claim_timeout_s.
        deps_.test_point("claim");
        if (!confirm(gpus)) return withdraw();
        // The process of a conflicting claim that was published later sees this claim, and withdraws or waits. If this
        // process is killed here, nothing is taken yet.
        deps_.test_point("confirmed");
        if (!own_.publish_lease()) {
            own_.forget_admission();
            return withdraw();
        }
        // If this process was stopped since its claim, other processes may have ignored the claim as stale. The record
        // is now `holding`, which never becomes stale, so a last check suffices.
        if (since(claimed_ns) > claim_timeout_s / 2 && !fits(gpus, Claims::all)) {
            own_.forget_admission();
            return withdraw();
        }
        deps_.test_point("holding");
        own_.slot().notify_watchers();
        return true;
    }

    bool fits(GpuSet gpus, Claims which) { return view_.fits(*directory_, gpus, which); }

    /// Returns true if the claim holds against every other claim and lease. Waits while only later claims are in
    /// conflict.
    ///
    /// If two tickets see each other's claim, the later one finds an earlier claim in conflict and returns immediately,
    /// so the earlier one waits for about one scan. No cycle is possible, because comes_before() is a total order. The
    /// claim of a later process that was stopped is stale after claim_timeout_s and is then ignored. The limit here
    /// protects against an endless sequence of claims.
    bool confirm(GpuSet gpus) {
        const std::uint64_t began_ns = now();
        while (!fits(gpus, Claims::all)) {
            // A later claim is either withdrawn as soon as its process sees our claim, or was confirmed before our
            // claim was published. In the second case it becomes a lease, and our request does not fit.
            if (!view_.queue().later_claim_exists || !fits(gpus, Claims::of_earlier_tickets)) return false;
            if (since(began_ns) > 2 * claim_timeout_s) return false;
            deps_.clock->wait(-1, 0.001);
        }
        return true;
    }

    /// Returns to `waiting` with the original arrival time, and always returns false. The next evaluation comes soon:
    /// the conflict was either a claim, resolved within milliseconds, or a momentary error of NVML's free memory.
    bool withdraw() {
        deps_.test_point("withdraw");
        own_.withdraw_claim(view_.usable());
        schedule_.reset_backoff();
        return false;
    }

    /// Returns the slot, the watch and the granted GPUs, with the bytes reserved there for the context.
    Admitted admitted(GpuSet gpus) {
        Admitted result;
        // In the order of the GPUs, as in the claim.
        const std::vector<Share> unpublished = own_.has_slot() ? std::vector<Share>{} : view_.make_shares(gpus);
        const Share* share = own_.has_slot() ? own_.slot().record.shares.data() : unpublished.data();
        const Observation& seen = view_.observation();
        for (std::size_t g = 0; g < seen.gpus.size(); ++g)
            if (gpus >> g & 1) {
                result.gpus.push_back(seen.gpus[g]);
                result.gpus.back().gpu.context_bytes = share++->reserved_bytes - request_.bytes;
            }
        result.watch = std::move(watch_);
        result.driver = seen.driver;
        result.slot = own_.hand_over();
        result.directory = directory_;
        result.waited_s = elapsed();
        return result;
    }

    // ---- Waiting

    int wake() const { return watch_ ? watch_->descriptor() : -1; }

    /// Sleeps until something may have changed. Returns true if NVML must be queried too, and false if reading the
    /// directory suffices.
    ///
    /// Three things end the sleep: an event, the poll interval, the request's timeout or stop flag. After a timeout the
    /// request evaluates completely once more, with NVML, before it gives up.
    bool wait_for_change() {
        if (own_.has_slot() &&
            !watch_) {  // created lazily, since closing a watch takes 15 ms; then evaluate again once
            waiting_file_.show(own_.slot());  // before the watch, which this write would trigger
            watch_.emplace(directory_->path());
            return true;
        }
        deps_.test_point("sleep");
        // Reached only if the head itself could not use the memory that a foreign process freed. A smaller ticket
        // behind it may be able to.
        if (view_.is_head() && view_.take_memory_was_freed() && own_.has_slot()) own_.slot().notify_watchers();
        do {
            if (wait_for_event(schedule_.next_poll_s(view_.position(), wake() >= 0))) return view_.is_near();
            if ((request_.stop && request_.stop->load()) || elapsed() >= request_.timeout_s) return true;
        } while (wake() >= 0 && view_.head_is_polling(*directory_));
        return view_.is_head() || view_.others_could_start() || wake() < 0;
    }

    /// Returns true if an event arrived; false if `seconds` passed, the timeout expired or a stop was requested. Sends
    /// heartbeats and progress reports while it waits.
    ///
    /// The sleep is cut into slices, each until the next due action. StopFlag has no descriptor to poll on, hence
    /// stop_poll_s().
    bool wait_for_event(double seconds) {
        const double until_s = elapsed() + seconds;
        while (elapsed() < until_s) {
            if ((request_.stop && request_.stop->load()) || elapsed() >= request_.timeout_s) return false;
            double wait_s = std::min(until_s - elapsed(), request_.timeout_s - elapsed());
            if (own_.has_slot()) wait_s = std::min(wait_s, std::max(0.0, own_.seconds_to_heartbeat()));
            if (request_.stop) wait_s = std::min(wait_s, stop_poll_s(view_.position()));
            if (request_.on_wait) wait_s = std::min(wait_s, progress_interval_s(view_.position()));
            deps_.clock->wait(wake(), wait_s);
            // The memory of a process that died appears in NVML some time after its file was closed (0.13 s after a
            // kill -9 with 64 GiB), so a single query now may find nothing: poll quickly for a while.
            if (watch_ && watch_->clear()) {
                schedule_.reset_backoff();
                return true;
            }
            if (own_.has_slot() && own_.heartbeat_is_due()) {
                own_.heartbeat();
                waiting_file_.show(own_.slot());
            }
            report_progress();
        }
        return false;
    }

    void report_progress() {
        // The log receives a line for each new reason; on_wait receives numbers regularly.
        const Decision& decision = view_.decision();
        if (decision.obstacle != last_reported_obstacle_ || (view_.is_circle() && !circle_reported_)) {
            last_reported_obstacle_ = decision.obstacle, circle_reported_ = view_.is_circle();
            if (request_.log) log("waiting for a GPU: " + view_.wait_reason());
        }
        if (!request_.on_wait || (progress_reported_ns_ && since(progress_reported_ns_) < min_progress_interval_s))
            return;
        progress_reported_ns_ = now();
        request_.on_wait(elapsed(), decision.available_bytes, decision.required_bytes);
    }

    /// Ends the wait. The slot is released first, with the state `absent`: otherwise the ticket would live until the
    /// exception is destroyed.
    template <class E>
    [[noreturn]] void abort_with(const std::string& words) {
        if (own_.has_slot()) own_.slot().release();
        throw E(words);
    }

    /// The message is composed before the slot is released, while the view still describes the wait.
    [[noreturn]] void throw_timeout() {
        const std::string words =
            text("no GPU had room within ", std::round(request_.timeout_s * 10) / 10, " s: ", view_.wait_reason(true));
        if (own_.has_slot()) own_.slot().release();
        throw LeaseTimeout(words, view_.decision().required_bytes, view_.decision().available_bytes);
    }

    // Not shared between threads: each acquire() has its own QueuedRequest.
    const Dependencies& deps_;
    const LeaseRequest& request_;
    std::shared_ptr<const StateDir> directory_ = deps_.directory;  // a new directory after the old one was removed
    std::uint64_t started_ns_;
    PollSchedule schedule_;
    OwnRecord own_{*deps_.clock, request_, started_ns_};
    QueueView view_{*deps_.probe, *deps_.clock, deps_.rules, request_, own_};
    bool without_directory_ = false;
    int slot_replacements_ = 0;
    WaitingFile waiting_file_{*directory_};
    std::optional<Watch> watch_;
    std::uint64_t no_claim_before_ns_ = 0;  // after a removal: until the holders' heartbeats have shown their leases
    bool may_relieve_ = request_.relieve_pressure;
    Obstacle last_reported_obstacle_ = Obstacle::none;
    bool circle_reported_ = false;
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
    // 1 PiB, the bound of record.cpp for readers of records: other processes would ignore a larger ticket.
    constexpr std::uint64_t max_bytes = std::uint64_t(1) << 50;
    if (request.gpus < 1 || request.gpus > int(Record::max_shares))
        throw OptionError(text("a lease of ", request.gpus, " GPUs was requested: expected 1 to ", Record::max_shares));
    if (request.bytes == 0 || request.bytes > max_bytes)
        throw OptionError(text("a lease of ", request.bytes,
                               " bytes was requested: expected more than 0 and at most the memory of a GPU"));
}

Admitted admit(const Dependencies& dependencies, const LeaseRequest& request) {
    return QueuedRequest(dependencies, request).run();
}

}  // namespace glint::gpu::lease
