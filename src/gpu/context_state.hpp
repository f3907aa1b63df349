// What stands behind a Context: the driver's handles, what lives in it, and what was counted.
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

/// What must go before its context does, in the order of `rank`.
struct Resource {
    enum class Rank { allocation, event, module, stream };
    virtual ~Resource() = default;
    /// Gives the driver's handle back. Called with the context current and its mutex held; may be called twice.
    virtual void drop() noexcept = 0;
};

using Kind = MemoryKind;

/// A free that capture forbade when it was due, or that failed.
struct DeferredFree {
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    Kind kind = Kind::pooled;
    std::vector<std::shared_ptr<StreamState>> users;  ///< the first is the stream to free on
};

struct Counters {
    std::atomic<std::uint64_t> live{0}, peak{0}, managed{0}, pinned{0}, allocations{0}, event_waits{0}, host_blocks{0},
        early_reclaims{0}, retries{0}, trims{0};  // managed: the part of live that is not the pool's
};

/// When the pool was last given back early, and what that cost.
struct ReclaimHistory {
    std::chrono::steady_clock::time_point last{};
    double seconds = 0;  ///< of the last one
};

struct ContextState {
    const std::uint64_t serial = next_serial++;  // no two contexts of a process share one
    static inline std::atomic<std::uint64_t> next_serial{0};

    // Constant from open() to close().
    const Driver* driver = nullptr;
    int ordinal = -1, multiprocessors = 0, shared_bytes_per_block = 0;
    std::string name, capability;
    cu::Device device = 0;
    cu::Context context = nullptr;
    cu::MemPool pool = nullptr;
    std::atomic<std::uint64_t> limit{0};
    std::uint64_t free_at_start = 0;
    bool concurrent_managed = false, early_reclaim = true, separate = false;
    std::function<void(const std::string&)> log;

    std::atomic<bool> released{false};
    Counters counters;

    std::mutex mutex;  // guards what follows; held while the host waits for the device only in close()
    std::set<std::pair<Resource::Rank, Resource*>> resources;
    std::unordered_map<StreamState*, std::weak_ptr<StreamState>> streams;
    std::vector<cu::Stream> retired;         // destroyed by their owners; what was in them may still run
    std::vector<cu::Event> spare_events[2];  // without and with timing
    std::map<void*, std::size_t> pinned;     // page-locked by us
    std::vector<DeferredFree> deferred_frees;
    std::vector<std::function<std::uint64_t()>> on_pressure;
    ReclaimHistory reclaims;

    std::mutex peer_mutex;
    std::map<std::uint64_t, bool>
        peers;  // by serial: whether another context reaches this one's memory; each was tried

    std::once_flag staging_once;
    std::unique_ptr<Staging> staging;

    void open(int wanted, const ContextOptions& options);
    void close() noexcept;
    void drop_resources() noexcept;
    void drop_finished_streams() noexcept;  ///< of the retired; with the mutex held
    void wait_for_retired() noexcept;

    /// Throws when the context was released, the GPU was lost, or this is a forked child.
    void require_usable(const char* what) const;
    /// As the free function; a sticky error is remembered for this GPU.
    void check(cu::Result result, const char* what) const;
    void say(const std::string& message) const {
        if (log) log(message);
    }
    std::string label() const;  ///< "GPU 0 (NVIDIA H200)"

    void add(Resource::Rank rank, Resource* resource);
    void remove(Resource::Rank rank, Resource* resource) noexcept;  ///< drops it unless close() did
    std::vector<std::shared_ptr<StreamState>> all_streams();

    cu::Event take_event(bool timing);
    void return_event(cu::Event event, bool timing) noexcept;  ///< with the mutex held
};

/// Makes a context current, and the one before current again at the end of the scope.
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
    int capture_mode_ = cu::capture_mode_relaxed;  // the thread's own meanwhile
};

/// Managed memory that this process's other contexts of the same GPU hold.
std::uint64_t managed_by_others(const ContextState& home);

/// Why this process has lost that GPU; empty when it has not.
std::string lost_reason(int ordinal);

}  // namespace glint::gpu::detail
