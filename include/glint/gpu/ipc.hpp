// Device memory that several processes of one machine use: exported by one, opened by others (CUDA's IPC handles).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "glint/gpu/buffer.hpp"

namespace glint::gpu {

/// What names exported memory in other processes: bytes to be sent to them.
struct IpcHandle {
    std::array<unsigned char, 64> bytes{};
};

/// Device memory that other processes of this machine may open while this object lives. Allocated at once and outside the
/// context's pool, whose memory cannot be exported; counts against the context's limit. The order of uses by several processes
/// is theirs to keep: synchronize before another one is told to use it, and destroy this object when all of them have closed it.
class ExportedMemory {
  public:
    /// `bytes`: 1 or more. Throws OutOfMemory, and GpuError where the driver cannot export.
    ExportedMemory(const Stream& stream, std::size_t bytes);
    const IpcHandle& handle() const { return handle_; }
    Buffer<std::byte>& buffer() { return buffer_; }

  private:
    Buffer<std::byte> buffer_;
    IpcHandle handle_;
};

/// Another process's ExportedMemory. Closed by the destructor, which waits for uses of buffer(); views of that end with it.
class ImportedMemory {
  public:
    /// `bytes`: of the exported memory. Throws GpuError where the driver refuses: memory of another GPU that this one does not
    /// reach, a process of another container, or this very process.
    ImportedMemory(const Stream& stream, const IpcHandle& handle, std::size_t bytes);
    ~ImportedMemory();
    ImportedMemory(ImportedMemory&&) noexcept = default;
    ImportedMemory& operator=(ImportedMemory&&) = delete;
    Buffer<std::byte>& buffer() { return buffer_; }

  private:
    Buffer<std::byte> buffer_;
};

}  // namespace glint::gpu
