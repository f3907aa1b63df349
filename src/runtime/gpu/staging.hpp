// Staging: copies pageable host memory to and from a GPU through page-locked slots, with several threads, at link
// speed.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "gpu/cuda_abi.hpp"
#include "gpu/thread_pool.hpp"

namespace glint::gpu::detail {

struct ContextState;
struct StreamState;

/// The staging slots of one context; each is page-locked on first use. Thread-safe.
class Staging {
  public:
    static constexpr int slot_count = 16;
    static constexpr std::size_t slot_bytes = std::size_t(8) << 20;

    explicit Staging(ContextState& context) : context_(context) {}
    ~Staging();

    /// Returns when `from` has been read and all copies are enqueued in the stream.
    void upload(StreamState& stream, cu::DevicePtr to, const std::byte* from, std::size_t bytes);
    /// Returns when `to` is complete.
    void download(StreamState& stream, std::byte* to, cu::DevicePtr from, std::size_t bytes);
    /// In a forked child: leaks the pool, whose threads do not exist there and cannot be joined.
    void abandon() noexcept { new std::shared_ptr(std::move(copy_threads_)); }

  private:
    struct StagingBuffer {
        std::mutex mutex;  // held while a thread fills or empties the slot
        std::byte* memory = nullptr;
        cu::Event last = nullptr;  // recorded after the last transfer to or from the slot
        bool in_flight = false;
    };
    using Copy = std::function<void(StagingBuffer&, std::size_t offset, std::size_t bytes)>;

    void for_each_chunk(std::size_t bytes, const Copy& copy);
    /// Returns an idle page-locked slot, else an unused slot, else the next slot in turn, after waiting for its owner.
    std::pair<StagingBuffer*, std::unique_lock<std::mutex>> acquire_slot();
    void prepare(StagingBuffer& slot);
    void record_use(StagingBuffer& slot, StreamState& stream);
    ThreadPool& threads();

    ContextState& context_;
    StagingBuffer slots_[slot_count];
    std::atomic<unsigned> next_slot_{0};
    std::once_flag threads_once_;
    std::shared_ptr<ThreadPool> copy_threads_;  // shared by all contexts of the process
};

}  // namespace glint::gpu::detail
