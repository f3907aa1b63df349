// Decides which client's job runs next on a worker's GPU, and how many jobs run simultaneously.
//
// Threads of their own run several jobs, so that uploads, kernels and the host's work overlap. For each kind of job
// there are as many as in a command that has a GPU to itself: one part of a stack, whose batches use four streams, and
// a block of a movie for each core (served_movies.hpp). Clients are served in rotation, one job each, so that a large
// stack or movie delays the others only by some of its parts. A job that found no memory is repeated when no other job
// runs and nothing is kept for movies.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <list>
#include <memory>

#include "glint/gpu_fit.hpp"
#include "offload/device_pool.hpp"
#include "warm_worker/job_threads.hpp"
#include "warm_worker/messages.hpp"
#include "warm_worker/served_movies.hpp"

namespace glint::warm_worker {

/// A worker's GPU, with what movies have on it.
struct ServedGpu final : offload::Device {
    ServedGpu(gpu::Lease lease, std::int64_t batch_size) : Device(lease), fitter(std::move(lease), batch_size) {}
    const gpu::Context& context() const override { return fitter.context(); }

    GpuFitter fitter;
    ServedMovies movies{fitter};
};

enum JobKind : std::size_t { fit_job, block_job, tidying };  // the last one when a client has left
constexpr std::size_t job_kinds = 3;

/// The jobs of a client that wait, in the order of their arrival.
struct JobQueue {
    struct WaitingJob {
        JobKind kind;
        std::function<void(ServedGpu&, MovieReply&)> work;  ///< sets nothing of the reply but what it knows
    };
    std::deque<WaitingJob> waiting = {};
    std::shared_ptr<SharedMovie> movie = {};  ///< of a client that has one
    /// Sends the result of a job. Empty: the client is gone.
    std::function<void(const MovieReply&)> tell = {};
};

/// To be used from one thread.
class JobScheduler {
  public:
    /// Its devices are ServedGpu.
    explicit JobScheduler(offload::DevicePool& pool) : pool_(pool) {}

    void join(std::shared_ptr<JobQueue> client) { clients_.push_back(std::move(client)); }
    /// Jobs of this client that are under way finish, and their results are dropped.
    void leave(const std::shared_ptr<JobQueue>& client);

    /// Starts jobs that wait, as many as there is room for.
    void start_jobs();
    /// Reports the results of the jobs that have ended.
    void settle() { threads_.settle(); }
    /// As JobThreads::descriptor(), for settle().
    int descriptor() const { return threads_.descriptor(); }

    int under_way() const;
    /// No job will be started any more: the GPU failed, or others have got it or are to have it.
    bool is_over() const { return over_; }

  private:
    struct Begun {
        std::shared_ptr<JobQueue> client;
        JobQueue::WaitingJob job;
        MovieReply reply = {};
        bool without_memory = false, alone = false;
        bool given_up = false;  // by SharedMovie::ends
    };
    bool take_device() { return device_ || (device_ = pool_.take_idle()); }
    ServedGpu& gpu() const { return static_cast<ServedGpu&>(*device_); }
    bool some_wait() const;
    bool there_is_room(const JobQueue& client, JobKind kind) const;
    void start(Begun begun);
    void end(Begun& begun);
    void end_all();
    void forget(const std::shared_ptr<JobQueue>& gone);

    offload::DevicePool& pool_;
    std::unique_ptr<offload::Device> device_;       // while jobs are under way; else the pool has it
    std::list<std::shared_ptr<JobQueue>> clients_;  // the next one to be served comes first
    std::deque<Begun> starved_;                     // to be done alone
    std::array<int, job_kinds> under_way_{};
    bool over_ = false;
    JobThreads threads_;  // ends first
};

}  // namespace glint::warm_worker
