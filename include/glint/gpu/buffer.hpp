// Device buffers that track their GPU and the streams that used them, page-locked host memory, and copies between them.
//
//     const std::vector<float> values(1000, 1);
//     std::vector<float> back(1000);
//     glint::gpu::Buffer<float> buffer(stream, values.size());
//     upload(stream, buffer, values);
//     const glint::gpu::Buffer<float> second_half = buffer.view(500, 500);  // shares the memory
//     download(stream, std::span(back).first(500), second_half);  // pageable memory: complete on return
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "glint/gpu/stream.hpp"

namespace glint::gpu {

namespace detail {
struct Allocation;
/// Returns n * size. Throws OutOfMemory on overflow.
inline std::size_t bytes_for(std::size_t n, std::size_t size) {
    if (n > SIZE_MAX / size) throw OutOfMemory(2, "a buffer of more elements than any memory holds", SIZE_MAX);
    return n * size;
}
/// Returns the allocation. Throws OptionError for an empty buffer.
inline Allocation& required(const std::shared_ptr<Allocation>& allocation) {
    if (!allocation)
        throw OptionError("this buffer is empty: it was created without a stream and a size, or moved from");
    return *allocation;
}
/// Returns memory from the pool, or memory of another library. Throws OutOfMemory.
std::shared_ptr<Allocation> allocate(const Stream& stream, std::size_t bytes);
std::shared_ptr<Allocation> adopt(const Stream& stream, std::uint64_t address, std::size_t bytes, bool owned);
/// Makes `stream` wait on the device for conflicting uses by other streams, and records this use. Returns the address.
std::uint64_t use(Allocation& allocation, const Stream& stream, bool write);
std::size_t num_bytes(const Allocation& allocation);
const Context& get_context(const Allocation& allocation);
void upload(const Stream& stream, Allocation& to, std::size_t offset, const void* from, std::size_t bytes);
void download(const Stream& stream, void* to, Allocation& from, std::size_t offset, std::size_t bytes);
void copy(const Stream& stream, Allocation& to, std::size_t to_offset, Allocation& from, std::size_t from_offset,
          std::size_t bytes);
void fill(const Stream& stream, Allocation& to, std::size_t offset, unsigned char value, std::size_t bytes);
void* allocate_pinned(const Context& context, std::size_t bytes);
void free_pinned(const std::shared_ptr<ContextState>& context, void* memory, std::size_t bytes);
}  // namespace detail

template <class T>
class Managed;

/// n elements in the memory of a GPU. Copies and views share the memory. The last copy or view frees the memory in
/// stream order. A use on another stream waits for the previous use on the device, not on the host. The host cannot
/// access elements: use upload() and download(). Not thread-safe: use from one thread at a time.
///
/// Call read_on() or write_on() for every launch, because these calls establish the order of uses. Do not cache the
/// address.
///
/// Graph capture: a captured stream can use a buffer whose last use was on the same stream, in the same capture, or on
/// streams that the host has synchronized since. Else read_on() and write_on() throw GpuError. The caller orders the
/// launches of the graph itself.
template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Buffer() = default;
    /// Allocates n uninitialised elements from the context's pool, in the order of `stream`. Throws OutOfMemory;
    /// GpuError while `stream` is being captured.
    Buffer(const Stream& stream, std::size_t n)
        : allocation_(detail::allocate(stream, detail::bytes_for(n, sizeof(T)))), offset_(0), size_(n) {}
    /// Returns a buffer of device memory that another library allocated. It does not count against the limit. Earlier
    /// uses are not tracked: synchronize with them first. With `owned`, the last copy waits for its uses and calls
    /// cuMemFree.
    static Buffer adopt(const Stream& stream, std::uint64_t address, std::size_t n, bool owned) {
        Buffer buffer;
        buffer.allocation_ = detail::adopt(stream, address, detail::bytes_for(n, sizeof(T)), owned);
        buffer.size_ = n;
        return buffer;
    }

    std::size_t size() const { return size_; }
    std::size_t bytes() const { return size_ * sizeof(T); }
    const Context& context() const { return detail::get_context(detail::required(allocation_)); }
    explicit operator bool() const { return allocation_ != nullptr; }

    /// Returns elements [first, first + n); shares the memory. Throws OptionError for a range outside the buffer.
    Buffer view(std::size_t first, std::size_t n) const {
        if (first > size_ || n > size_ - first) throw OptionError("a view beyond the end of its buffer");
        Buffer part = *this;
        part.offset_ += first, part.size_ = n;
        return part;
    }
    /// Returns the same bytes as elements of another type; shares the memory. Throws OptionError if begin and end are
    /// not at whole elements of that type.
    template <class U>
    Buffer<U> as() const {
        if (byte_offset() % sizeof(U) || bytes() % sizeof(U))
            throw OptionError("bytes " + std::to_string(byte_offset()) + " to " +
                              std::to_string(byte_offset() + bytes()) + " of a buffer are not whole elements of " +
                              std::to_string(sizeof(U)) + " bytes");
        Buffer<U> same(allocation_, bytes() / sizeof(U));
        same.offset_ = byte_offset() / sizeof(U);
        return same;
    }
    /// Return the device address for a kernel on `stream` that reads, or writes, the buffer. Throw GpuError if that
    /// stream's GPU has no peer access to the memory; the message names both GPUs and two remedies.
    std::uint64_t read_on(const Stream& stream) const {
        return detail::use(detail::required(allocation_), stream, false) + offset_ * sizeof(T);
    }
    std::uint64_t write_on(const Stream& stream) {
        return detail::use(detail::required(allocation_), stream, true) + offset_ * sizeof(T);
    }

    detail::Allocation& allocation() const { return detail::required(allocation_); }
    std::size_t byte_offset() const { return offset_ * sizeof(T); }

  private:
    template <class U>
    friend class Managed;
    template <class U>
    friend class Buffer;
    Buffer(std::shared_ptr<detail::Allocation> allocation, std::size_t n)
        : allocation_(std::move(allocation)), size_(n) {}

    std::shared_ptr<detail::Allocation> allocation_;
    std::size_t offset_ = 0, size_ = 0;
};

/// n elements of page-locked host memory, uninitialised. Copies to and from it are asynchronous and run at the speed of
/// the link. Owns the memory; movable, not copyable. Synchronize with the streams that copy to or from it before
/// destroying it. After the release of its context it remains valid as ordinary memory. Not mapped in forked children.
///
/// The constructor throws OutOfMemory, or GpuError if the system cannot lock more pages.
template <class T>
class Pinned {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Pinned() = default;
    Pinned(const Context& context, std::size_t n)
        : context_(context.shared_state()),
          data_(static_cast<T*>(detail::allocate_pinned(context, detail::bytes_for(n, sizeof(T))))),
          size_(n) {}
    Pinned(Pinned&& other) noexcept { *this = std::move(other); }
    Pinned& operator=(Pinned&& other) noexcept {
        std::swap(context_, other.context_), std::swap(data_, other.data_), std::swap(size_, other.size_);
        return *this;
    }
    ~Pinned() {
        if (data_) detail::free_pinned(context_, data_, size_ * sizeof(T));
    }
    T* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::span<T> span() const { return {data_, size_}; }

  private:
    std::shared_ptr<detail::ContextState> context_;
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Copies host to device, in stream order. For pinned memory, returns immediately, and `from` must stay unchanged until
/// the stream has executed the copy. Pageable memory is staged through pinned slots, and `from` may be reused on
/// return. Throws OptionError if `from` is larger than `to`, and GpuError for pageable memory during a graph capture.
template <class T>
void upload(const Stream& stream, Buffer<T>& to, std::span<const std::type_identity_t<T>> from) {
    if (from.size() > to.size()) throw OptionError("an upload that is larger than its buffer");
    detail::upload(stream, to.allocation(), to.byte_offset(), from.data(), from.size_bytes());
}

/// Copies device to host, in stream order. For pinned memory, returns immediately, and `to` is valid after
/// stream.synchronize(). For pageable memory, returns when `to` is complete. Throws as upload().
template <class T>
void download(const Stream& stream, std::span<std::type_identity_t<T>> to, const Buffer<T>& from) {
    if (to.size() > from.size()) throw OptionError("a download that is larger than its buffer");
    detail::download(stream, to.data(), from.allocation(), from.byte_offset(), to.size_bytes());
}

/// Copies device to device, within a GPU or between two. Between GPUs it uses peer access, which is verified once per
/// pair of contexts. Without peer access, the copy is staged through pinned host memory, which blocks the host.
/// `stream` may belong to either GPU. Throws OptionError if `from` is larger than `to` or the parts overlap.
template <class T>
void copy(const Stream& stream, Buffer<T>& to, const Buffer<T>& from) {
    if (from.size() > to.size()) throw OptionError("a copy that is larger than its buffer");
    detail::copy(stream, to.allocation(), to.byte_offset(), from.allocation(), from.byte_offset(), from.bytes());
}

/// Sets all bytes of the buffer to `value`, in stream order.
template <class T>
void fill(const Stream& stream, Buffer<T>& to, unsigned char value) {
    detail::fill(stream, to.allocation(), to.byte_offset(), value, to.bytes());
}

}  // namespace glint::gpu
