// Device memory as protected address space. An access by the host is a bug of the program; an invalid access inside an
// operation is an illegal address (700).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "clock.hpp"
#include "gpu/cuda_abi.hpp"

namespace simgpu {

namespace cu = glint::cu;

/// Address space for a device, reserved once.
struct Arena {
    std::uintptr_t begin, end;
};
Arena arena_of(int device);

void set_access(std::uintptr_t begin, std::size_t bytes, HostAccess allowed);
/// Returns the pages to the operating system; they read as zero afterwards.
void drop_pages(std::uintptr_t begin, std::size_t bytes);
/// Replaces these pages by those of a file, a new one if `create`. The second function restores them.
void map_file(std::uintptr_t begin, std::size_t bytes, const std::string& file, bool create);
void unmap_file(std::uintptr_t begin, std::size_t bytes);

/// Runs device code, which may access all device memory. An invalid access ends it with 700.
cu::Result run_as_device(const std::function<cu::Result()>& code);
bool in_any_arena(std::uintptr_t address);

}  // namespace simgpu
