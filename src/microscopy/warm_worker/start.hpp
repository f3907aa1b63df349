// Starts a warm worker: a `glint` process that outlives the client and inherits nothing else from it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "warm_worker/worker_sockets.hpp"

namespace glint::warm_worker {

/// Runs `program gpu-worker NAME ...` with the socket and the lock, in its own session and without the caller's
/// streams. Returns false if no process could be started.
bool start(const std::string& program, const std::string& name, const WorkerSettings& settings,
           const Descriptor& listener, const Descriptor& lock);

/// Returns what start() passed to this process; nullopt if it was started in another way.
struct Inherited {
    Descriptor listener, lock;
};
std::optional<Inherited> inherited();

/// Detaches from the waiting parent, closes all other descriptors, and changes to the root folder, so that the worker
/// keeps no pipe open and no file system busy. Call it before any thread is started.
void detach();

}  // namespace glint::warm_worker
