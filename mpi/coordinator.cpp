// The loop of rank 0, the loop of the other ranks, and the messages between them.
// SPDX-License-Identifier: MIT
#include "mpi/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "glint/error.hpp"

namespace glint::mpi {
namespace {

constexpr std::chrono::milliseconds pause{1};
constexpr double heartbeat_s = 1;

class Stopwatch {
  public:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - since_).count(); }
    double lap() {
        const double passed = seconds();
        since_ = Clock::now();
        return passed;
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point since_ = Clock::now();
};

}  // namespace

FrameRange Coordinator::next() {
    std::unique_lock lock(mutex_);
    answer_.reset();
    update_.wants = true;
    answered_.wait(lock, [&] { return answer_.has_value(); });
    return *answer_;
}

void Coordinator::done(std::int64_t frames, std::int64_t rows) {
    const std::lock_guard lock(mutex_);
    update_.frames += frames, update_.rows += rows;
}

void Coordinator::end(bool failed) {
    const std::lock_guard lock(mutex_);
    update_.ended = true, update_.failed = failed;
}

Coordinator::WorkerUpdate Coordinator::take_update() {
    const std::lock_guard lock(mutex_);
    return std::exchange(update_, {});
}

void Coordinator::answer(FrameRange frames) {
    {
        const std::lock_guard lock(mutex_);
        answer_ = frames;
    }
    answered_.notify_all();
}

void Coordinator::send(int rank, const Message& message) const { world_.send(rank, &message, sizeof message); }

std::optional<std::pair<int, Coordinator::Message>> Coordinator::receive() const {
    Message message;
    const std::optional<int> rank = world_.receive(&message, sizeof message);
    if (!rank) return std::nullopt;
    return std::pair{*rank, message};
}

void Coordinator::follow() {
    Stopwatch since_sent, turn;
    double silent_s = 0;
    for (bool reported = false;; std::this_thread::sleep_for(pause)) {
        require_heartbeat(0, silent_s, turn.lap());
        while (const auto received = receive()) {
            const Message& message = received->second;
            silent_s = 0;
            if (message.kind == assignment) answer({message.a, message.b});
            if (message.kind == stop_work) stop_ = true;
            if (message.kind == all_ended) return;
        }
        if (interrupted_ && !std::exchange(reported, true)) send(0, {interrupt});
        const WorkerUpdate update = take_update();
        if (update.frames > 0 || since_sent.seconds() > heartbeat_s) {
            send(0, {progress, update.frames, update.rows});
            since_sent.lap();
        }
        if (update.wants) send(0, {request, at_once_});
        if (update.failed) send(0, {failure});
        if (update.ended) send(0, {ended});
    }
}

void Coordinator::stop_all() {
    stop_ = true;
    if (std::exchange(stop_sent_, true)) return;
    send_to_all({stop_work});
}

void Coordinator::handle(int rank, const Message& message, FrameScheduler& scheduler, std::vector<RankStatus>& ranks,
                         const Report& report) {
    ranks[std::size_t(rank)].silent_s = 0;
    if (message.kind == request) {
        static const Stopwatch clock;
        const FrameRange frames = scheduler.assign(rank, message.a, clock.seconds());
        rank == 0 ? answer(frames) : send(rank, {assignment, frames.begin, frames.end});
    }
    if (message.kind == progress && message.a > 0) {
        frames_ += message.a, rows_ += message.b;
        report(frames_, rows_);
    }
    if (message.kind == interrupt || message.kind == failure) {
        scheduler.close();
        stop_all();
    }
    if (message.kind == ended) ranks[std::size_t(rank)].ended = true;
}

void Coordinator::lead(std::vector<FrameRange> to_do, const Report& report) {
    FrameScheduler scheduler(std::move(to_do), world_.size());
    std::vector<RankStatus> ranks(std::size_t(world_.size()));
    const auto handle_from = [&](int rank, const Message& message) { handle(rank, message, scheduler, ranks, report); };
    Stopwatch turn, since_sent;
    while (!std::all_of(ranks.begin(), ranks.end(), [](const RankStatus& status) { return status.ended; })) {
        while (const auto received = receive()) handle_from(received->first, received->second);
        if (interrupted_) handle_from(0, {interrupt});
        const WorkerUpdate update = take_update();
        if (update.frames > 0) handle_from(0, {progress, update.frames, update.rows});
        if (update.wants) handle_from(0, {request, at_once_});
        if (update.failed) handle_from(0, {failure});
        if (update.ended) handle_from(0, {ended});
        if (since_sent.seconds() > heartbeat_s) send_to_all({heartbeat}), since_sent.lap();
        std::this_thread::sleep_for(pause);
        const double turn_s = turn.lap();
        for (int rank = 1; rank < world_.size(); ++rank)
            if (RankStatus& status = ranks[std::size_t(rank)]; !status.ended)
                require_heartbeat(rank, status.silent_s, turn_s);
    }
    send_to_all({all_ended});
}

void Coordinator::send_to_all(const Message& message) const {
    for (int rank = 1; rank < world_.size(); ++rank) send(rank, message);
}

void Coordinator::require_heartbeat(int rank, double& silent_s, double turn_s) const {
    const double max_s = stop_ ? timeouts_.stopping_s : timeouts_.working_s;
    silent_s += std::min(turn_s, 0.1);
    if (silent_s > max_s)
        throw Error(
            fmt::format("rank {} has given no sign of life for {} s: it was killed, or its node was", rank, max_s));
}

}  // namespace glint::mpi
