// Memory that a client and its worker share: an unnamed file of fixed size.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>

#include "gpu/lease/descriptor.hpp"

namespace glint::warm_worker {

/// Maximum that a client may share; only address space is reserved until it is used.
constexpr std::size_t max_memory = std::size_t(4) << 30;

constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

class SharedMemory {
  public:
    /// Creates memory that is sealed against any change of its size. Returns nullopt if the system has no memory left,
    /// or does not support such files.
    static std::optional<SharedMemory> create(std::size_t bytes);
    /// Maps the memory of another process. Returns nullopt if it is larger than `most` bytes, or not sealed, because it
    /// could be truncated during use (SIGBUS).
    static std::optional<SharedMemory> open(gpu::lease::Descriptor file, std::size_t most);

    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&& other) noexcept;
    ~SharedMemory();

    std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }
    /// the descriptor of memory created here, for the other process; -1 for memory of another process
    int descriptor() const { return file_.get(); }

  private:
    SharedMemory(gpu::lease::Descriptor file, std::byte* data, std::size_t size);

    gpu::lease::Descriptor file_;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace glint::warm_worker
