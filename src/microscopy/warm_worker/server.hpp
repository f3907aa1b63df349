// The warm worker: holds a lease and a context, and fits and localizes for the processes of its user.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/progress.hpp"
#include "warm_worker/worker_sockets.hpp"

namespace glint::warm_worker {

struct ServerOptions {
    std::string name;  ///< of its socket
    WorkerSettings settings;
    double idle_s = 5;               ///< without a job, until it ends
    const StopFlag* stop = nullptr;  ///< ends it, too; borrowed
};

/// Leases a GPU, if one is free at once, and serves until it has been idle for long enough, others have got the GPU
/// (as from a Fitter that is idle or has had its quantum), or the GPU fails. Jobs of several clients are under way at once, one of each
/// client begun in turn. Where no GPU can be had, tells so to those who have come, and ends. `listener` and `lock` as of Rendezvous.
void serve(const ServerOptions& options, Descriptor listener, Descriptor lock);

}  // namespace glint::warm_worker
