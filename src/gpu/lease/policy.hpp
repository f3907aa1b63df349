// Who may run now, and on which GPUs: the decision alone, from a snapshot, without a clock, a file or a driver. The
// broker runs it, and so can a simulator of policies.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glint::gpu::lease {

/// A bit a GPU, by its index in Snapshot::gpus.
using GpuSet = std::uint64_t;
constexpr int most_gpus = 64;
constexpr GpuSet every_gpu = ~GpuSet(0);

enum class ComputeMode { shared, exclusive_process, prohibited };

/// A GPU or a MIG instance, as NVML sees it now.
struct Gpu {
    std::string uuid;
    std::uint64_t total_bytes = 0, free_bytes = 0;
    std::uint64_t context_bytes = 0;  ///< what creating a context takes
    int utilization_percent = -1;     ///< of the whole device; -1: unknown
    int processes = 0;                ///< that have a context here, as far as NVML shows them
    int most_contexts = 100;
    ComputeMode mode = ComputeMode::shared;
    bool mps = false;  ///< NVIDIA's MPS server is the one process here, and others go through it
};

/// What one live lease has on one GPU. Both amounts include the context.
struct Reservation {
    int gpu = 0;
    std::uint32_t uid = 0;
    std::uint64_t reserved_bytes = 0;
    std::uint64_t held_bytes = 0;  ///< of it, already taken from the GPU; 0: no context yet
    int more_contexts = 0;         ///< where there is one: those of further processes
    std::uint64_t arrived_ns = 0;  ///< when its ticket came
};

/// A live request that waits.
struct Ticket {
    std::uint32_t uid = 0;
    std::uint64_t need_bytes = 0;  ///< on each GPU, beyond the context
    int gpus = 1;
    GpuSet candidates = every_gpu;  ///< those that its process can use
    int passes = 0;                 ///< how many that came later have run since it came
    std::uint64_t arrived_ns = 0;
};

struct Snapshot {
    std::vector<Gpu> gpus;  ///< at most most_gpus
    std::vector<Reservation> reservations;
    std::vector<Ticket> tickets;  ///< first come first
};

struct Rules {
    int max_passes = 8;  ///< after these, nobody who came later gets in a ticket's way on the GPUs that it waits for
    int window = 16;     ///< how many tickets of each user, from the first, are looked at
    int max_shares_per_user =
        0;  ///< GPUs that one user's leases may have, a GPU shared counting each time; 0: any number
    /// The contention rule: where strangers are, so many times the need must be free, and the GPU be less busy than
    /// this.
    double foreign_headroom = 1.5;
    int foreign_utilization_percent = 90;
};

enum class Obstacle { none, memory, contexts, exclusive, foreign_processes, user_limit, others_first, no_such_gpu };

struct Decision {
    GpuSet gpus = 0;  ///< to take now; 0: wait
    Obstacle obstacle = Obstacle::none;
    /// Where the obstacle is least in the way (-1: nowhere), what is needed there with the context, and what is free
    /// there once every lease has what it reserved.
    int gpu = -1;
    std::uint64_t required_bytes = 0, available_bytes = 0;
    int place = 0;     ///< tickets before it that are looked at; 0: the head of the queue
    bool near = true;  ///< it is looked at itself: it is among the first of its user's
};

/// Decides for tickets 0 to `last`, each as if those before it that can run now did.
std::vector<Decision> plan(const Snapshot& snapshot, const Rules& rules, std::size_t last);

/// Whether `ticket` can run on all of `gpus` beside the reservations of `snapshot`; waiting tickets do not count.
bool still_fits(const Snapshot& snapshot, const Rules& rules, const Ticket& ticket, GpuSet gpus);

/// Whether enough candidates are large enough when they are empty.
bool ever_fits(const Snapshot& snapshot, const Ticket& ticket);

}  // namespace glint::gpu::lease
