// The protocol between the ranks of a run: requests for frames, assignments, progress, and when to stop.
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
#include "mpi/frame_scheduler.hpp"
#include "mpi/world.hpp"

namespace glint::mpi {

/// How long a rank may send nothing before it counts as dead: while ranks work, and after all were asked to stop. The
/// second time is short, because a launcher that terminates its job waits only a few seconds before it kills the ranks.
struct Timeouts {
    double working_s = 120, stopping_s = 10;
};

/// One rank's side of a run, between two threads. The worker thread computes and calls `next`, `done` and `end`. The
/// other thread has initialised MPI (MPI_THREAD_FUNNELED), and only it may call MPI. It runs `lead` on rank 0 or
/// `follow` on the other ranks. Both functions poll about every millisecond instead of blocking, and return when all
/// ranks have ended.
class Coordinator {
  public:
    /// `interrupted`: set by signals. `at_once`: how many frames occupy this rank's threads.
    Coordinator(const World& world, const StopFlag& interrupted, std::int64_t at_once, Timeouts timeouts = {120, 10})
        : world_(world), interrupted_(interrupted), at_once_(at_once), timeouts_(timeouts) {}

    /// Set as soon as any rank was interrupted or failed; the work's options point to it.
    const StopFlag& stop() const { return stop_; }

    // For the worker thread.
    FrameRange next();                                  ///< blocks until frames are assigned; empty: none are left
    void done(std::int64_t frames, std::int64_t rows);  ///< a block is finished
    void end(bool failed);                              ///< this rank's work has ended

    // For the MPI thread.
    using Report = std::function<void(std::int64_t frames, std::int64_t rows)>;
    /// `report` receives the totals of all ranks in this run. Both functions throw Error if a rank, or rank 0, has sent
    /// nothing for the time in `Timeouts`: it was killed, and its launcher has not ended the other ranks.
    void lead(std::vector<FrameRange> to_do, const Report& report);
    void follow();

  private:
    /// Messages to rank 0: request ... ended. Messages from rank 0: assignment ... all_ended.
    enum MessageKind : std::int64_t {
        request,     ///< a: frames that occupy the rank's threads
        progress,    ///< a: frames, b: rows finished since the last one; also serves as heartbeat
        interrupt,   ///< the rank got a signal
        failure,     ///< the rank's work failed
        ended,       ///< the rank's work has ended
        assignment,  ///< frames [a, b)
        stop_work,   ///< finish the blocks in progress, and end
        heartbeat,   ///< rank 0 is alive
        all_ended    ///< every rank has ended
    };
    struct Message {
        std::int64_t kind = 0, a = 0, b = 0;
    };
    /// The state of a rank, as known to rank 0.
    struct RankStatus {
        bool ended = false;
        double silent_s = 0;  ///< since its last message, counted by iterations: see require_heartbeat
    };

    /// What the worker thread reported since the last call of take_update().
    struct WorkerUpdate {
        bool wants = false, ended = false, failed = false;
        std::int64_t frames = 0, rows = 0;
    };
    WorkerUpdate take_update();
    void answer(FrameRange frames);
    void stop_all();
    void handle(int rank, const Message& message, FrameScheduler& scheduler, std::vector<RankStatus>& ranks,
                const Report& report);
    /// Adds an iteration of the loop to the time that a rank has been silent. Throws Error if the time is too long. An
    /// iteration counts for at most 0.1 s: if this process was suspended, the other ranks may have been suspended, too.
    void require_heartbeat(int rank, double& silent_s, double turn_s) const;
    void send(int rank, const Message& message) const;
    void send_to_all(const Message& message) const;
    /// Returns a message that has arrived and the rank that sent it; nullopt if there is none. Never blocks.
    std::optional<std::pair<int, Message>> receive() const;

    const World& world_;
    const StopFlag& interrupted_;
    std::int64_t at_once_;
    Timeouts timeouts_;
    StopFlag stop_{false};
    bool stop_sent_ = false;  ///< rank 0: all ranks have been asked to stop
    std::int64_t frames_ = 0, rows_ = 0;

    std::mutex mutex_;  ///< guards the following members
    std::condition_variable answered_;
    std::optional<FrameRange> answer_;
    WorkerUpdate update_;
};

}  // namespace glint::mpi
