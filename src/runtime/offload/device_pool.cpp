// The pool of leased and opened GPUs. mutex_ guards its lists and is never held while a device is opened or destroyed.
//
// A device is in one of three places: in idle_, with the thread that took it, or being opened. held_ has the UUIDs of
// all of them, from open() until the lease is gone; between the grant of a lease and open() the caller holds leasing_.
// Order of the locks: leasing_ before mutex_.
// SPDX-License-Identifier: MIT
#include "offload/device_pool.hpp"

#include <algorithm>
#include <utility>

#include "glint/environment.hpp"
#include "glint/gpu/device.hpp"

namespace glint::offload {
namespace {

// As often as the head of the lease queue polls NVML; a refused request reads the whole lease directory.
constexpr std::chrono::milliseconds lease_retry_interval{500};
// Between two calls of a caller that goes on at once, a device is idle for less.
constexpr std::chrono::seconds wanted_after{1};

constexpr int cuda_device_unavailable = 46, cuda_unknown = 999;
constexpr std::uint64_t pool_slack_bytes = std::uint64_t(64) << 20;  // a memory pool grows by 32 MiB

}  // namespace

// Creating a context on a full GPU may also fail with CUDA_ERROR_UNKNOWN, and where the compute mode allows one process,
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

// `near` holds the input: on another GPU it would have to be copied first. Still better than to wait for that one.
std::unique_ptr<Device> DevicePool::take_idle(const std::string& near) {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    auto chosen = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return idle.device->uuid == near; });
    if (chosen == idle_.end()) chosen = idle_.begin();  // round robin: put_back() appends
    std::unique_ptr<Device> device = std::move(chosen->device);
    idle_.erase(chosen);
    return device;
}

// The lease is kept: opening takes 0.2 s and more, and the next work comes soon. One device, so one waiter is woken.
void DevicePool::put_back(std::unique_ptr<Device> device) {
    if (!device) return;
    const std::lock_guard lock(mutex_);
    idle_.push_back({std::move(device), std::chrono::steady_clock::now()});
    changed_.notify_one();
}

// Blocks until the device's memory is freed and its context released, outside mutex_: other threads go on meanwhile.
DevicePool::~DevicePool() {
    std::deque<Idle> idle;  // destroyed last, while the pool's mutex still is there for the heartbeats
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
        idle.swap(idle_);
    }
    const std::lock_guard last(giving_back_);
}

// Called by the heartbeat of a lease, whose thread destroys the devices, also that of this very lease. The destructor
// waits for it; each device that it then destroys itself waits for its own heartbeat, which finds closing_ set.
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
    device.reset();  // before forget(): a thread that it wakes may lease the same GPU at once
    forget(uuid);
}

// All waiters are woken: whoever may lease now, not only those who wait for a device that is put back.
void DevicePool::forget(const std::string& uuid) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find(held_.begin(), held_.end(), uuid);
    if (found != held_.end()) held_.erase(found);
    next_lease_attempt_ = {};  // a GPU was released: trying again makes sense now
    changed_.notify_all();
}

// May return early or for nothing (a spurious wake-up, a device that another thread was faster to take). Callers loop.
void DevicePool::wait(double seconds) {
    std::unique_lock lock(mutex_);
    if (idle_.empty()) changed_.wait_for(lock, std::chrono::duration<double>(seconds));
}

// The first device is always asked for, whatever was refused: its request waits in the queue instead of polling.
bool DevicePool::may_lease(int most) const {
    const std::lock_guard lock(mutex_);
    return held_.empty() || (int(held_.size()) < most && std::chrono::steady_clock::now() >= next_lease_attempt_);
}

// For all threads of the pool, not only for the one that was refused: each would get the same answer.
void DevicePool::refused() {
    const std::lock_guard lock(mutex_);
    next_lease_attempt_ = std::chrono::steady_clock::now() + lease_retry_interval;
}

// Two GPUs are opened at the same time, one GPU is not leased twice: `turn` is released once held_ names this one.
// (That contexts on one GPU are created in turn is the lease's affair.)
std::unique_ptr<Device> DevicePool::open(gpu::Lease lease, const OpenDevice& open, std::unique_lock<std::mutex> turn) {
    const std::string uuid = lease.devices().front().uuid;
    const double quantum_s =
        environment::gpu_quantum_s();  // throws where that is not a number: before anything is noted
    {
        const std::lock_guard lock(mutex_);
        // Also while it is being opened, so that `most` bounds what is opened at once.
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
        // Before any work can lower it: limit_was_lowered() compares with this.
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

// A snapshot: other threads may change it at once. Callers use it as a hint, or under lock_leasing().
int DevicePool::held() const {
    const std::lock_guard lock(mutex_);
    return int(held_.size());
}

// For the life of the pool: whoever fails eight times in a row is not expected to recover.
void DevicePool::avoid(const std::string& uuid) {
    const std::lock_guard lock(mutex_);
    avoid_.push_back(uuid);
}

// Whether "no GPU" may be this pool's own doing.
bool DevicePool::avoids_any() const {
    const std::lock_guard lock(mutex_);
    return !avoid_.empty();
}

std::vector<std::string> DevicePool::excluded_uuids(const std::string& near) const {
    // inventory() asks NVML and CUDA, which takes milliseconds: before the mutex is taken.
    std::vector<std::string> all;
    if (!near.empty())
        for (const gpu::Device& device : gpu::inventory().devices)
            if (device.uuid != near) all.push_back(device.uuid);
    const std::lock_guard lock(mutex_);
    all.insert(all.end(), avoid_.begin(), avoid_.end());
    all.insert(all.end(), held_.begin(), held_.end());
    return all;
}

// Once: CUDA fixes the visible GPUs when it is initialised. Excluded or occupied ones count, since they may come free.
int DevicePool::usable() {
    std::call_once(counted_, [&] {
        for (const gpu::Device& device : gpu::inventory().devices) usable_ += device.ordinal >= 0;
    });
    return usable_;
}

// For the life of the pool, so that a movie of a thousand blocks does not wait for the timeout a thousand times.
// A GPU that could not be had in time may be free a moment later: who fits one stack after the other is not told to stay
// on the CPU for good.
void DevicePool::set_why_none(std::exception_ptr why, double waited_s) {
    const std::lock_guard lock(mutex_);
    why_none_ = std::move(why);
    const auto now = std::chrono::steady_clock::now();
    if (now < ask_after_) return;  // of the same failure, by another thread or the end of the run
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
