// All ranks of a run: collective calls on texts, and messages between two.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace glint::mpi {

/// All ranks of the program (MPI_COMM_WORLD). Collective calls sleep while they wait: MPI's own busy-wait would occupy
/// a core per rank, which the fitting threads need. Only the thread that constructed a World may use it.
class World {
  public:
    World(int& argc, char**& argv);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    const std::string& host() const { return host_; }

    /// Sends rank 0's text to all ranks.
    void broadcast(std::string& text) const;
    /// Collects all ranks' texts on rank 0, in the order of ranks; empty on the other ranks.
    std::vector<std::string> gather(const std::string& text) const;
    /// Sends a message; the receiver polls for it.
    void send(int rank, const void* bytes, int count) const;
    /// Receives a message if one has arrived, and returns the rank that sent it; nullopt if there is none. Never
    /// blocks.
    std::optional<int> receive(void* bytes, int count) const;
    /// Number of threads for this rank: GLINT_THREADS if set, else its share of the cores it may run on and of its
    /// cgroup's quota.
    int threads() const { return threads_; }
    /// Ends all ranks immediately.
    [[noreturn]] void abort(int exit_code) const;

  private:
    int rank_ = 0, size_ = 1, threads_ = 1;
    std::string host_;
};

}  // namespace glint::mpi
