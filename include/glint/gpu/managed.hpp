// Memory that the host and every GPU can use: one address, and the driver moves the pages.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "glint/gpu/buffer.hpp"

namespace glint::gpu {

namespace detail {
std::shared_ptr<Allocation> allocate_managed(const Context& context, std::size_t bytes);
void* host_address(const Allocation& allocation);
/// True from a use by a GPU until the host has waited for it.
const std::atomic<bool>& busy(const Allocation& allocation);
void wait_on_host(Allocation& allocation);
void prefetch(Allocation& allocation, const Stream& stream, bool to_host);
}  // namespace detail

/// n elements of unified memory. The host waits for the GPUs once, when it first touches them after a use, and not per
/// element: begin() and end() are plain pointers, good until the next read_on() or write_on(). Slower than a Buffer on
/// the GPU, and taken at once rather than in stream order: for porting, for sharing among GPUs, for lists that both
/// sides walk.
///
///     Managed<float> sums(context, n);
///     launch(... sums.write_on(stream) ...);
///     const float total = std::accumulate(sums.begin(), sums.end(), 0.0f);
///
/// Copies share the memory. Use one from one thread at a time. Counts against the context's limit. When the context
/// goes the memory does, and with it what begin() gave.
template <class T>
class Managed {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Managed() = default;
    /// Throws OutOfMemory also where more is asked than the GPU has free: the driver would give it, and could hang.
    Managed(const Context& context, std::size_t n)
        : allocation_(detail::allocate_managed(context, detail::bytes_for(n, sizeof(T)))),
          data_(static_cast<T*>(detail::host_address(*allocation_))),
          busy_(&detail::busy(*allocation_)),
          size_(n) {}

    std::size_t size() const { return size_; }
    explicit operator bool() const { return allocation_ != nullptr; }

    /// For the host. These wait if a GPU has used the memory since they last did, and throw what went wrong there.
    T* begin() const { return waited(), data_; }
    T* end() const { return begin() + size_; }
    std::span<T> span() const { return {begin(), size_}; }
    T& operator[](std::size_t k) const { return begin()[k]; }

    /// The address for a kernel on `stream`, of any GPU; ordered behind other uses as a Buffer's.
    std::uint64_t read_on(const Stream& stream) const {
        return detail::use(detail::required(allocation_), stream, false);
    }
    std::uint64_t write_on(const Stream& stream) { return detail::use(detail::required(allocation_), stream, true); }

    /// The same memory, for upload(), copy(), fill(), views. It counts as a GPU's use, as read_on() and write_on() do.
    Buffer<T> buffer() const { return Buffer<T>(allocation_, size_); }

    /// Moves the pages ahead of their use, in stream order; does nothing where the GPU does not allow it.
    void prefetch_to_device(const Stream& stream) const {
        detail::prefetch(detail::required(allocation_), stream, false);
    }
    void prefetch_to_host(const Stream& stream) const { detail::prefetch(detail::required(allocation_), stream, true); }

  private:
    void waited() const {
        if (busy_ && busy_->load(std::memory_order_acquire)) detail::wait_on_host(*allocation_);
    }

    std::shared_ptr<detail::Allocation> allocation_;
    T* data_ = nullptr;
    const std::atomic<bool>* busy_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace glint::gpu
