// Unified memory (CUDA managed memory): one address for the host and all GPUs, with pages migrated by the driver.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "glint/gpu/buffer.hpp"

namespace glint::gpu {

namespace detail {
std::shared_ptr<Allocation> allocate_managed(const Context& context, std::size_t bytes);
bool is_managed(const Allocation& allocation);
void* host_address(const Allocation& allocation);
/// True from a use by a GPU until the host has synchronized with it; always true if unrelated work could block host
/// access.
const std::atomic<bool>& busy(const Allocation& allocation);
void wait_on_host(Allocation& allocation);
void prefetch(Allocation& allocation, const Stream& stream, bool to_host);
}  // namespace detail

/// n elements of unified memory. The host accessors synchronize with the GPUs once after a use, not per element:
/// begin() and end() return plain pointers, valid until the next read_on() or write_on(). Slower on the GPU than a
/// Buffer, and allocated immediately instead of in stream order. Meant for porting, for sharing among GPUs, and for
/// data structures that both sides traverse.
///
///     Managed<float> sums(context, n);
///     launch(... sums.write_on(stream) ...);
///     const float total = std::accumulate(sums.begin(), sums.end(), 0.0f);
///
/// Copies share the memory. Not thread-safe: use from one thread at a time. Counts against the context's limit. Freed
/// with the context; the pointers from begin() are then invalid.
template <class T>
class Managed {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Managed() = default;
    /// Throws OutOfMemory also for more bytes than the GPU has free: the driver would overcommit, and could hang on
    /// use.
    Managed(const Context& context, std::size_t n)
        : allocation_(detail::allocate_managed(context, detail::bytes_for(n, sizeof(T)))),
          data_(static_cast<T*>(detail::host_address(*allocation_))),
          busy_(&detail::busy(*allocation_)),
          size_(n) {}

    std::size_t size() const { return size_; }
    explicit operator bool() const { return allocation_ != nullptr; }

    /// Host access. These block if a GPU has used the memory since the last call, and throw errors of that work. On
    /// devices without concurrent managed access (before compute capability 6, and under Windows) they block for all
    /// work of glint in this process, and any launch ends the validity of the pointers.
    T* begin() const { return waited(), data_; }
    T* end() const { return begin() + size_; }
    std::span<T> span() const { return {begin(), size_}; }
    T& operator[](std::size_t k) const { return begin()[k]; }

    /// The address for a kernel on `stream`, of any GPU. Orders uses as Buffer does.
    std::uint64_t read_on(const Stream& stream) const {
        return detail::use(detail::required(allocation_), stream, false);
    }
    std::uint64_t write_on(const Stream& stream) { return detail::use(detail::required(allocation_), stream, true); }

    /// The same memory as a Buffer, for upload(), copy(), fill() and views. Uses through it count as uses by a GPU.
    Buffer<T> buffer() const { return Buffer<T>(allocation_, size_); }

    /// Migrates the pages ahead of their use, in stream order. No effect on GPUs that do not support it.
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

/// Whether the memory of a buffer is unified.
template <class T>
bool is_managed(const Buffer<T>& buffer) {
    return detail::is_managed(buffer.allocation());
}
/// The first element of a buffer of unified memory, for the host: as Managed::begin().
template <class T>
T* host_elements(const Buffer<T>& buffer) {
    detail::Allocation& allocation = buffer.allocation();
    if (!is_managed(buffer))
        throw OptionError("this buffer is of device memory, which the host cannot read: download() it");
    if (detail::busy(allocation).load(std::memory_order_acquire)) detail::wait_on_host(allocation);
    return reinterpret_cast<T*>(static_cast<char*>(detail::host_address(allocation)) + buffer.byte_offset());
}

}  // namespace glint::gpu
