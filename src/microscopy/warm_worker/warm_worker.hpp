// The warm worker: a process that keeps a GPU open, and fits and localizes for the other processes of its user.
//
// The command line uses this header. `fit` and `pipeline` are lower layers and use their own interfaces,
// fit/fit_service.hpp and pipeline/movie_service.hpp. Their factories are defined here, in fit_client.cpp and
// movie_client.cpp.
//
// - Between the processes: messages.hpp lists all messages; start there. connection.hpp sends complete messages, and
//   both sides meet at worker_sockets.hpp. shared_memory.hpp and packed.hpp transfer data too large for a message.
// - Client: worker_connection.hpp finds a worker or starts one (start.hpp). fit_client.cpp passes rows of a stack, and
//   movie_client.cpp passes blocks of a movie.
// - Worker: server.cpp communicates with clients, job_scheduler.hpp chooses the next job, job_threads.hpp runs the
//   jobs. served_movies.hpp localizes blocks; resource_pool.hpp keeps each movie's GPU resources; job_frames.hpp reads
//   frames.
// - Both sides: fit_job.hpp, camera_setup.hpp and movie_messages.hpp convert arguments to messages and back. The worker
//   validates every number from another process.
//
// docs/decisions/0112-warm-worker-queue.md gives the reasons for the design, and docs/explanation/gpu-sharing.md
// describes its use.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/progress.hpp"
#include "gpu/lease/descriptor.hpp"
#include "warm_worker/messages.hpp"

namespace glint::warm_worker {

/// The `glint` command that runs a worker.
constexpr const char* worker_command = "gpu-worker";

/// Settings with which a worker is started.
struct WorkerSettings {
    std::uint64_t gpu_memory_bytes = 0;  ///< bytes to lease, in addition to the context
    std::int64_t batch_size = 0;         ///< as in GpuFitter
};

struct ServerOptions {
    std::string name;  ///< of its socket
    WorkerSettings settings;
    double idle_s = 5;               ///< time without a job after which it ends
    const StopFlag* stop = nullptr;  ///< ends the worker when set; must outlive it
};

/// Serves clients in a process that a client has started. Returns true when the worker ends, or false immediately if
/// this process was started in another way. Call it before any thread is started.
bool serve(const ServerOptions& options);

/// Leases a GPU if one is free immediately, and serves clients until
/// - it has been idle for long enough,
/// - other processes have got the GPU (as from a Fitter that is idle or has had its quantum), or
/// - the GPU fails.
///
/// Runs jobs of several clients simultaneously, and starts one of each client in turn. If no GPU is available, informs
/// the connected clients and ends. `listener` and `lock` are those of WorkerSockets.
void serve(const ServerOptions& options, gpu::lease::Descriptor listener, gpu::lease::Descriptor lock);

/// A running worker of this user, for display.
struct RunningWorker {
    std::uint32_t pid = 0;
    std::string uuid;  ///< of its GPU
    Facts facts;
};
/// Returns the workers of this build that answer within 0.2 s.
std::vector<RunningWorker> running_workers();

}  // namespace glint::warm_worker
