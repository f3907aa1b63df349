// Sealed memory files (memfd), mapped.
// SPDX-License-Identifier: MIT
#include "warm_worker/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace glint::warm_worker {
namespace {

constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;

std::byte* mapped(int file, std::size_t bytes) {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

}  // namespace

std::optional<SharedMemory> SharedMemory::create(std::size_t bytes) {
    gpu::lease::Descriptor file(::memfd_create("glint", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file || ::ftruncate(file.get(), off_t(bytes)) != 0 ||
        ::fcntl(file.get(), F_ADD_SEALS, size_seals | F_SEAL_SEAL) != 0)
        return {};
    std::byte* data = mapped(file.get(), bytes);
    if (!data) return {};
    return SharedMemory(std::move(file), data, bytes);
}

std::optional<SharedMemory> SharedMemory::open(gpu::lease::Descriptor file, std::size_t most) {
    const int seals = ::fcntl(file.get(), F_GET_SEALS);  // fails for anything but a memory file
    struct stat status {};
    if (seals < 0 || (seals & size_seals) != size_seals || ::fstat(file.get(), &status) != 0 || status.st_size <= 0 ||
        std::size_t(status.st_size) > most)
        return {};
    std::byte* data = mapped(file.get(), std::size_t(status.st_size));
    if (!data) return {};
    return SharedMemory({}, data, std::size_t(status.st_size));
}

SharedMemory::SharedMemory(gpu::lease::Descriptor file, std::byte* data, std::size_t size)
    : file_(std::move(file)), data_(data), size_(size) {}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
    std::swap(file_, other.file_), std::swap(data_, other.data_), std::swap(size_, other.size_);
    return *this;
}

SharedMemory::~SharedMemory() {
    if (data_) ::munmap(data_, size_);
}

}  // namespace glint::warm_worker
