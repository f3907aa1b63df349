// Starts a warm worker: the program `glint` as a process of its own, which outlives the client and has nothing of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "warm_worker/worker_sockets.hpp"

namespace glint::warm_worker {

/// Runs `program gpu-worker NAME ...` with the socket and the lock, in a session of its own and without the caller's
/// streams. False: no process could be started.
bool start(const std::string& program, const std::string& name, const WorkerSettings& settings,
           const Descriptor& listener, const Descriptor& lock);

/// Returns what start() has handed to this process; nullopt if it was started in another way.
struct Inherited {
    Descriptor listener, lock;
};
std::optional<Inherited> inherited();

/// Leaves the process that waits for it, closes every other descriptor, and goes to the root folder, so that the worker
/// keeps no pipe open and no file system busy. Call it before any thread is started.
void detach();

}  // namespace glint::warm_worker
