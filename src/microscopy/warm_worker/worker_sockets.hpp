// The sockets at which a user's warm workers and their clients meet, in a folder of the lease directory that only this
// user can enter.
//
// The client that starts a worker creates the socket and passes it to the worker, so that other clients can queue there
// immediately. For each name there is a lock, which the worker inherits and holds while it runs. Only the lock's owner
// may create the socket again.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/lease/state_dir.hpp"
#include "warm_worker/connection.hpp"
#include "warm_worker/warm_worker.hpp"

namespace glint::warm_worker {

constexpr int max_waiting = 1024;  ///< clients that a worker has not accepted yet

/// Returns a socket's name, which depends on everything that decides which GPU a program gets and what it does there:
/// - the build, the settings and the instruction set,
/// - the environment variables,
/// - the control group (batch jobs and sessions are accounted by it) and the pid namespace.
std::string to_name(const WorkerSettings& settings);

using gpu::lease::IfMissing;

class WorkerSockets {
  public:
    /// Opens the folder `worker.UID` in the lease directory, or the one with a random name. See why_not().
    explicit WorkerSockets(const std::string& lease_directory, IfMissing if_missing = IfMissing::create);
    /// Returns why the folder cannot be used: missing, or accessible to others. Empty if it can be used.
    const std::string& why_not() const { return why_not_; }

    /// Returns a connection to the process that listens there, if it belongs to this user. Never waits.
    Connection connect(const std::string& name) const;
    /// Returns the right to start a worker of this name; an empty descriptor while one is running.
    Descriptor lock(const std::string& name) const;
    /// Creates the socket, and replaces one that a worker left behind. Only for the owner of the lock.
    Descriptor listen(const std::string& name) const;
    /// Removes socket and lock. Only for the owner of the lock, who must release it afterwards.
    void remove(const std::string& name) const;
    /// Returns the names of all sockets, including those left by dead workers.
    std::vector<std::string> names() const;

  private:
    std::string why_not_;
    Descriptor folder_;
};

}  // namespace glint::warm_worker
