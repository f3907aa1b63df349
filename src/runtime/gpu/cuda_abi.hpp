// The part of the CUDA driver's and NVML's binary interface that glint uses. Declared here, so that everything except
// the kernels builds without a toolkit. cuda_abi_test.cpp compares it with cuda.h if that is installed.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace glint::cu {

using Result = int;
using Device = int;
using DevicePtr = unsigned long long;
using Context = struct ContextOpaque*;
using Stream = struct StreamOpaque*;
using Event = struct EventOpaque*;
using Module = struct ModuleOpaque*;
using Function = struct FunctionOpaque*;
using MemPool = struct MemPoolOpaque*;
using NvmlDevice = struct NvmlDeviceOpaque*;

struct Uuid {
    char bytes[16];
};

struct IpcHandle {
    char bytes[64];
};

// Results that are handled individually.
constexpr Result success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, no_device = 100,
                 invalid_device = 101, invalid_context = 201, no_binary_for_gpu = 209,
                 peer_access_already_enabled = 704, peer_access_unsupported = 217, not_found = 500, not_ready = 600,
                 illegal_address = 700, launch_failed = 719, not_supported = 801, capture_unsupported = 900,
                 unknown = 999;

// Attributes of a device.
constexpr int multiprocessor_count = 16, kernel_exec_timeout = 17, compute_mode = 20, unified_addressing = 41,
              capability_major = 75, capability_minor = 76, managed_memory = 83, concurrent_managed_access = 89,
              max_shared_memory_per_block_optin = 97, memory_pools_supported = 115;

// Attributes of a memory pool.
constexpr int pool_release_threshold = 4, pool_reserved_current = 5, pool_reserved_high = 6, pool_used_current = 7,
              pool_used_high = 8;

// Attributes of a function.
constexpr int func_shared_bytes = 1, func_local_bytes = 3, func_registers = 4, func_max_dynamic_shared = 8;

constexpr int capture_mode_relaxed = 2, capture_none = 0, capture_active = 1, capture_invalidated = 2;
constexpr unsigned stream_non_blocking = 1, event_disable_timing = 2, host_portable = 1, attach_global = 1;
constexpr int location_device = 1, location_host = 2;

struct Location {
    int type;
    int id;
};

struct MemAccess {
    Location location;
    int flags;  // 3: read and write
};

struct MemPoolProps {
    int alloc_type;    // 1: pinned to the device
    int handle_types;  // 0: not shared between processes
    Location location;
    void* win32_security_attributes;
    size_t max_size;
    unsigned short usage;
    unsigned char reserved[54];
};
static_assert(sizeof(MemPoolProps) == 88);

struct NvmlMemory {
    unsigned long long total, free, used;
};
struct NvmlUtilization {
    unsigned gpu, memory;  // percent
};
struct NvmlProcessUtilization {
    unsigned pid;
    unsigned long long at_us;                // of the host's clock
    unsigned gpu, memory, encoder, decoder;  // percent
};
struct NvmlProcess {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};
struct NvmlPciInfo {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

}  // namespace glint::cu
