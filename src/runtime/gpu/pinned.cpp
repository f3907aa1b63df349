// Page-locked host memory: mmap()ed pages registered with the driver. Memory from cuMemHostAlloc would be unmapped with
// the context, while host code may still read it.
// SPDX-License-Identifier: MIT
#include "gpu/pinned.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "glint/gpu/buffer.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::detail {
namespace {

std::size_t whole_pages(std::size_t bytes) {
    const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

bool is_host_memory(const ContextState& home, const void* p) {
    constexpr unsigned host = 1;
    int memory_type = 2;
    unsigned type = 0;
    void* values[] = {&type};
    const auto address = reinterpret_cast<cu::DevicePtr>(p);
    return home.driver->cuPointerGetAttributes(1, &memory_type, values, address) == cu::success && type == host;
}

cu::Result register_pages(ContextState& home, void* memory, std::size_t size) {
    const cu::Result result = home.driver->cuMemHostRegister(memory, size, cu::host_portable);
    if (result != cu::success) return result;
    home.counters.pinned += size;
    const std::lock_guard lock(home.mutex);
    home.pinned[memory] = size;
    return result;
}

void unregister_pages(ContextState& home, void* memory, std::size_t size) noexcept {
    {
        const std::lock_guard lock(home.mutex);
        if (home.pinned.erase(memory) == 0) return;  // close() has freed it
    }
    const Current current(home, std::nothrow);
    home.driver->cuMemHostUnregister(memory);  // waits for the device
    home.counters.pinned -= size;
}

}  // namespace

void* pin(ContextState& home, std::size_t bytes) {
    home.require_usable("pinned memory");
    if (bytes == 0) return nullptr;
    const std::size_t size = whole_pages(bytes);
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw OutOfMemory(cu::out_of_memory, "the host has no room for " + bytes_text(bytes) + " of pinned memory",
                          bytes);
    // After fork(), copy-on-write could give the parent new pages while the device keeps the old pages.
    madvise(memory, size, MADV_DONTFORK);
    madvise(memory, size, MADV_HUGEPAGE);
    const Current current(home);
    const cu::Result result = register_pages(home, memory, size);
    if (result == cu::not_supported) return memory;  // stays pageable: copies are slower, but correct
    if (result != cu::success) munmap(memory, size);
    home.check(result, text("page-locking ", bytes_text(bytes), " of host memory").c_str());
    return memory;
}

void unpin(ContextState& home, void* memory, std::size_t bytes) noexcept {
    if (!memory || forked()) return;
    const std::size_t size = whole_pages(bytes);
    unregister_pages(home, memory, size);
    // The driver keeps the pages of a lost GPU registered. If the pages were unmapped, a later mapping at this address
    // could not be page-locked for another GPU.
    if (lost_reason(home.ordinal).empty()) munmap(memory, size);
}

bool is_pinned(const ContextState& home, const void* memory, std::size_t bytes) {
    const Current current(home, std::nothrow);
    const auto* first = static_cast<const std::byte*>(memory);
    return is_host_memory(home, first) && is_host_memory(home, first + bytes - 1);
}

void* allocate_pinned(const Context& context, std::size_t bytes) { return pin(context.state(), bytes); }

void free_pinned(const std::shared_ptr<ContextState>& context, void* memory, std::size_t bytes) {
    unpin(*context, memory, bytes);
}

}  // namespace glint::gpu::detail
