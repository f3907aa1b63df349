// Starts jobs on threads and receives their results.
// SPDX-License-Identifier: MIT
#include "warm_worker/job_scheduler.hpp"

#include <algorithm>
#include <numeric>

#include "glint/error.hpp"

namespace glint::warm_worker {

int JobScheduler::under_way() const { return std::accumulate(under_way_.begin(), under_way_.end(), 0); }

bool JobScheduler::some_wait() const {
    return !starved_.empty() ||
           std::any_of(clients_.begin(), clients_.end(), [](const auto& client) { return !client->waiting.empty(); });
}

/// Returns true if there is room for one more job of that kind.
bool JobScheduler::there_is_room(const JobQueue& client, JobKind kind) const {
    const std::size_t most = kind == fit_job ? 1 : gpu().movies.at_once(*client.movie);
    return std::size_t(under_way_[kind]) < most;
}

/// Starts one job of each client in rotation. If there is no room for a client's job, later clients may not start that
/// kind of job either. Otherwise the first client might wait forever.
void JobScheduler::start_jobs() {
    if (over_ || !some_wait()) return;
    if (!take_device()) return void(over_ = true);
    if (!starved_.empty()) {
        if (under_way() > 0) return;
        gpu().movies.forget_all();
        Begun begun = std::move(starved_.front());
        starved_.pop_front();
        begun.alone = true;
        return start(std::move(begun));
    }
    std::array<bool, job_kinds> full{};
    for (auto client = clients_.begin(); client != clients_.end();) {
        auto& waiting = (*client)->waiting;
        const auto next_job = std::find_if(waiting.begin(), waiting.end(), [&](const JobQueue::WaitingJob& job) {
            full[job.kind] = full[job.kind] || !there_is_room(**client, job.kind);
            return !full[job.kind];
        });
        if (next_job == waiting.end()) {
            ++client;
            continue;
        }
        Begun begun{*client, std::move(*next_job)};
        waiting.erase(next_job);
        start(std::move(begun));
        const auto served = client++;
        clients_.splice(clients_.end(), clients_, served);
        if (client == clients_.end()) client = served;  // it was the last client, and may have more jobs
    }
}

/// Runs the job on a thread. If it fails, the reply contains the reason.
void JobScheduler::start(Begun started) {
    ++under_way_[started.job.kind];
    const auto begun = std::make_shared<Begun>(std::move(started));
    const auto do_it = [begun, &gpu = gpu()] {
        FitReply& done = begun->reply.done;
        try {
            begun->job.work(gpu, begun->reply);
        } catch (const OptionError& error) {
            done.outcome = Outcome::refused, done.what = error.what();
        } catch (const Cancelled& given_up) {
            begun->given_up = true;
            done.outcome = Outcome::failed, done.what = given_up.what();
        } catch (const std::exception& error) {  // an error of the GPU, or out of memory in this process
            begun->without_memory = dynamic_cast<const gpu::OutOfMemory*>(&error) != nullptr;
            done.outcome = Outcome::failed, done.what = error.what();
        }
    };
    threads_.run(do_it, [this, begun] { end(*begun); });
}

void JobScheduler::end(Begun& begun) {
    --under_way_[begun.job.kind];
    const bool starved = begun.without_memory && !begun.alone;
    const bool failed = begun.reply.done.outcome == Outcome::failed && !starved && !begun.given_up;
    if (failed || device_->should_give_way()) end_all();
    const std::shared_ptr<JobQueue> client = begun.client;
    if (!client->tell) {
        if (begun.job.kind != tidying) forget(client);  // releases the resources that this job used
    } else if (starved) {
        begun.reply = {};
        starved_.push_back(std::move(begun));
    } else {
        client->tell(begun.reply);
    }
    if (under_way() == 0) pool_.put_back(std::move(device_));
}

/// Starts no more jobs. Jobs in progress that end soon are finished.
void JobScheduler::end_all() {
    over_ = true;
    for (const auto& client : clients_)
        if (client->movie) client->movie->ends = true;
}

void JobScheduler::leave(const std::shared_ptr<JobQueue>& client) {
    clients_.remove(client);
    client->tell = nullptr, client->waiting.clear();
    if (client->movie) client->movie->ends = true;
    forget(client);
}

/// Frees the movie's resources on the GPU now, instead of with the next job. Runs on a thread, because the driver waits
/// for the device.
void JobScheduler::forget(const std::shared_ptr<JobQueue>& gone) {
    if (!gone->movie || !take_device()) return;
    const auto tidy = [movie = gone->movie](ServedGpu& gpu, MovieReply& reply) {
        gpu.movies.forget(*movie);
        reply.done.outcome = Outcome::fitted;
    };
    start({gone, {tidying, tidy}});
}

}  // namespace glint::warm_worker
