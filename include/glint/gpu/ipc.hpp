// Device memory that several processes of one machine use: one exports it, others open it (CUDA's IPC handles).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "glint/gpu/buffer.hpp"

namespace glint::gpu {

/// Identifies exported memory in other processes: bytes to send to them.
struct IpcHandle {
    std::array<unsigned char, 64> bytes{};
};

/// Device memory that other processes of this machine may open while this object lives. Allocated immediately and
/// outside the context's pool, whose memory cannot be exported. Counts against the context's limit.
///
/// The processes must order their uses themselves. Synchronize before another process uses it. Destroy this object
/// after all processes have closed it.
class ExportedMemory {
  public:
    /// `bytes`: 1 or more. Throws OutOfMemory, and GpuError if the driver cannot export.
    ExportedMemory(const Stream& stream, std::size_t bytes);
    const IpcHandle& handle() const { return handle_; }
    Buffer<std::byte>& buffer() { return buffer_; }

  private:
    Buffer<std::byte> buffer_;
    IpcHandle handle_;
};

/// The ExportedMemory of another process. The destructor waits for uses of buffer() and closes the memory; views of
/// buffer() become invalid.
class ImportedMemory {
  public:
    /// `bytes`: of the exported memory. Throws GpuError if the driver refuses: memory of a GPU without peer access, a
    /// process of another container, or this process itself.
    ImportedMemory(const Stream& stream, const IpcHandle& handle, std::size_t bytes);
    ~ImportedMemory();
    ImportedMemory(ImportedMemory&&) noexcept = default;
    ImportedMemory& operator=(ImportedMemory&&) = delete;
    Buffer<std::byte>& buffer() { return buffer_; }

  private:
    Buffer<std::byte> buffer_;
};

}  // namespace glint::gpu
