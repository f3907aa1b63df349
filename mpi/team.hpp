// What ranks tell each other while they work: who wants frames, who gets which, what is done, and when to stop.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "glint/movie.hpp"
#include "glint/progress.hpp"
#include "mpi/dealer.hpp"
#include "mpi/world.hpp"

namespace glint::mpi {

/// How long a rank may be silent; when all stop they soon end, and a launcher that was asked to end them does not wait long.
struct Patience {
    double working_s = 120, stopping_s = 10;
};

/// One rank's side of a run. Its own thread does the work and calls `next`, `done`; the thread that has MPI calls `lead`
/// (rank 0) or `follow` (the others), which return when all ranks have ended, and in which nobody waits for anybody: they
/// look about every millisecond.
class Team {
  public:
    /// `interrupted`: set by signals. `at_once`: frames that keep this rank's threads busy.
    Team(const World& world, const StopFlag& interrupted, std::int64_t at_once, Patience patience = {120, 10})
        : world_(world), interrupted_(interrupted), at_once_(at_once), patience_(patience) {}

    /// Set where any rank was asked to stop, or failed: for the work's options.
    const StopFlag& stop() const { return stop_; }

    // From the thread that works.
    FrameRange next();                                  ///< waits for an answer; empty: no more
    void done(std::int64_t frames, std::int64_t rows);  ///< a block is finished
    void end(bool failed);                              ///< this rank will do no more

    // From the thread that has MPI.
    using Report = std::function<void(std::int64_t frames, std::int64_t rows)>;
    /// `report` hears of what all have done in this run. Both throw Error where a rank, or rank 0, gave no sign of life for
    /// a time: it was killed, and its launcher has not ended the others.
    void lead(std::vector<FrameRange> to_do, const Report& report);
    void follow();

  private:
    enum What : std::int64_t { want, finished, stopping, failure, ended, deal, halt, alive, goodbye };
    struct Word {
        std::int64_t what = 0, a = 0, b = 0;
    };
    struct Member {
        bool ended = false;
        double silent_s = 0;  ///< of turns of this process: when it stood still itself, all may have
    };

    /// What the thread that works has to tell, taken away.
    struct News {
        bool wants = false, ended = false, failed = false;
        std::int64_t frames = 0, rows = 0;
    };
    News take_news();
    void answer(FrameRange frames);
    void halt_all();
    void hear(int rank, const Word& word, Dealer& dealer, std::vector<Member>& members, const Report& report);
    /// Adds a turn to a silence; throws where it is too long.
    void require_sign_of_life(int rank, double& silent_s, double turn_s) const;
    void send(int rank, const Word& word) const;
    void tell_all(const Word& word) const;
    /// A word that has come, from anybody.
    std::optional<std::pair<int, Word>> receive() const;

    const World& world_;
    const StopFlag& interrupted_;
    std::int64_t at_once_;
    Patience patience_;
    StopFlag stop_{false};
    bool halted_ = false;  ///< rank 0: all know that they stop
    std::int64_t frames_ = 0, rows_ = 0;

    std::mutex mutex_;
    std::condition_variable answered_;
    std::optional<FrameRange> answer_;
    News news_;
};

}  // namespace glint::mpi
