// Unified memory (CUDA managed memory): one address for the host and all GPUs, with pages migrated by the driver.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "glint/gpu/buffer.hpp"

namespace glint::gpu {

namespace detail {
/// Returns unified memory. Throws OutOfMemory.
std::shared_ptr<Allocation> allocate_managed(const Context& context, std::size_t bytes);
/// Returns whether the memory is unified.
bool is_managed(const Allocation& allocation);
/// Returns the address of unified memory for the host. Does not wait for GPUs.
void* host_address(const Allocation& allocation);
/// Returns a flag that is true from a use by a GPU until the host has synchronized with it. Always true if unrelated
/// work could block host access.
const std::atomic<bool>& busy(const Allocation& allocation);
void wait_on_host(Allocation& allocation);
void prefetch(Allocation& allocation, const Stream& stream, bool to_host);
}  // namespace detail

/// n elements of unified memory. The host accessors synchronize with the GPUs once after a use, not per element:
/// begin() and end() return plain pointers, valid until the next read_on() or write_on(). Slower on the GPU than a
/// Buffer, and allocated immediately instead of in stream order. Useful for porting, for sharing among GPUs, and for
/// data structures that host and GPU both traverse.
///
///     glint::gpu::Managed<float> sums(context, n);
///     std::uint64_t address = sums.write_on(stream);
///     void* arguments[] = {&address};
///     glint::gpu::launch(stream, kernel, blocks, 256, 0, arguments);
///     const float total = std::accumulate(sums.begin(), sums.end(), 0.0f);  // waits for the kernel
///
/// Copies share the memory. Counts against the context's limit. Freed with the last copy or with the context; the
/// pointers from begin() are then invalid. Not thread-safe: use from one thread at a time.
template <class T>
class Managed {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Managed() = default;
    /// Allocates n uninitialised elements. Throws OutOfMemory, also for more bytes than the GPU has free: the driver
    /// would overcommit, and could hang on use.
    Managed(const Context& context, std::size_t n)
        : allocation_(detail::allocate_managed(context, detail::bytes_for(n, sizeof(T)))),
          data_(static_cast<T*>(detail::host_address(*allocation_))),
          busy_(&detail::busy(*allocation_)),
          size_(n) {}

    std::size_t size() const { return size_; }
    explicit operator bool() const { return allocation_ != nullptr; }

    /// Host access. These functions block if a GPU has used the memory since the last call, and throw errors of that
    /// work. On devices without concurrent managed access (before compute capability 6, and under Windows) they block
    /// for all work of glint in this process, and any launch invalidates the pointers.
    T* begin() const { return waited(), data_; }
    T* end() const { return begin() + size_; }
    std::span<T> span() const { return {begin(), size_}; }
    T& operator[](std::size_t k) const { return begin()[k]; }

    /// Return the address for a kernel on `stream`, of any GPU, which reads or writes the memory. Order uses as Buffer.
    std::uint64_t read_on(const Stream& stream) const {
        return detail::use(detail::required(allocation_), stream, false);
    }
    std::uint64_t write_on(const Stream& stream) { return detail::use(detail::required(allocation_), stream, true); }

    /// Returns the same memory as a Buffer, for upload(), copy(), fill() and views. Its uses count as uses by a GPU.
    Buffer<T> buffer() const { return Buffer<T>(allocation_, size_); }

    /// Migrate the pages before their use, in stream order. No effect on GPUs without this feature.
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

/// Returns whether the memory of a buffer is unified.
template <class T>
bool is_managed(const Buffer<T>& buffer) {
    return detail::is_managed(buffer.allocation());
}
/// Returns the first element of a buffer of unified memory for the host, as Managed::begin(). Throws OptionError for
/// device memory.
template <class T>
T* host_elements(const Buffer<T>& buffer) {
    detail::Allocation& allocation = buffer.allocation();
    if (!is_managed(buffer))
        throw OptionError("this buffer is of device memory, which the host cannot read: download() it");
    if (detail::busy(allocation).load(std::memory_order_acquire)) detail::wait_on_host(allocation);
    return reinterpret_cast<T*>(static_cast<char*>(detail::host_address(allocation)) + buffer.byte_offset());
}

}  // namespace glint::gpu
