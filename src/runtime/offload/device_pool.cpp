// The pool of leased and opened GPUs. mutex_ guards its lists and is never held while a device is opened or destroyed.
//
// A device is in one of three states: in idle_, with the thread that took it, or being opened. held_ contains the UUIDs
// of all devices, from open() until the lease has ended. Between the grant of a lease and open(), the caller holds
// leasing_. Order of the locks: leasing_ before mutex_.
// SPDX-License-Identifier: MIT
#include "offload/device_pool.hpp"

#include <algorithm>
#include <utility>

#include "glint/environment.hpp"
#include "glint/gpu/device.hpp"

namespace glint::offload {
namespace {

// The interval at which the head of the lease queue polls NVML; a refused request reads the whole lease directory.
constexpr std::chrono::milliseconds lease_retry_interval{500};
// A caller that continues immediately leaves a device idle for less than this between two calls.
constexpr std::chrono::seconds wanted_after{1};

constexpr int cuda_device_unavailable = 46, cuda_unknown = 999;
constexpr std::uint64_t pool_slack_bytes = std::uint64_t(64) << 20;  // a memory pool grows by 32 MiB

}  // namespace

// Creating a context on a full GPU may also fail with CUDA_ERROR_UNKNOWN, or, if the compute mode allows one process,
// with CUDA_ERROR_DEVICE_UNAVAILABLE.
bool is_full(const gpu::GpuError& error, bool opening) {
    const auto* memory = dynamic_cast<const gpu::OutOfMemory*>(&error);
    if (opening) return memory || error.code == cuda_unknown || error.code == cuda_device_unavailable;
    return memory && memory->free_bytes > 0 && memory->free_bytes < memory->asked_bytes + pool_slack_bytes;
}

Device::Device(const gpu::Lease& lease) : name(lease.devices().front().name), uuid(lease.devices().front().uuid) {}

bool Device::should_give_way() const {
    constexpr std::chrono::seconds still_waits(2);
    const Time seen = shorter_waited ? shorter_waited->load() : Time();
    return seen != Time() && std::chrono::steady_clock::now() - seen < still_waits;
}

// `near` holds the input: another GPU would have to copy it first. That is still better than waiting for that GPU.
std::unique_ptr<Device> DevicePool::take_idle(const std::string& near) {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    auto chosen = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return idle.device->uuid == near; });
    if (chosen == idle_.end()) chosen = idle_.begin();  // round robin: put_back() appends
    std::unique_ptr<Device> device = std::move(chosen->device);
    idle_.erase(chosen);
    return device;
}

// The lease is kept, since opening takes 0.2 s or more, and the next work comes soon. One device is put back, so one
// waiter is woken.
void DevicePool::put_back(std::unique_ptr<Device> device) {
    if (!device) return;
    const std::lock_guard lock(mutex_);
    idle_.push_back({std::move(device), std::chrono::steady_clock::now()});
    changed_.notify_one();
}

// Blocks until the device's memory is freed and its context released, outside mutex_: other threads continue meanwhile.
DevicePool::~DevicePool() {
    std::deque<Idle> idle;  // destroyed last, while the heartbeats can still lock the pool's mutex
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
        idle.swap(idle_);
    }
    const std::lock_guard last(giving_back_);
}

// Called by the heartbeat of a lease. Its thread destroys the devices, including the one of this lease. The destructor
// waits for this call. Each device that the destructor destroys then waits for its own heartbeat, which finds closing_
// set.
void DevicePool::give_back_idle(const std::string& uuid) {
    std::unique_lock lock(mutex_);
    if (closing_) return;
    const std::unique_lock giving_back(giving_back_, std::try_to_lock);
    if (!giving_back) return;
    const auto now = std::chrono::steady_clock::now();
    const auto found = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) {
        return idle.device->uuid == uuid && now - idle.since >= wanted_after;
    });
    if (found == idle_.end()) return;
    std::unique_ptr<Device> wanted = std::move(found->device);
    idle_.erase(found);
    lock.unlock();
    discard(std::move(wanted));
}

void DevicePool::discard(std::unique_ptr<Device> device) {
    if (!device) return;
    const std::string uuid = device->uuid;
    device.reset();  // before forget(): a thread that it wakes may immediately lease the same GPU
    forget(uuid);
}

// Wakes all waiters: threads that wait for a device to be put back, and threads that may lease now.
void DevicePool::forget(const std::string& uuid) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find(held_.begin(), held_.end(), uuid);
    if (found != held_.end()) held_.erase(found);
    next_lease_attempt_ = {};  // a GPU was released, so a new attempt makes sense now
    changed_.notify_all();
}

// May return early or without a result (a spurious wake-up, a device that another thread took first). Callers loop.
void DevicePool::wait(double seconds) {
    std::unique_lock lock(mutex_);
    if (idle_.empty()) changed_.wait_for(lock, std::chrono::duration<double>(seconds));
}

// The first device is always requested, regardless of refusals: its request waits in the queue instead of polling.
bool DevicePool::may_lease(int max_devices) const {
    const std::lock_guard lock(mutex_);
    return held_.empty() ||
           (int(held_.size()) < max_devices && std::chrono::steady_clock::now() >= next_lease_attempt_);
}

// Applies to all threads of the pool, not only to the refused thread: each would get the same answer.
void DevicePool::refused() {
    const std::lock_guard lock(mutex_);
    next_lease_attempt_ = std::chrono::steady_clock::now() + lease_retry_interval;
}

// Two GPUs may be opened at the same time, but one GPU is not leased twice: `turn` is released once held_ contains this
// GPU. (The lease ensures that contexts on one GPU are created one after the other.)
std::unique_ptr<Device> DevicePool::open(gpu::Lease lease, const OpenDevice& open, std::unique_lock<std::mutex> turn) {
    const std::string uuid = lease.devices().front().uuid;
    const double quantum_s = environment::gpu_quantum_s();  // throws if it is not a number: before any state changes
    {
        const std::lock_guard lock(mutex_);
        // Also while it is being opened, so that `max_devices` includes devices that are being opened.
        held_.push_back(uuid);  // before the lease lock is released: no other thread leases this GPU too
    }
    if (turn) turn.unlock();
    const auto shorter_waited = std::make_shared<std::atomic<Device::Time>>();
    const auto opened = std::chrono::steady_clock::now();
    lease.on_wanted([=, this](double shortest_s) {
        const auto now = std::chrono::steady_clock::now();
        if (std::chrono::duration<double>(now - opened).count() >= quantum_s && shortest_s < quantum_s)
            *shorter_waited = now;
        give_back_idle(uuid);
    });
    try {
        std::unique_ptr<Device> device = open(std::move(lease));
        // Before any work can lower it: limit_was_lowered() compares with this value.
        device->limit_bytes = device->context().statistics().limit_bytes;
        device->shorter_waited = shorter_waited;
        const std::lock_guard lock(mutex_);
        ask_pause_ = min_ask_pause;
        return device;
    } catch (...) {
        // The lease was moved into open(), whose exception has destroyed it already.
        forget(uuid);
        throw;
    }
}

// A snapshot that other threads may change immediately. Callers use it as a hint, or under lock_leasing().
int DevicePool::held() const {
    const std::lock_guard lock(mutex_);
    return int(held_.size());
}

// For the life of the pool: a GPU that fails eight times in a row is not expected to recover.
void DevicePool::avoid(const std::string& uuid) {
    const std::lock_guard lock(mutex_);
    avoid_.push_back(uuid);
}

// Whether exclusions by this pool may be the cause of "no GPU".
bool DevicePool::avoids_any() const {
    const std::lock_guard lock(mutex_);
    return !avoid_.empty();
}

std::vector<std::string> DevicePool::excluded_uuids(const std::string& near) const {
    // inventory() queries NVML and CUDA, which takes milliseconds: before the mutex is locked.
    std::vector<std::string> all;
    if (!near.empty())
        for (const gpu::Device& device : gpu::inventory().devices)
            if (device.uuid != near) all.push_back(device.uuid);
    const std::lock_guard lock(mutex_);
    all.insert(all.end(), avoid_.begin(), avoid_.end());
    all.insert(all.end(), held_.begin(), held_.end());
    return all;
}

// Counted once, as CUDA fixes the visible GPUs when it is initialised. Excluded or occupied GPUs count, since they may
// become free.
int DevicePool::usable() {
    std::call_once(counted_, [&] {
        for (const gpu::Device& device : gpu::inventory().devices) usable_ += device.ordinal >= 0;
    });
    return usable_;
}

// For the life of the pool, so that a movie of a thousand blocks does not wait for the timeout a thousand times.
// The reason expires, because a GPU may become free later: a caller that fits one stack after another must not stay on
// the CPU permanently.
void DevicePool::set_why_none(std::exception_ptr why, double waited_s) {
    const std::lock_guard lock(mutex_);
    why_none_ = std::move(why);
    const auto now = std::chrono::steady_clock::now();
    if (now < ask_after_) return;  // the same failure, recorded by another thread or at the end of the run
    using Seconds = std::chrono::duration<double>;
    const Seconds pause = std::max<Seconds>(ask_pause_, Seconds(waited_s));
    ask_after_ = now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause);
    ask_pause_ = std::min(2 * ask_pause_, max_ask_pause);
}

std::exception_ptr DevicePool::why_none() const {
    const std::lock_guard lock(mutex_);
    return std::chrono::steady_clock::now() < ask_after_ ? why_none_ : nullptr;
}

std::exception_ptr DevicePool::last_why_none() const {
    const std::lock_guard lock(mutex_);
    return why_none_;
}

void DevicePool::begin_run(bool gpu_required) {
    const std::lock_guard lock(mutex_);
    if (gpu_required || std::chrono::steady_clock::now() >= ask_after_) why_none_ = nullptr;
}

}  // namespace glint::offload
