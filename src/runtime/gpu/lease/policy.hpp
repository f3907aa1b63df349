// The scheduling policy as a pure function of a snapshot: which request may start now, and on which GPUs. It uses no
// clock, file or driver, so the broker and the simulator of policies (bench/sharing) share it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glint::gpu::lease {

// Sums and differences that stay within 64 bits, because the amounts come from records of other processes.
constexpr std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }
constexpr std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a + b < a ? ~std::uint64_t(0) : a + b; }

/// A bit per GPU, by its index in Snapshot::gpus.
using GpuSet = std::uint64_t;
constexpr int max_gpus = 64;
constexpr GpuSet every_gpu = ~GpuSet(0);

enum class ComputeMode { shared, exclusive_process, prohibited };

/// A GPU or a MIG instance, as NVML sees it now.
struct Gpu {
    std::string uuid;
    std::uint64_t total_bytes = 0, free_bytes = 0;
    std::uint64_t context_bytes = 0;           ///< memory that a context takes by default
    std::uint64_t measured_context_bytes = 0;  ///< memory of the last measured context; 0: not measured
    int utilization_percent = -1;              ///< of the whole device; -1: unknown
    int foreign_utilization_percent = -1;      ///< by foreign processes; -1: cannot be separated from that of leases
    int processes = 0;                         ///< with a context here, as far as NVML lists them
    int max_contexts = 100;                    ///< that the GPU can hold
    ComputeMode mode = ComputeMode::shared;
    bool mps = false;  ///< NVIDIA's MPS server is the only process on this GPU, and serves all clients
};

/// The share of one live lease on one GPU. Both amounts include the context.
struct Reservation {
    int gpu = 0;
    std::uint32_t uid = 0;
    std::uint64_t reserved_bytes = 0;
    std::uint64_t held_bytes = 0;  ///< the part already allocated on the GPU; 0: no context yet
    int more_contexts = 0;         ///< contexts beyond the first, of further processes under this lease
    std::uint64_t arrived_ns = 0;  ///< arrival of its ticket
};

/// A live waiting request.
struct Ticket {
    std::uint32_t uid = 0;
    std::uint64_t need_bytes = 0;  ///< on each GPU, beyond the context
    int gpus = 1;
    GpuSet candidates = every_gpu;  ///< that its process can use
    int passes = 0;                 ///< how often it was overtaken: later tickets that were admitted since it arrived
    std::uint64_t arrived_ns = 0;
};

struct Snapshot {
    std::vector<Gpu> gpus;  ///< at most max_gpus
    std::vector<Reservation> reservations;
    std::vector<Ticket> tickets;  ///< in order of arrival
};

struct Rules {
    /// Starvation limit: a ticket overtaken this often gets GPUs reserved, and later tickets may only backfill there.
    int max_passes = 8;
    int window = 16;  ///< tickets of each user, from the first, that are considered at all
    /// Shares of GPUs that the leases of one user may have together (a GPU counts once per lease); 0: any number.
    int max_shares_per_user = 0;
    /// The contention rule. A foreign process holds a context but no lease, so its memory use may grow without notice.
    /// Beside a foreign process, this multiple of the need must be free, and the utilization must not exceed the limit.
    double foreign_headroom = 1.5;
    int foreign_utilization_percent = 90;
};

enum class Obstacle { none, memory, contexts, exclusive, foreign_processes, user_limit, others_first, no_such_gpu };

struct Decision {
    GpuSet gpus = 0;  ///< to claim now; 0: wait
    Obstacle obstacle = Obstacle::none;
    /// The candidate that is closest to being usable, the bytes required there with the context, and the bytes
    /// available there after every lease has allocated its reservation. -1: there is none, and the bytes required do
    /// not include a context.
    int gpu = -1;
    std::uint64_t required_bytes = 0, available_bytes = 0;
    int place = 0;     ///< considered tickets before it; 0: the head of the queue
    bool near = true;  ///< the ticket itself is considered: it is within Rules::window of its user
};

/// Decides for tickets 0 to `last` in order, assuming that every earlier ticket that can run does so. All processes
/// compute the plan from the same records. So it must not depend on anything else: no clock, no randomness, ties by
/// index.
std::vector<Decision> plan(const Snapshot& snapshot, const Rules& rules, std::size_t last);

/// What a lease of the ticket reserves on a GPU: its need and a context of the size that was measured last. If that
/// would not fit even after the end of all leases, uses the default size of a context: one unusual context must not
/// make a request impossible.
std::uint64_t reserved_bytes(const Snapshot& snapshot, const Ticket& ticket, std::size_t gpu);

/// Returns true if `ticket` can run on all of `gpus` with the reservations of `snapshot`. Waiting tickets do not count,
/// since the place in the queue was checked before the claim.
bool still_fits(const Snapshot& snapshot, const Rules& rules, const Ticket& ticket, GpuSet gpus);

/// Returns true if enough candidates would have enough memory when empty.
bool ever_fits(const Snapshot& snapshot, const Ticket& ticket);

}  // namespace glint::gpu::lease
