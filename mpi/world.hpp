// MPI, begun and ended, and what ranks say to all at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint::mpi {

/// All ranks of the program. Those that wait sleep, where MPI's own waits would take a core each: ranks share their
/// nodes' cores with the threads that fit. Used by the thread that made it.
class World {
  public:
    World(int& argc, char**& argv);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    const std::string& host() const { return host_; }

    /// Rank 0's text, to all.
    void broadcast(std::string& text) const;
    /// All ranks' texts, in their order, to rank 0; nothing to others.
    std::vector<std::string> gather(const std::string& text) const;
    /// Threads for this rank: GLINT_THREADS, else its share of each core that it may run on, and of the quota of its
    /// control group.
    int threads() const { return threads_; }
    /// Ends all ranks at once.
    [[noreturn]] void abort(int exit_code) const;

  private:
    int rank_ = 0, size_ = 1, threads_ = 1;
    std::string host_;
};

}  // namespace glint::mpi
