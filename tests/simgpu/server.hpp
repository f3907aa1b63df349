// The simulated server: the state shared by all processes on it, in one mapped file (SIMGPU_STATE).
//
// There are no running totals: each process writes its own slot only, and sums are computed when they are needed, so
// that a kill -9 at any instant leaves nothing half-done. A slot counts while its process holds a lock on one byte of
// the file, and for SIMGPU_RELEASE_DELAY afterwards. The kernel drops the lock when the process dies, in any way. A
// forked child that keeps the file open keeps the memory, as on a real server.
// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <cstdint>
#include <string>

namespace simgpu {

constexpr int max_devices = 32, max_processes = 256;

/// A GPU, or a MIG instance of one.
struct Device {
    std::uint64_t total_bytes, base_bytes;  // base: used by the driver itself
    std::uint64_t foreign_bytes;            // used by a process that is not simulated
    int foreign_utilization;                // percent
    unsigned foreign_pid;                   // as NVML shows it
    int parent;                             // of a MIG instance: its GPU; else -1
    int instances;                          // how many MIG instances this GPU is cut into, which follow it; 0: no MIG
    int capability;                         // 90: compute capability 9.0
    int compute_mode;                       // 0: default, 2: prohibited, 3: one process only
    unsigned char uuid[16];
    char name[64];
};

/// The use of one device by one process.
struct Use {
    std::uint64_t context_bytes, managed_bytes, pool_bytes;
    std::uint32_t contexts;               // created, or being created
    std::uint32_t creating;               // the contexts that are being created
    std::uint64_t busy_until_ns;          // after recent operations; the basis of NVML's utilization
    std::uint64_t shown_bytes, shown_ns;  // what NVML shows of this process, and since when

    std::uint64_t bytes() const { return context_bytes + managed_bytes + pool_bytes; }
};

struct ProcessEntry {
    std::uint32_t used;
    std::int32_t pid;
    std::uint64_t ended_ns;  // when the end of the process was noticed; 0: it lives
    Use use[max_devices];
};

struct Server {
    std::uint64_t magic;
    int device_count;
    double time_scale;  // simulated durations are multiplied by it
    std::uint64_t release_delay_ns, nvml_lag_ns;
    pthread_mutex_t mutex;
    Device devices[max_devices];
    ProcessEntry slots[max_processes];
};

/// Maps the file; initializes it if it is new.
Server& server();

/// Holds the server's mutex. The constructor removes ended processes. Not recursive.
class ServerLock {
  public:
    ServerLock();
    ~ServerLock();
    ServerLock(const ServerLock&) = delete;
};

/// Claims a slot for this process until it ends.
void claim_slot();
/// Returns this process's own entry. Only between claim_slot() and exit.
Use& own_use(int device);

// The caller of these functions holds a ServerLock.
std::uint64_t used_bytes(int device);
std::uint64_t free_bytes(int device);
int context_count(int device);
int creating_count(int device);
int utilization_percent(int device);
bool is_busy(const ProcessEntry& slot, int device);  ///< whether it has computed recently
int busy_processes(int device);
/// Returns the memory that NVML reports for a process, which lags behind by SIMGPU_NVML_LAG.
std::uint64_t shown_bytes(ProcessEntry& slot, int device);

std::uint64_t now_ns();
std::string uuid_text(const Device& device);  // "GPU-..." or "MIG-...", as nvidia-smi prints it
std::string pci_bus_text(int device);

/// MIG instances are devices for CUDA. A GPU that is partitioned into instances is a device for NVML only.
inline bool is_for_cuda(const Device& device) { return device.instances == 0; }

}  // namespace simgpu
