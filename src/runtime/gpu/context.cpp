// Creating contexts, their members, and the record of GPUs lost by sticky errors.
//
// How the runtime fits together:
// - driver.cpp opens libcuda.so.1 and fills a table of functions from driver_list.inc; nvml.cpp does the same for NVML.
//   devices.cpp joins what both report about each GPU.
// - A Context retains the GPU's primary context and creates a pool with a limit.
// - A Buffer (buffer.cpp) allocates memory from the pool and records the streams that used it: a use on another stream
//   waits for the earlier use, on the device. pool.cpp falls back step by step before an allocation fails; free.cpp
//   frees.
// - copy.cpp chooses how bytes move: directly from pinned memory (pinned.cpp), through staging slots that several
//   threads fill (staging.cpp, thread_pool.cpp), or from GPU to GPU (peer.cpp).
// - reclaim.cpp returns unused memory under pressure.
// - close.cpp runs when the last Context is destroyed: it frees all remaining memory and releases the GPU. Handles that
//   outlive the context throw when they are used.
// SPDX-License-Identifier: MIT
#include "glint/gpu/context.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "glint/environment.hpp"
#include "gpu/allocation.hpp"
#include "gpu/context_state.hpp"
#include "gpu/limit.hpp"
#include "gpu/pool.hpp"
#include "gpu/stream_state.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace detail {
namespace {

constexpr int max_devices = 256;
std::array<std::atomic<cu::Result>, max_devices> sticky_errors;  // of each GPU; 0: none

std::atomic<int> early_reclaim_set{-1};  // by set_early_reclaim(); -1: not set yet

/// The log of the process. Never destroyed: a context may live in a static object.
struct ProcessLog {
    std::mutex mutex;
    std::function<void(const std::string&)> log;
    bool is_set = false;
};
ProcessLog& process_log() {
    static auto* const log = new ProcessLog;
    return *log;
}

std::mutex creation;  // serialises creation: contexts created at the same time slow each other down

int attribute(const Driver& driver, cu::Device device, int which) {
    int value = 0;
    check(driver.cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
}

std::string with_note(const std::string& note) { return note.empty() ? "" : " (" + note + ")"; }

void require_ordinal(const Driver& driver, int wanted) {
    int count = 0;
    check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (wanted < 0 || wanted >= std::min(count, max_devices))
        throw NoGpu(cu::no_device, text("GPU ", wanted, " was asked for, and this process sees ", count,
                                        ", counted from 0", with_note(visible_devices_note())));
}

/// cuCtxCreate pushes the new context on the thread's stack; popping it restores the caller's context.
cu::Result create_separate(ContextState& state) {
    const Driver& driver = *state.driver;
    const cu::Result result = driver.cuCtxCreate(&state.context, 0, state.device);
    if (result != cu::success) return result;
    note_separate_context(state.ordinal, 1);
    cu::Context popped = nullptr;
    return driver.cuCtxPopCurrent(&popped);
}

void retain(ContextState& state) {
    constexpr int prohibited = 2;
    if (attribute(*state.driver, state.device, cu::compute_mode) == prohibited)
        throw NoGpu(cu::no_device, state.label() +
                                       ": its compute mode is \"prohibited\"; an administrator can change it "
                                       "with nvidia-smi -c DEFAULT");
    if (!attribute(*state.driver, state.device, cu::memory_pools_supported))
        throw NoGpu(cu::not_supported, state.label() + ": it has no memory pools (a virtual GPU, or an older one)");
    const cu::Result result =
        state.separate ? create_separate(state) : state.driver->cuDevicePrimaryCtxRetain(&state.context, state.device);
    if (result == cu::success) return;
    if (!state.separate) state.context = nullptr;
    constexpr cu::Result device_unavailable = 46;
    if (result == device_unavailable)
        throw GpuError(result, text(state.label(),
                                    ": its compute mode allows one process at a time, and another one is "
                                    "using it: wait until it ends: ",
                                    describe(result)));
    const char* what = "no context could be created: it may be full, or have its maximum of contexts; try again later";
    if (result == cu::out_of_memory)
        throw OutOfMemory(result, text(state.label(), ": ", what, ": ", describe(result)), 0);
    state.check(result, what);
}

void make_pool(ContextState& state) {
    cu::MemPoolProps props{};
    props.alloc_type = 1;
    props.location = {cu::location_device, state.device};
    props.max_size = state.limit;
    state.check(state.driver->cuMemPoolCreate(&state.pool, &props), "cuMemPoolCreate");
    std::uint64_t keep_all = ~std::uint64_t(0);
    state.check(state.driver->cuMemPoolSetAttribute(state.pool, cu::pool_release_threshold, &keep_all),
                "cuMemPoolSetAttribute");
}

}  // namespace

void ContextState::open(int wanted, const ContextOptions& options) {
    driver = &usable_driver();
    require_ordinal(*driver, wanted);
    ordinal = wanted;
    gpu::check(driver->cuDeviceGet(&device, wanted), "cuDeviceGet");
    char text_of_name[256] = {};
    gpu::check(driver->cuDeviceGetName(text_of_name, sizeof text_of_name - 1, device), "cuDeviceGetName");
    name = text_of_name;
    if (const std::string lost = lost_reason(ordinal); !lost.empty()) throw DeviceLost(sticky_errors[ordinal], lost);

    std::size_t total = 0;
    gpu::check(driver->cuDeviceTotalMem(&total, device), "cuDeviceTotalMem");
    limit = smaller_limit(options.limit_bytes, environment::gpu_memory_limit_bytes(total));
    separate = options.separate;
    early_reclaim_allowed = options.early_reclaim, early_reclaim_by_default = environment::gpu_early_reclaim();
    log = options.log, log_by_default = environment::gpu_log();
    multiprocessors = attribute(*driver, device, cu::multiprocessor_count);
    shared_bytes_per_block = attribute(*driver, device, cu::max_shared_memory_per_block_optin);
    concurrent_managed = attribute(*driver, device, cu::concurrent_managed_access) != 0;
    capability =
        text(attribute(*driver, device, cu::capability_major), ".", attribute(*driver, device, cu::capability_minor));

    const std::lock_guard lock(creation);
    retain(*this);
    const Current current(*this);
    std::size_t free = 0;
    check(driver->cuMemGetInfo(&free, &total), "cuMemGetInfo");
    free_at_start = free, total_on_device = total;
    if (limit == 0) limit = free;
    make_pool(*this);
}

void ContextState::require_usable(const char* what) const {
    if (forked()) usable_driver();  // throws
    if (released)
        throw GpuError(cu::invalid_context,
                       text(label(), ": the context of ", what, " was released: keep its Context until the last use"));
    if (const cu::Result code = sticky_errors[ordinal].load(std::memory_order_relaxed))
        throw DeviceLost(code, lost_reason(ordinal));
}

void ContextState::check(cu::Result result, const char* what) const {
    if (result == cu::success) return;
    if (is_sticky(result)) sticky_errors[ordinal] = result;
    fail(result, text(label(), ": ", what));
}

void ContextState::say(const std::string& message) const {
    if (log && !is_heartbeat) log(message);
    ProcessLog& process = process_log();
    const std::lock_guard lock(process.mutex);
    if (process.log)
        process.log(message);
    else if (!process.is_set && log_by_default)
        std::fprintf(stderr, "glint: %s\n", message.c_str());
}

bool ContextState::reclaims_early() const {
    const int set = early_reclaim_set;
    return early_reclaim_allowed && (set < 0 ? early_reclaim_by_default : set > 0);
}

std::string ContextState::label() const { return text("GPU ", ordinal, name.empty() ? "" : " (" + name + ")"); }

void ContextState::add(Resource::Rank rank, Resource* resource) {
    const std::lock_guard lock(mutex);
    resources.insert({rank, resource});
}

void ContextState::remove(Resource::Rank rank, Resource* resource) noexcept {
    if (forked()) return;
    const std::lock_guard lock(mutex);
    if (resources.erase({rank, resource}) == 0) return;  // close() has released it
    const Current current(*this, std::nothrow);
    resource->drop();
}

std::vector<std::shared_ptr<StreamState>> ContextState::all_streams() {
    std::vector<std::shared_ptr<StreamState>> living;
    const std::lock_guard lock(mutex);
    for (const auto& [raw, weak] : streams)
        if (auto stream = weak.lock()) living.push_back(std::move(stream));
    return living;
}

cu::Event ContextState::take_event(bool timing) {
    const std::lock_guard lock(mutex);
    auto& spare = spare_events[timing];
    cu::Event event = nullptr;
    if (!spare.empty()) {
        event = spare.back();
        spare.pop_back();
        return event;
    }
    const Current current(*this);
    check(driver->cuEventCreate(&event, timing ? 0 : cu::event_disable_timing), "cuEventCreate");
    return event;
}

void ContextState::return_event(cu::Event event, bool timing) noexcept {
    constexpr std::size_t max_spare = 64;
    if (!released && spare_events[timing].size() < max_spare)
        spare_events[timing].push_back(event);
    else
        driver->cuEventDestroy(event);
}

Current::Current(const ContextState& state) : driver_(*state.driver) {
    driver_.cuCtxGetCurrent(&before_);
    if (before_ != state.context) {
        state.check(driver_.cuCtxSetCurrent(state.context), "cuCtxSetCurrent");
        changed_ = true;
    }
    use_relaxed_capture_mode();
}

Current::Current(const ContextState& state, std::nothrow_t) noexcept : driver_(*state.driver) {
    driver_.cuCtxGetCurrent(&before_);
    changed_ = before_ != state.context && driver_.cuCtxSetCurrent(state.context) == cu::success;
    use_relaxed_capture_mode();
}

/// While any stream is captured in global mode, the driver refuses synchronizing, querying and freeing in all threads,
/// as a safeguard. glint checks each stream itself, and therefore switches the thread to the relaxed mode.
void Current::use_relaxed_capture_mode() noexcept { driver_.cuThreadExchangeStreamCaptureMode(&capture_mode_); }

Current::~Current() {
    driver_.cuThreadExchangeStreamCaptureMode(&capture_mode_);
    if (changed_) driver_.cuCtxSetCurrent(before_);
}

std::string lost_reason(int ordinal) {
    const cu::Result code = sticky_errors[ordinal];
    if (code == cu::success) return "";
    return text("GPU ", ordinal, " was lost to this process by an earlier error, ", describe(code),
                "; restart the process to use it again (its memory on the GPU is freed when it ends)");
}

Context non_owning_context(const std::shared_ptr<ContextState>& state) {
    Context context;
    context.state_ = state;
    return context;
}

}  // namespace detail

namespace {

std::mutex registry_mutex;
std::vector<std::pair<std::weak_ptr<detail::ContextState>, std::weak_ptr<void>>> registry;  // with keep_alive_

}  // namespace

std::uint64_t detail::managed_by_others(const ContextState& home) {
    std::uint64_t bytes = 0;
    const std::lock_guard lock(registry_mutex);
    for (const auto& [weak, hold] : registry)
        if (const auto state = weak.lock(); state && state.get() != &home && state->ordinal == home.ordinal)
            bytes += state->counters.managed;
    return bytes;
}

Context::Context(int ordinal, const ContextOptions& options) : state_(std::make_shared<detail::ContextState>()) {
    keep_alive_ = std::shared_ptr<void>(nullptr, [state = state_](void*) mutable {
        state->close();
        state.reset();  // the weak_ptr in the registry keeps this deleter alive, which must not keep the state
    });
    state_->open(ordinal, options);
    const std::lock_guard lock(registry_mutex);
    std::erase_if(registry, [](const auto& entry) { return entry.second.expired(); });
    registry.emplace_back(state_, keep_alive_);
}

int Context::ordinal() const { return state_->ordinal; }
const std::string& Context::name() const { return state_->name; }
int Context::multiprocessors() const { return state_->multiprocessors; }
int Context::shared_bytes_per_block() const { return state_->shared_bytes_per_block; }

void Context::synchronize() const {
    state_->require_usable("this Context");
    const auto streams = state_->all_streams();
    for (const auto& stream : streams) stream->refuse_capture("Context::synchronize()");
    for (const auto& stream : streams) stream->synchronize();
    state_->wait_for_retired();
}

std::vector<Context> open_contexts() {
    std::vector<Context> contexts;
    const std::lock_guard lock(registry_mutex);
    for (const auto& [state, hold] : registry) {
        Context context;
        context.state_ = state.lock(), context.keep_alive_ = hold.lock();
        if (context.keep_alive_.use_count() > 0) contexts.push_back(std::move(context));
    }
    return contexts;
}

void set_log(std::function<void(const std::string&)> log) {
    detail::ProcessLog& process = detail::process_log();
    const std::lock_guard lock(process.mutex);
    process.log.swap(log), process.is_set = true;
}

void set_early_reclaim(bool on) { detail::early_reclaim_set = on; }

bool early_reclaim() {
    const int set = detail::early_reclaim_set;
    return set < 0 ? environment::gpu_early_reclaim() : set > 0;
}

void synchronize_all() {
    for (const Context& context : open_contexts()) context.synchronize();
}

void Context::trim() const {
    state_->require_usable("this Context");
    detail::retry_deferred_frees(*state_);
    detail::trim(*state_);
}

std::uint64_t Context::relieve_pressure() const {
    state_->require_usable("this Context");
    return detail::relieve_pressure(*state_);
}

void Context::lower_limit(std::uint64_t bytes) const {
    std::uint64_t limit = state_->limit;
    while (bytes < limit && !state_->limit.compare_exchange_weak(limit, bytes)) {
    }
}

MemoryStatistics Context::statistics() const {
    const detail::Counters& counted = state_->counters;
    MemoryStatistics s;
    s.live_bytes = counted.live, s.peak_bytes = counted.peak;
    s.reserved_bytes = detail::reserved_bytes(*state_);
    s.limit_bytes = state_->limit;
    s.pinned_bytes = counted.pinned;
    s.allocations = counted.allocations;
    s.event_waits = counted.event_waits;
    s.host_blocks = counted.host_blocks;
    s.early_reclaims = counted.early_reclaims, s.early_reclaimed_bytes = counted.early_reclaimed;
    s.retries = counted.retries, s.trims = counted.trims;
    return s;
}

std::vector<MemoryRecord> Context::snapshot() const {
    std::vector<MemoryRecord> records;
    const std::lock_guard lock(state_->mutex);
    for (const auto& [rank, resource] : state_->resources) {
        if (rank != detail::Resource::Rank::allocation) continue;
        const auto& allocation = static_cast<const detail::Allocation&>(*resource);
        if (allocation.address) records.push_back({allocation.address, allocation.bytes, allocation.kind, false});
    }
    for (const detail::DeferredFree& due : state_->deferred_frees)
        records.push_back({due.address, due.bytes, due.kind, true});
    return records;
}

void Context::on_pressure(std::function<std::uint64_t()> callback) const {
    state_->require_usable("this Context");
    const std::lock_guard lock(state_->mutex);
    state_->on_pressure.push_back(std::move(callback));
}

}  // namespace glint::gpu
