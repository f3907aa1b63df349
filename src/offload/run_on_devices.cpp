// Work done by the GPUs of a pool.
//
// Each GPU has a thread. What goes wrong on one costs only what it had begun: that goes back to the workload, for whoever
// asks next. The first thread waits for a GPU as long as it may; the others take what is free, look again now and then,
// and never keep anybody waiting in the queue for leases.
//
// A thread's way: serve() asks the workload again and again whether there is something to do, and makes an attempt, which
// finds a device (find_device), works by it (work), and sorts what that throws. A time-out or the lack of any GPU ends
// the thread (give_up). Any other error of a GPU costs the lease, and is tried again (try_again) unless nothing helps.
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

namespace glint::offload {
namespace {

constexpr int cuda_unknown = 999;
constexpr std::uint64_t pool_slack_bytes = std::uint64_t(64) << 20;  // a memory pool grows by 32 MiB
// A pause doubles with each failure. Waits are cut into slices, after which a thread looks for a stop.
constexpr int max_failures = 8;  // one after the other, though the GPU was not full: it will not do
constexpr double initial_backoff_s = 0.05, max_backoff_s = 2, slice_s = 0.05, retry_interval_s = 0.5;
constexpr double reported_wait_s = 0.1;

/// Others have what this needs: no fault of the GPU, however often it happens. A full GPU refuses a context by 999 too.
bool is_full(const gpu::GpuError& error, bool opening) {
    const auto* memory = dynamic_cast<const gpu::OutOfMemory*>(&error);
    if (opening) return memory || error.code == cuda_unknown;
    return memory && memory->free_bytes > 0 && memory->free_bytes < memory->asked_bytes + pool_slack_bytes;
}

class Runner {
  public:
    Runner(DevicePool& pool, const DeviceRequest& request, Workload& workload, DeviceRun& how)
        : pool_(pool), request_(request), workload_(workload), how_(how) {}
    void run();

  private:
    /// A thread with its device, and what went wrong with that.
    struct Worker {
        bool first;  ///< waits for a device; the others do not
        std::unique_ptr<Device> device = {};
        std::string uuid = {};  ///< also of one that could not be opened
        int failures = 0;
        double backoff_s = initial_backoff_s;
    };

    bool serve(bool first);
    bool attempt(Worker& worker);
    bool find_device(Worker& worker);
    void open_device(Worker& worker);
    gpu::LeaseRequest lease_request();
    std::optional<gpu::Lease> lease_first();
    std::optional<gpu::Lease> lease_further();
    void start_others();
    void work(Worker& worker);
    bool try_again(Worker& worker, const gpu::GpuError& error);
    void pause(Worker& worker);
    bool give_up(std::exception_ptr why);
    void throw_if_stopped() const;
    void report(const std::string& what);
    std::string with_last_failure(const gpu::GpuError& error) const;

    DevicePool& pool_;
    const DeviceRequest& request_;
    Workload& workload_;
    std::vector<std::thread> others_;
    std::atomic<bool> first_worker_ended_{false}, refusal_reported_{false};

    mutable std::mutex mutex_;  // for what follows
    DeviceRun& how_;
    std::exception_ptr error_, failure_;  // that stopped all; of the last device of a thread
    std::string last_failure_;
};

void Runner::run() {
    const bool served = serve(true);
    first_worker_ended_ = true;
    for (std::thread& other : others_) other.join();
    if (error_) std::rethrow_exception(error_);
    how_.finished = workload_.is_finished() && (served || !request_.open_without_work);
    if (how_.finished) return;
    if (failure_ && pool_.held() == 0) pool_.set_why_none(failure_);
    if (request_.strict) std::rethrow_exception(failure_ ? failure_ : pool_.why_none());
}

/// False: it could not.
bool Runner::serve(bool first) {
    Worker worker{first};
    bool able = true;
    try {
        bool begin = first;  // whatever there is to do: request_.open_without_work
        for (; able && (begin || workload_.wait_for_work(request_.stop)); begin = false) able = attempt(worker);
    } catch (...) {
        workload_.close();
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
    }
    pool_.put_back(std::move(worker.device));
    return able;
}

/// False: there is no device for this thread any more.
bool Runner::attempt(Worker& worker) {
    try {
        if (!worker.device && !find_device(worker)) return false;
        if (!worker.device) return true;  // others have finished: the workload says so too
        if (worker.first) start_others();
        work(worker);
        return true;
    } catch (const gpu::LeaseTimeout& timeout) {
        // Not the user's time is up but the one that pays. Later work may be worth a longer wait: no give_up().
        if (request_.worth_waiting_s < request_.timeout_s) {
            report(timeout.what());
            const std::lock_guard lock(mutex_);
            how_.wait_abandoned = true;
            return false;
        }
        const gpu::LeaseTimeout in_all(with_last_failure(timeout), timeout.required_bytes, timeout.available_bytes);
        report(in_all.what());
        return give_up(std::make_exception_ptr(in_all));
    } catch (const gpu::NoGpu& none) {
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
        return try_again(worker, error) || give_up(thrown);
    }
}

/// This thread ends. With the last device gone, the pool is told that none is to be had: work to come does not ask again.
/// Always false.
bool Runner::give_up(std::exception_ptr why) {
    const std::lock_guard lock(mutex_);
    failure_ = why;
    if (pool_.held() == 0) pool_.set_why_none(why);  // else others go on
    return false;
}

void Runner::throw_if_stopped() const {
    if (request_.stop && *request_.stop) throw Cancelled("stopped while waiting for a GPU");
}

/// False: there is none for this thread. True without a device: nothing is left to do.
bool Runner::find_device(Worker& worker) {
    while (!pool_.why_none()) {
        throw_if_stopped();
        if ((worker.device = pool_.take_idle(request_.near))) break;
        const bool pool_has_device = pool_.held() > 0;
        if ((worker.first || pool_has_device) && pool_.may_lease(request_.most)) open_device(worker);
        if (worker.device) break;
        if (worker.first) {
            if (!request_.open_without_work && workload_.wait_for_end(0)) return true;
            pool_.wait(slice_s);
        } else {
            if (!pool_has_device && first_worker_ended_) return false;
            if (workload_.wait_for_end(pool_has_device ? retry_interval_s : slice_s)) return true;
        }
    }
    if (!worker.device) return false;
    worker.uuid = worker.device->uuid;
    return true;
}

void Runner::open_device(Worker& worker) {
    if (request_.require) request_.require();
    std::unique_lock turn = pool_.lock_leasing();
    // What was true before the wait for the turn may not be any more.
    if ((worker.device = pool_.take_idle(request_.near)) || pool_.why_none() || !pool_.may_lease(request_.most)) return;
    const Clock::time_point asked = Clock::now();
    const bool further = pool_.held() > 0;
    if (!worker.first && !further) return;  // it has just been lost: the first thread waits for another
    worker.uuid.clear();
    std::optional<gpu::Lease> lease = further ? lease_further() : lease_first();
    if (!lease) return;
    worker.uuid = lease->devices().front().uuid;
    const double waited_s = lease->waited_s();
    if (waited_s > reported_wait_s)
        report(fmt::format("waited {:.1f} s for {} ({})", waited_s, lease->devices().front().name, worker.uuid));
    worker.device = pool_.open(std::move(*lease), request_.open, std::move(turn));
    {
        const std::lock_guard lock(mutex_);
        how_.opened = true;
    }
    // A further one's time says little: others compute meanwhile.
    if (!further && request_.on_opened) request_.on_opened(*worker.device, seconds_since(asked) - waited_s);
}

gpu::LeaseRequest Runner::lease_request() {
    return {.bytes = request_.bytes,
            .avoid = pool_.excluded_uuids(request_.near),
            .on_wait =
                [this](double elapsed_s, std::uint64_t available, std::uint64_t required) {
                    const std::lock_guard lock(pool_.callback_mutex);
                    if (request_.on_wait) request_.on_wait(elapsed_s, available, required);
                },
            .stop = request_.finished_by_others ? request_.finished_by_others : request_.stop,
            .log = [this](const std::string& words) { report(words); }};
}

std::optional<gpu::Lease> Runner::lease_first() {
    gpu::LeaseRequest wanted = lease_request();
    wanted.timeout_s =
        std::max(0.0, std::min(request_.timeout_s, request_.worth_waiting_s) - seconds_since(workload_.progressed()));
    const Clock::time_point asked = Clock::now();
    const auto note = [&](double seconds) {
        const std::lock_guard lock(mutex_);
        how_.waited_s += seconds;
    };
    try {
        gpu::Lease lease = gpu::acquire(wanted);
        note(lease.waited_s());
        return lease;
    } catch (const Cancelled&) {  // by the user, or by request_.finished_by_others
        note(seconds_since(asked));
        if (workload_.wait_for_end(0) && workload_.is_finished()) return {};
        throw;
    } catch (...) {
        note(seconds_since(asked));
        throw;
    }
}

/// Now or not at all: whoever waits for a first one goes before.
std::optional<gpu::Lease> Runner::lease_further() {
    gpu::LeaseRequest wanted = lease_request();
    wanted.timeout_s = 0;
    if (refusal_reported_) wanted.log = {};
    try {
        return gpu::acquire(wanted);
    } catch (const gpu::GpuError& error) {
        pool_.refused();
        if (!refusal_reported_.exchange(true)) report(fmt::format("no further GPU now: {}", error.what()));
        return {};
    }
}

/// Once there is a first device: before that, further ones would only wait behind it.
void Runner::start_others() {
    if (!others_.empty()) return;
    try {
        for (int k = 1; k < request_.threads; ++k) others_.emplace_back([this] { serve(false); });
    } catch (const std::system_error&) {
        // Fewer threads than wished for: slower, not wrong.
    }
}

void Runner::work(Worker& worker) {
    bool useful = false;
    try {
        request_.work(*worker.device, useful);
    } catch (...) {
        if (useful) worker.failures = 0;
        throw;
    }
    worker.failures = 0;
}

/// Gives the device back, and waits a little where that helps. False: nothing helps.
bool Runner::try_again(Worker& worker, const gpu::GpuError& error) {
    const bool opening = !worker.device;
    const bool limit_was_lowered = !opening && worker.device->limit_was_lowered();
    pool_.discard(std::move(worker.device));
    const bool lost = dynamic_cast<const gpu::DeviceLost*>(&error);  // another may do, without delay
    if (const auto* memory = dynamic_cast<const gpu::OutOfMemory*>(&error); memory && memory->beyond_limit) {
        if (!limit_was_lowered) return false;  // the work needs more than was asked for, on any GPU
    } else if (!lost) {
        if (!is_full(error, opening) && ++worker.failures >= max_failures) {
            pool_.avoid(worker.uuid);
            report(
                fmt::format("{} failed {} times one after the other: not asked again", worker.uuid, worker.failures));
            worker.failures = 0;
        }
        if (seconds_since(workload_.progressed()) >= request_.timeout_s) return false;
        pause(worker);
    }
    const std::lock_guard lock(mutex_);
    ++how_.retries;
    return true;
}

void Runner::pause(Worker& worker) {
    static thread_local std::minstd_rand random{std::random_device()()};
    // Programs that failed at once shall not come back at once.
    const double jitter = std::uniform_real_distribution<>(0.75, 1.25)(random);
    const double max_s = request_.timeout_s - seconds_since(workload_.progressed());
    const double backoff_s = std::min(std::min(worker.backoff_s, max_backoff_s) * jitter, max_s);
    worker.backoff_s *= 2;
    for (const Clock::time_point began = Clock::now(); seconds_since(began) < backoff_s;) {
        throw_if_stopped();
        const double slice = std::max(0.0, std::min(slice_s, backoff_s - seconds_since(began)));
        if (request_.open_without_work)
            std::this_thread::sleep_for(std::chrono::duration<double>(slice));
        else if (workload_.wait_for_end(slice))
            break;
    }
    const std::lock_guard lock(mutex_);
    how_.waited_s += backoff_s;
}

void Runner::report(const std::string& what) {
    const std::lock_guard lock(pool_.callback_mutex);
    if (request_.log) request_.log(what);
}

/// What a device did before there was none any more.
std::string Runner::with_last_failure(const gpu::GpuError& error) const {
    const std::lock_guard lock(mutex_);
    return last_failure_.empty() ? error.what() : fmt::format("{} (before: {})", error.what(), last_failure_);
}

}  // namespace

void run_on_devices(DevicePool& pool, const DeviceRequest& request, Workload& workload, DeviceRun& run) {
    Runner(pool, request, workload, run).run();
}

}  // namespace glint::offload
