// The loop of rank 0, that of the others, and the words between them.
// SPDX-License-Identifier: MIT
#include "mpi/team.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "glint/error.hpp"

namespace glint::mpi {
namespace {

constexpr int tag = 1;
constexpr std::chrono::milliseconds pause{1};
constexpr double sign_of_life_s = 1;

class Stopwatch {
  public:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
    double lap() {
        const double passed = seconds();
        begun_ = Clock::now();
        return passed;
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point begun_ = Clock::now();
};

}  // namespace

FrameRange Team::next() {
    std::unique_lock lock(mutex_);
    answer_.reset();
    news_.wants = true;
    answered_.wait(lock, [&] { return answer_.has_value(); });
    return *answer_;
}

void Team::done(std::int64_t frames, std::int64_t rows) {
    const std::lock_guard lock(mutex_);
    news_.frames += frames, news_.rows += rows;
}

void Team::end(bool failed) {
    const std::lock_guard lock(mutex_);
    news_.ended = true, news_.failed = failed;
}

Team::News Team::take_news() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, {});
}

void Team::answer(FrameRange frames) {
    {
        const std::lock_guard lock(mutex_);
        answer_ = frames;
    }
    answered_.notify_all();
}

void Team::send(int rank, const Word& word) const { MPI_Send(&word, 3, MPI_INT64_T, rank, tag, MPI_COMM_WORLD); }

std::optional<std::pair<int, Team::Word>> Team::receive() const {
    static_assert(sizeof(Word) == 3 * sizeof(std::int64_t));
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status);
    if (!there) return std::nullopt;
    Word word;
    MPI_Recv(&word, 3, MPI_INT64_T, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return std::pair{status.MPI_SOURCE, word};
}

void Team::follow() {
    Stopwatch since_word, turn;
    double silent_s = 0;
    for (bool told = false;; std::this_thread::sleep_for(pause)) {
        require_sign_of_life(0, silent_s, turn.lap());
        while (const auto heard = receive()) {
            const Word& word = heard->second;
            silent_s = 0;
            if (word.what == deal) answer({word.a, word.b});
            if (word.what == halt) stop_ = true;
            if (word.what == goodbye) return;
        }
        if (interrupted_ && !std::exchange(told, true)) send(0, {stopping});
        const News news = take_news();
        if (news.frames > 0 || since_word.seconds() > sign_of_life_s) {
            send(0, {finished, news.frames, news.rows});
            since_word.lap();
        }
        if (news.wants) send(0, {want, at_once_});
        if (news.failed) send(0, {failure});
        if (news.ended) send(0, {ended});
    }
}

void Team::halt_all() {
    stop_ = true;
    if (std::exchange(halted_, true)) return;
    tell_all({halt});
}

void Team::hear(int rank, const Word& word, Dealer& dealer, std::vector<Member>& members, const Report& report) {
    members[std::size_t(rank)].silent_s = 0;
    if (word.what == want) {
        static const Stopwatch clock;
        const FrameRange frames = dealer.deal(rank, word.a, clock.seconds());
        rank == 0 ? answer(frames) : send(rank, {deal, frames.begin, frames.end});
    }
    if (word.what == finished && word.a > 0) {
        frames_ += word.a, rows_ += word.b;
        report(frames_, rows_);
    }
    if (word.what == stopping || word.what == failure) {
        dealer.close();
        halt_all();
    }
    if (word.what == ended) members[std::size_t(rank)].ended = true;
}

void Team::lead(std::vector<FrameRange> to_do, const Report& report) {
    Dealer dealer(std::move(to_do), world_.size());
    std::vector<Member> members(std::size_t(world_.size()));
    const auto hear_from = [&](int rank, const Word& word) { hear(rank, word, dealer, members, report); };
    Stopwatch turn, since_word;
    while (!std::all_of(members.begin(), members.end(), [](const Member& member) { return member.ended; })) {
        while (const auto heard = receive()) hear_from(heard->first, heard->second);
        if (interrupted_) hear_from(0, {stopping});
        const News news = take_news();
        if (news.frames > 0) hear_from(0, {finished, news.frames, news.rows});
        if (news.wants) hear_from(0, {want, at_once_});
        if (news.failed) hear_from(0, {failure});
        if (news.ended) hear_from(0, {ended});
        if (since_word.seconds() > sign_of_life_s) tell_all({alive}), since_word.lap();
        std::this_thread::sleep_for(pause);
        const double turn_s = turn.lap();
        for (int rank = 1; rank < world_.size(); ++rank)
            if (Member& member = members[std::size_t(rank)]; !member.ended)
                require_sign_of_life(rank, member.silent_s, turn_s);
    }
    tell_all({goodbye});
}

void Team::tell_all(const Word& word) const {
    for (int rank = 1; rank < world_.size(); ++rank) send(rank, word);
}

void Team::require_sign_of_life(int rank, double& silent_s, double turn_s) const {
    const double most_s = stop_ ? patience_.stopping_s : patience_.working_s;
    silent_s += std::min(turn_s, 0.1);
    if (silent_s > most_s)
        throw Error(
            fmt::format("rank {} has given no sign of life for {} s: it was killed, or its node was", rank, most_s));
}

}  // namespace glint::mpi
