// The implementation of Context: driver handles, owned resources, and counters.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "glint/gpu/context.hpp"
#include "gpu/driver.hpp"
#include "gpu/staging.hpp"

namespace glint::gpu::detail {

struct StreamState;

/// An object that must be destroyed before its context, in the order of Rank.
struct Resource {
    enum class Rank { allocation, event, module, stream };
    virtual ~Resource() = default;
    /// Releases the driver handle. Called with the context current and its mutex held; idempotent.
    virtual void drop() noexcept = 0;
};

using Kind = MemoryKind;

/// A free that was not possible because of a graph capture, or that failed. Retried at the next synchronization.
struct DeferredFree {
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    Kind kind = Kind::pooled;
    std::vector<std::shared_ptr<StreamState>> users;  ///< the first is the stream to free on
};

struct Counters {
    std::atomic<std::uint64_t> live{0}, peak{0}, managed{0}, pinned{0}, allocations{0}, event_waits{0}, host_blocks{0},
        early_reclaims{0}, early_reclaimed{0}, retries{0},
        trims{0};  // managed: the part of `live` outside the pool, including memory for other processes
};

/// Attempts to return memory early: the time and duration of the last attempt. The duration is doubled if the attempt
/// freed nothing.
struct Attempts {
    std::chrono::steady_clock::time_point last{};
    double seconds = 0;  ///< duration of the last attempt, doubled with each consecutive attempt that freed nothing
    void note(double took, bool gave);
};

/// Whether this is the thread of the heartbeat (lease/heartbeat.hpp). That thread writes no log, because a log may need
/// locks (such as Python's) that another thread holds while it waits for the heartbeat.
inline thread_local bool is_heartbeat = false;

/// Accounts for the context's memory towards other processes (its lease). Called before memory is returned to the
/// device: other processes must never count memory both as free and as held.
struct MemoryAccount {
    virtual ~MemoryAccount() = default;
    /// Runs `release`, which returns pool memory to the device.
    virtual void give_back(const std::function<void()>& release) = 0;
    /// Whether another request waits for the device.
    virtual bool is_wanted() = 0;
    /// Called when the context is about to be closed; it must not be used afterwards.
    virtual void close() noexcept = 0;
};

struct ContextState {
    const std::uint64_t serial = next_serial++;  // unique in the process, unlike addresses
    static inline std::atomic<std::uint64_t> next_serial{0};

    // Constant from open() to close(), except `limit`.
    const Driver* driver = nullptr;
    int ordinal = -1, multiprocessors = 0, shared_bytes_per_block = 0;
    std::string name, capability;
    cu::Device device = 0;
    cu::Context context = nullptr;
    cu::MemPool pool = nullptr;
    std::atomic<std::uint64_t> limit{0};
    std::uint64_t free_at_start = 0, total_on_device = 0;
    bool concurrent_managed = false, separate = false;
    bool early_reclaim_allowed = true, early_reclaim_by_default = true;  // by ContextOptions; by the environment
    std::function<void(const std::string&)> log;
    bool log_by_default = false;             // GLINT_GPU_LOG: to standard error, without set_log()
    std::shared_ptr<MemoryAccount> account;  // null: memory without a lease. Set before the context is used

    std::atomic<bool> released{false};
    Counters counters;
    std::atomic<std::uint64_t> left_by_trim{
        0};  // unused memory that the last trim could not return, or a smaller amount seen since
    std::atomic<bool> short_of_memory{false};  // at the last synchronization

    std::mutex mutex;  // guards the members below; only close() holds it while it blocks on the device
    std::set<std::pair<Resource::Rank, Resource*>> resources;
    std::unordered_map<StreamState*, std::weak_ptr<StreamState>> streams;
    std::vector<cu::Stream> retired;         // of destroyed Streams, with work that may still run
    std::vector<cu::Event> spare_events[2];  // without and with timing
    std::map<void*, std::size_t> pinned;     // page-locked by glint; address and size
    std::vector<DeferredFree> deferred_frees;
    std::vector<std::function<std::uint64_t()>> on_pressure;
    Attempts reclaims, questions;  // trims; calls of on_pressure callbacks
    std::chrono::steady_clock::time_point looked_outside{};
    double pressure_outside = 0;  // at the last query

    std::mutex peer_mutex;
    std::map<std::uint64_t, bool>
        peers;  // by serial: whether that context has verified peer access to this one's memory

    std::once_flag staging_once;
    std::unique_ptr<Staging> staging;

    void open(int wanted, const ContextOptions& options);
    void close() noexcept;
    void drop_resources() noexcept;
    void drop_finished_streams() noexcept;  ///< destroys idle retired streams; with the mutex held
    void wait_for_retired() noexcept;

    /// Throws when the context was released, the GPU was lost, or this is a forked child.
    void require_usable(const char* what) const;
    /// As gpu::check(); also records a sticky error for this GPU.
    void check(cu::Result result, const char* what) const;
    void say(const std::string& message) const;  ///< to `log` and to set_log()'s function
    std::string label() const;                   ///< "GPU 0 (NVIDIA H200)"
    bool reclaims_early() const;

    void add(Resource::Rank rank, Resource* resource);
    void remove(Resource::Rank rank, Resource* resource) noexcept;  ///< removes it unless close() has done so
    std::vector<std::shared_ptr<StreamState>> all_streams();

    cu::Event take_event(bool timing);
    void return_event(cu::Event event, bool timing) noexcept;  ///< with the mutex held
};

/// Makes a context current in this thread, and restores the previous one at the end of the scope.
class Current {
  public:
    explicit Current(const ContextState& state);
    Current(const ContextState& state, std::nothrow_t) noexcept;
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

  private:
    void use_relaxed_capture_mode() noexcept;

    const Driver& driver_;
    cu::Context before_ = nullptr;
    bool changed_ = false;
    int capture_mode_ = cu::capture_mode_relaxed;  // exchanged: contains the thread's own mode meanwhile
};

/// Bytes of managed memory in other contexts of this process on the same GPU.
std::uint64_t managed_by_others(const ContextState& home);

/// Returns the message about the sticky error by which this process lost the GPU; empty: it has not lost the GPU.
std::string lost_reason(int ordinal);

}  // namespace glint::gpu::detail
