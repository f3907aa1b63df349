// The sockets where a user's warm workers and their clients meet, in a folder of the lease directory that only this
// user can enter.
//
// The client that starts a worker creates the socket, so that others can queue there immediately, and hands it over.
// For each name there is a lock, which the worker inherits and holds for its life: its owner may create the socket
// again.
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

constexpr int most_waiting = 1024;  ///< clients that a worker has not accepted yet

/// A socket's name, of all that decides which GPU a program gets and what it does there: the build, the settings, the
/// variables of the environment, the instruction set, the control group (batch jobs and sessions are accounted by it)
/// and the pid namespace.
std::string name_of(const WorkerSettings& settings);

using gpu::lease::IfMissing;

class WorkerSockets {
  public:
    /// Opens the folder `worker.UID` in the lease directory, or the one of a random name. See why_not().
    explicit WorkerSockets(const std::string& lease_directory, IfMissing if_missing = IfMissing::create);
    /// Why it cannot be used: not there, or not this user's alone. Empty: it can.
    const std::string& why_not() const { return why_not_; }

    /// A connection to whoever listens there, if that is a process of this user. Never waits.
    Connection connect(const std::string& name) const;
    /// Returns the right to start a worker of this name; none while one is running.
    Descriptor lock(const std::string& name) const;
    /// Creates the socket, and replaces one that a worker left. For the owner of the lock.
    Descriptor listen(const std::string& name) const;
    /// Removes socket and lock. For the owner of the lock, who lets go of it afterwards.
    void remove(const std::string& name) const;
    /// Returns the names of all sockets, also those that dead workers have left.
    std::vector<std::string> names() const;

  private:
    std::string why_not_;
    Descriptor folder_;
};

}  // namespace glint::warm_worker
