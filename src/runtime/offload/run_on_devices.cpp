// Runs a workload on several GPUs with retries.
//
// One thread per GPU draws parts from the shared workload. A failure loses only the parts in progress on that GPU,
// which return to the workload. The first thread waits in the lease queue up to the timeout. The other threads lease
// only GPUs that are free now (timeout 0) and poll, so that a run never has more than one ticket in the queue.
//
// serve() is the loop of a thread; each attempt() finds a device, works, and classifies the exception: a timeout or
// NoGpu ends the thread (give_up); another GPU error releases the lease and is retried with backoff (try_again), up to
// max_failures in a row on one GPU.
//
// Failures are classified by their error:
// - Out of memory on a full GPU, and any refusal of a context (codes 2 and 999 also mean a full GPU), do not count
//   against the GPU. The lease is released and requested again within the time allowed.
// - Any other error counts against the GPU, including a lack of memory while there is room.
// - A sticky error loses the GPU for this process.
//
// Locks: Runner::mutex_ guards the result; DevicePool has its own; DevicePool::callback_mutex serialises callbacks and
// is never taken together with mutex_.
// SPDX-License-Identifier: MIT
#include "offload/run_on_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <random>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "glint/error.hpp"
#include "glint/gpu/error.hpp"
#include "glint/offload/session.hpp"

namespace glint::offload {
namespace {

// Exponential backoff: the pause doubles with each failure. Waits are sliced so that a stop request is noticed.
constexpr int max_failures = 8;  // consecutive failures with memory to spare: the GPU is excluded
constexpr double initial_backoff_s = 0.05, max_backoff_s = 2, slice_s = 0.05, retry_interval_s = 0.5;
// Shorter waits for a lease are not logged.
constexpr double reported_wait_s = 0.1;

bool is_out_of_memory(const std::exception_ptr& failure) {
    try {
        if (failure) std::rethrow_exception(failure);
    } catch (const gpu::OutOfMemory&) {
        return true;
    } catch (...) {
    }
    return false;
}

/// One call of run_on_devices(). The calling thread is the first one, so one GPU needs no further thread.
class Runner {
  public:
    Runner(DevicePool& pool, const DeviceRequest& request, Workload& workload, DeviceRun& result)
        : pool_(pool), request_(request), workload_(workload), result_(result) {}
    void run();

  private:
    /// The state of one thread: its device, and the failures on it.
    struct DeviceThread {
        bool first;  ///< waits in the lease queue; the others do not
        std::unique_ptr<Device> device = {};
        std::string uuid = {};  ///< of the last device, even if opening it failed
        int failures = 0;       ///< in a row on `failed_on`
        std::string failed_on = {};
        double backoff_s = initial_backoff_s;
    };

    bool serve(bool first);
    bool attempt(DeviceThread& mine);
    bool find_device(DeviceThread& mine);
    void open_device(DeviceThread& mine);
    gpu::LeaseRequest lease_request();
    std::optional<gpu::Lease> lease_first();
    std::optional<gpu::Lease> lease_further();
    void start_others();
    void work(DeviceThread& mine);
    void give_way(DeviceThread& mine);
    bool try_again(DeviceThread& mine, const gpu::GpuError& error);
    void pause(DeviceThread& mine);
    bool give_up(std::exception_ptr why);
    void throw_if_stopped() const;
    void report(const std::string& what);
    std::string with_last_failure(const gpu::GpuError& error) const;

    DevicePool& pool_;
    const DeviceRequest& request_;
    Workload& workload_;
    std::vector<std::thread> others_;
    std::atomic<bool> first_thread_ended_{false}, refusal_reported_{false};

    mutable std::mutex mutex_;  // guards what follows
    DeviceRun& result_;
    std::exception_ptr error_, failure_;  // error_: fatal for the run; failure_: of the last device of a thread
    std::string last_failure_;            // message, quoted when no device is left
};

// The other threads are joined before anything is thrown: they use the request, the workload and the caller's
// callbacks. After the join no lock is needed.
void Runner::run() {
    pool_.begin_run(request_.strict);
    const bool served = serve(true);
    first_thread_ended_ = true;
    for (std::thread& other : others_) other.join();
    if (error_) std::rethrow_exception(error_);
    // An empty workload is finished from the start; with open_without_work a device must have been opened as well.
    result_.finished = workload_.is_finished() && (served || !request_.open_without_work);
    if (result_.finished) return;
    // Set again, as in give_up(): at that time, another thread may have had a device that it has lost since.
    if (failure_ && pool_.held() == 0) pool_.set_why_none(failure_, result_.waited_s);
    if (!request_.strict && (process_oom_safe() || !is_out_of_memory(failure_ ? failure_ : pool_.why_none()))) return;
    if (failure_) std::rethrow_exception(failure_);
    if (const std::exception_ptr why = pool_.last_why_none()) std::rethrow_exception(why);
    throw gpu::NoGpu(0, "no GPU was left for this work: other parts of this process use all of them");
}

/// The loop of a thread. Returns false if it ended because it has no device. Exceptions that attempt() does not catch
/// are not errors of a GPU (Cancelled, OptionError, an exception of a callback): they end the run, and closing the
/// workload ends the other threads.
bool Runner::serve(bool first) {
    DeviceThread mine{first};
    bool able = true;
    try {
        bool begin = first;  // the first attempt is made even for an empty workload (open_without_work)
        for (; able && (begin || workload_.wait_for_work(request_.stop)); begin = false) able = attempt(mine);
    } catch (...) {
        workload_.close();
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
    }
    // Also after an exception: the device itself works, and other runs of the pool may wait for it.
    pool_.put_back(std::move(mine.device));
    return able;
}

/// Acquires a device and works on it. Returns false if there is no device for this thread, now or later. The handlers
/// are ordered from special to general; all three exceptions derive from gpu::GpuError.
bool Runner::attempt(DeviceThread& mine) {
    try {
        if (!mine.device && !find_device(mine)) return false;
        if (!mine.device) return true;  // the workload was finished in the meantime
        // Called at each attempt, but only the first call has an effect: others_ belongs to the first thread.
        if (mine.first) start_others();
        work(mine);
        give_way(mine);
        return true;
    } catch (const gpu::LeaseTimeout& timeout) {
        // The limit was not the user's timeout, but the benefit of the GPU. Later work may justify a longer wait: no
        // give_up().
        if (request_.worth_waiting_s < request_.timeout_s) {
            report(timeout.what());
            const std::lock_guard lock(mutex_);
            result_.wait_abandoned = true;
            return false;
        }
        // "No room within 300 s" is misleading if every GPU failed in between: the message includes the last failure,
        // too.
        const gpu::LeaseTimeout in_all(with_last_failure(timeout), timeout.required_bytes, timeout.available_bytes);
        report(in_all.what());
        return give_up(std::make_exception_ptr(in_all));
    } catch (const gpu::NoGpu& none) {
        // No GPU is left because this pool excludes some: the reason is the failure that excluded them.
        const gpu::NoGpu in_all(none.code, pool_.avoids_any() ? with_last_failure(none) : none.what());
        report(in_all.what());
        return give_up(std::make_exception_ptr(in_all));
    } catch (const gpu::GpuError& error) {
        report(error.what());
        const std::exception_ptr thrown = std::current_exception();
        {
            const std::lock_guard lock(mutex_);
            last_failure_ = error.what();
        }
        return try_again(mine, error) || give_up(thrown);
    }
}

/// Ends this thread. If no device is left, marks the pool as unavailable, so that later work does not send requests.
/// Always returns false.
bool Runner::give_up(std::exception_ptr why) {
    const std::lock_guard lock(mutex_);
    failure_ = why;
    if (pool_.held() == 0) pool_.set_why_none(why, result_.waited_s);  // otherwise, other threads continue
    return false;
}

// Called in a pause or between two requests. acquire() and the work poll the flag themselves.
void Runner::throw_if_stopped() const {
    if (request_.stop && *request_.stop) throw Cancelled("stopped while waiting for a GPU");
}

/// Takes an idle device of the pool or leases one. Returns false if there is no device for this thread, and true
/// without a device if no work is left.
///
/// An idle device comes first, because opening another device costs 0.2 s and memory of a shared GPU. The first thread
/// waits as long as a device may become available. Another thread ends as soon as no device is held and the first
/// thread, which could wait for one, has ended.
bool Runner::find_device(DeviceThread& mine) {
    while (!pool_.why_none()) {
        throw_if_stopped();
        if ((mine.device = pool_.take_idle(request_.near))) break;
        const bool pool_has_device = pool_.held() > 0;
        if ((mine.first || pool_has_device) && pool_.may_lease(request_.max)) open_device(mine);
        if (mine.device) break;
        if (mine.first) {
            if (!request_.open_without_work && workload_.wait_for_end(0)) return true;
            // Another run may use devices of the pool; it puts them back or discards them.
            pool_.wait(slice_s);
        } else {
            if (!pool_has_device && first_thread_ended_) return false;
            // A further GPU is requested twice a second. If there is no device, the first thread is about to get one:
            // check sooner.
            if (workload_.wait_for_end(pool_has_device ? retry_interval_s : slice_s)) return true;
        }
    }
    if (!mine.device) return false;
    mine.uuid = mine.device->uuid;
    return true;
}

/// Leases a device and opens it. Leaves mine.device empty if another thread was faster or no GPU is free now.
///
/// One thread at a time requests a lease, and passes the GPUs that the pool holds as GPUs to avoid: two simultaneous
/// requests could get the same GPU. The lock is passed to DevicePool::open(), so contexts of two GPUs are created
/// simultaneously.
void Runner::open_device(DeviceThread& mine) {
    if (request_.require) request_.require();
    std::unique_lock turn = pool_.lock_leasing();
    // Check again: other threads may have leased or lost devices while this one waited for the lock.
    if ((mine.device = pool_.take_idle(request_.near)) || pool_.why_none() || !pool_.may_lease(request_.max)) return;
    const Clock::time_point asked = Clock::now();
    const bool further = pool_.held() > 0;
    if (!mine.first && !further) return;  // the only device was just lost: the first thread has to wait
    // From here on, a failure concerns the GPU that is leased next, not the previous GPU.
    mine.uuid.clear();
    std::optional<gpu::Lease> lease = further ? lease_further() : lease_first();
    if (!lease) return;
    mine.uuid = lease->devices().front().uuid;
    const double waited_s = lease->waited_s();
    if (waited_s > reported_wait_s)
        report(fmt::format("waited {:.1f} s for {} ({})", waited_s, lease->devices().front().name, mine.uuid));
    mine.device = pool_.open(std::move(*lease), request_.open, std::move(turn));
    {
        const std::lock_guard lock(mutex_);
        result_.opened = true;
    }
    // Only the first opening is timed for the cost model: later devices are opened while the first ones compute.
    if (!further && request_.on_opened) request_.on_opened(*mine.device, seconds_since(asked) - waited_s);
}

/// The common part of both kinds of request. The broker polls only one flag: the flag that is set when other threads
/// have finished the work, which is also set on a stop.
gpu::LeaseRequest Runner::lease_request() {
    return {.bytes = request_.bytes,
            .expected_s = request_.expected_s,
            .avoid = pool_.excluded_uuids(request_.near),
            .on_wait =
                [this](double elapsed_s, std::uint64_t available, std::uint64_t required) {
                    const std::lock_guard lock(pool_.callback_mutex);
                    if (request_.on_wait) request_.on_wait(elapsed_s, available, required);
                },
            .for_context = true,
            .stop = request_.finished_by_others ? request_.finished_by_others : request_.stop,
            .log = [this](const std::string& words) { report(words); }};
}

/// Waits in the queue. The time allowed restarts with every finished part, so a long run on a crowded GPU is not cut
/// off, and a run without progress ends. Returns nullopt if other threads have finished the workload in the meantime.
std::optional<gpu::Lease> Runner::lease_first() {
    gpu::LeaseRequest wanted = lease_request();
    wanted.timeout_s =
        std::max(0.0, std::min(request_.timeout_s, request_.worth_waiting_s) - seconds_since(workload_.progressed()));
    const Clock::time_point asked = Clock::now();
    const auto note = [&](double seconds) {
        const std::lock_guard lock(mutex_);
        result_.waited_s += seconds;
    };
    try {
        gpu::Lease lease = gpu::acquire(wanted);
        note(lease.waited_s());
        return lease;
    } catch (const Cancelled&) {  // by the user's stop flag, or by request_.finished_by_others
        // The report includes waits without success.
        note(seconds_since(asked));
        if (workload_.wait_for_end(0) && workload_.is_finished()) return {};
        throw;
    } catch (...) {
        note(seconds_since(asked));
        throw;
    }
}

/// Requests without waiting: requests of other programs for their first device have precedence. So a GPU that becomes
/// free between two requests goes to other programs. A refusal is reported once per run, because the request is
/// repeated twice a second.
std::optional<gpu::Lease> Runner::lease_further() {
    gpu::LeaseRequest wanted = lease_request();
    wanted.timeout_s = 0, wanted.relieve_pressure = false;  // twice a second is too often for a garbage collector
    if (refusal_reported_) wanted.log = {};
    try {
        return gpu::acquire(wanted);
    } catch (const gpu::GpuError& error) {
        pool_.refused();
        if (!refusal_reported_.exchange(true)) report(fmt::format("no further GPU now: {}", error.what()));
        return {};
    }
}

/// Starts the other threads once the first device is open. Before that, they could only wait for it.
void Runner::start_others() {
    if (!others_.empty()) return;
    try {
        for (int k = 1; k < request_.threads; ++k) others_.emplace_back([this] { serve(false); });
    } catch (const std::system_error&) {
        // Fewer threads than requested: slower, but correct.
    }
}

/// Runs the caller's function on the device. A finished part proves the GPU usable, and resets the count of failures
/// and the pause.
void Runner::work(DeviceThread& mine) {
    bool useful = false;
    try {
        request_.work(*mine.device, useful);
    } catch (...) {
        if (useful) mine.failures = 0, mine.backoff_s = initial_backoff_s;
        throw;
    }
    mine.failures = 0, mine.backoff_s = initial_backoff_s;
}

/// Releases the device with its lease if a shorter request waits for it and work is left. This thread then requests
/// another device, behind that request.
void Runner::give_way(DeviceThread& mine) {
    if (!mine.device->should_give_way() || workload_.is_finished()) return;
    report(fmt::format("gave {} ({}) back for a while: a shorter fit waits for it", mine.device->name, mine.uuid));
    pool_.discard(std::move(mine.device));
}

/// Releases the device with its lease, and backs off if that helps. Returns false if a retry would fail again.
///
/// The lease is released before the pause, so that other processes can use the GPU while this thread sleeps. Four
/// cases:
/// - the limit is too small for the work: final, unless the lease was shrunk meanwhile;
/// - the GPU was lost: continues immediately with the next one;
/// - the GPU is full: retries as often as the time allows;
/// - the GPU fails: retries max_failures times.
bool Runner::try_again(DeviceThread& mine, const gpu::GpuError& error) {
    const bool opening = !mine.device;
    // Before discard(), which destroys the device.
    const bool limit_was_lowered = !opening && mine.device->limit_was_lowered();
    pool_.discard(std::move(mine.device));
    const bool lost = dynamic_cast<const gpu::DeviceLost*>(&error);  // try another GPU without delay
    if (const auto* memory = dynamic_cast<const gpu::OutOfMemory*>(&error); memory && memory->beyond_limit) {
        // A lease that was shrunk for other processes (Lease::shrink) is requested again in full, without a pause.
        if (!limit_was_lowered) return false;  // the work needs more than was requested, on any GPU
    } else if (!lost) {
        if (std::exchange(mine.failed_on, mine.uuid) != mine.uuid) mine.failures = 0;
        // Eight failures with growing pauses take about 5 s or more.
        if (!is_full(error, opening) && ++mine.failures >= max_failures) {
            pool_.avoid(mine.uuid);
            report(fmt::format("{} failed {} times in a row: not used again", mine.uuid, mine.failures));
            mine.failures = 0;
        }
        // Checked here as well: lease_first() is not reached while other devices are idle.
        if (seconds_since(workload_.progressed()) >= request_.timeout_s) return false;
        pause(mine);
    }
    const std::lock_guard lock(mutex_);
    ++result_.retries;
    return true;
}

/// Sleeps for the backoff, at most until the timeout. Ends early when other threads have finished the workload.
void Runner::pause(DeviceThread& mine) {
    static thread_local std::minstd_rand random{std::random_device()()};
    // Jitter: programs that failed at the same time must not retry at the same time.
    const double jitter = std::uniform_real_distribution<>(0.75, 1.25)(random);
    const double max_s = request_.timeout_s - seconds_since(workload_.progressed());
    const double backoff_s = std::min(std::min(mine.backoff_s, max_backoff_s) * jitter, max_s);
    mine.backoff_s *= 2;
    for (const Clock::time_point began = Clock::now(); seconds_since(began) < backoff_s;) {
        throw_if_stopped();
        const double slice = std::max(0.0, std::min(slice_s, backoff_s - seconds_since(began)));
        // An empty workload is already finished: wait_for_end() would return immediately, and the retries would spin.
        if (request_.open_without_work)
            std::this_thread::sleep_for(std::chrono::duration<double>(slice));
        else if (workload_.wait_for_end(slice))
            break;
    }
    const std::lock_guard lock(mutex_);
    result_.waited_s += backoff_s;
}

/// Must not be called with mutex_ locked: the caller's callback may take any time or throw.
void Runner::report(const std::string& what) {
    const std::lock_guard lock(pool_.callback_mutex);
    if (request_.log) request_.log(what);
}

/// Returns the message of `error`, preceded by the last failure of a device.
std::string Runner::with_last_failure(const gpu::GpuError& error) const {
    const std::lock_guard lock(mutex_);
    return last_failure_.empty() ? error.what() : fmt::format("{} (before: {})", error.what(), last_failure_);
}

}  // namespace

void run_on_devices(DevicePool& pool, const DeviceRequest& request, Workload& workload, DeviceRun& run) {
    Runner(pool, request, workload, run).run();
}

}  // namespace glint::offload
