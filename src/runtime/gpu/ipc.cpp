// Exports device memory to other processes, and opens memory that they export.
// SPDX-License-Identifier: MIT
#include "glint/gpu/ipc.hpp"

#include <cstring>

#include "gpu/allocation.hpp"
#include "gpu/pool.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace {

void require_ipc(const detail::ContextState& home) {
    const Driver& driver = *home.driver;
    if (driver.cuMemAlloc && driver.cuIpcGetMemHandle && driver.cuIpcOpenMemHandle && driver.cuIpcCloseMemHandle)
        return;
    throw GpuError(cu::not_supported, home.label() +
                                          ": this driver cannot share memory between processes: copy it "
                                          "through the host");
}

}  // namespace

ExportedMemory::ExportedMemory(const Stream& stream, std::size_t bytes) {
    stream.state().require_usable();
    detail::ContextState& home = stream.context().state();
    require_ipc(home);
    if (bytes == 0) throw OptionError("an export of 0 bytes: give 1 or more");
    buffer_ =
        Buffer<std::byte>::adopt(stream, detail::allocate_outside_pool(home, bytes, MemoryKind::adopted), bytes, true);
    buffer_.allocation().counted = bytes;
    const detail::Current current(home);
    cu::IpcHandle handle;
    home.check(home.driver->cuIpcGetMemHandle(&handle, buffer_.allocation().address), "cuIpcGetMemHandle");
    static_assert(sizeof handle == sizeof handle_.bytes);
    std::memcpy(handle_.bytes.data(), &handle, sizeof handle);
}

ImportedMemory::ImportedMemory(const Stream& stream, const IpcHandle& handle, std::size_t bytes) {
    stream.state().require_usable();
    detail::ContextState& home = stream.context().state();
    require_ipc(home);
    cu::IpcHandle opaque;
    std::memcpy(&opaque, handle.bytes.data(), sizeof opaque);
    constexpr unsigned enable_peer_access = 1;
    const detail::Current current(home);
    cu::DevicePtr address = 0;
    home.check(home.driver->cuIpcOpenMemHandle(&address, opaque, enable_peer_access), "cuIpcOpenMemHandle");
    buffer_ = Buffer<std::byte>::adopt(stream, address, bytes, false);
}

// If the GPU was lost or the context released, the memory is closed already.
ImportedMemory::~ImportedMemory() {
    if (!buffer_ || forked()) return;
    detail::Allocation& allocation = buffer_.allocation();
    detail::ContextState& home = allocation.context.state();
    if (home.released || !detail::lost_reason(home.ordinal).empty()) return;
    const detail::Current current(home, std::nothrow);
    for (const auto& user : allocation.users())
        if (!user->home().released) home.driver->cuStreamSynchronize(user->stream);
    if (const cu::Result failed = home.driver->cuIpcCloseMemHandle(allocation.address))
        home.say(text(home.label(), ": cuIpcCloseMemHandle failed: ", describe(failed)));
}

}  // namespace glint::gpu
