// The warm worker: a process that keeps a GPU open, and fits and localizes for the other processes of its user.
//
// This header is what the command line uses. `fit` and `pipeline` lie below and use interfaces of their own,
// fit/fit_service.hpp and pipeline/movie_service.hpp, whose factories are defined here, in fit_client.cpp and
// movie_client.cpp.
//
// - Between the processes: messages.hpp lists all messages; begin there. connection.hpp sends one message whole,
//   worker_sockets.hpp is where both sides meet, shared_memory.hpp and packed.hpp carry what is too large for a
//   message.
// - Client: worker_connection.hpp finds a worker or starts one (start.hpp); fit_client.cpp and movie_client.cpp hand
//   over rows of a stack and blocks of a movie.
// - Worker: server.cpp talks to clients, job_scheduler.hpp decides which job comes next, job_threads.hpp runs the jobs.
//   served_movies.hpp localizes blocks; resource_pool.hpp keeps each movie's resources on the GPU; job_frames.hpp reads
//   frames.
// - Both sides: fit_job.hpp, camera_setup.hpp and movie_messages.hpp turn arguments into messages and back. The worker
//   trusts no number that another process has sent.
//
// docs/decisions/0112-warm-worker-queue.md says why it works so, docs/explanation/gpu-sharing.md how it is used.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/progress.hpp"
#include "gpu/lease/descriptor.hpp"
#include "warm_worker/messages.hpp"

namespace glint::warm_worker {

/// The command of `glint` that is a worker.
constexpr const char* worker_command = "gpu-worker";

/// Settings that a worker is started with.
struct WorkerSettings {
    std::uint64_t gpu_memory_bytes = 0;  ///< to lease, beyond the context
    std::int64_t batch_size = 0;         ///< as in GpuFitter
};

struct ServerOptions {
    std::string name;  ///< of its socket
    WorkerSettings settings;
    double idle_s = 5;               ///< without a job, until it ends
    const StopFlag* stop = nullptr;  ///< ends it, too; borrowed
};

/// Serves clients in a process that a client has started; returns when the worker ends. Returns false immediately if
/// this process was started in another way. Call it before any thread is started.
bool serve(const ServerOptions& options);

/// Leases a GPU if one is free immediately, and serves until it has been idle for long enough, others have got the GPU
/// (as from a Fitter that is idle or has had its quantum), or the GPU fails. Runs jobs of several clients
/// simultaneously, and starts one of each client in turn. If no GPU is available, informs the connected clients, and
/// ends. `listener` and `lock` are those of WorkerSockets.
void serve(const ServerOptions& options, gpu::lease::Descriptor listener, gpu::lease::Descriptor lock);

/// A worker of this user, for display.
struct RunningWorker {
    std::uint32_t pid = 0;
    std::string uuid;  ///< of its GPU
    Facts facts;
};
/// Returns the workers of this build that answer within 0.2 s.
std::vector<RunningWorker> running_workers();

}  // namespace glint::warm_worker
