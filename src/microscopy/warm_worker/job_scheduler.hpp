// Decides which client's job runs next on a worker's GPU, and how many jobs run simultaneously.
//
// Several jobs run on separate threads, so that uploads, kernels and the host's work overlap. The maximum for each kind
// of job is that of a command with a GPU to itself: one part of a stack, whose batches use four streams, or a block of
// a movie for each core (served_movies.hpp). Clients are served in rotation, one job each. A large stack or movie
// therefore delays other clients only by some of its parts. A job without enough memory is repeated when no other job
// runs and all resources kept for movies are freed.
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

/// A worker's GPU, with the resources of movies on it.
struct ServedGpu final : offload::Device {
    ServedGpu(gpu::Lease lease, std::int64_t batch_size) : Device(lease), fitter(std::move(lease), batch_size) {}
    const gpu::Context& context() const override { return fitter.context(); }

    GpuFitter fitter;
    ServedMovies movies{fitter};
};

enum JobKind : std::size_t { fit_job, block_job, tidying };  // tidying: when a client has left
constexpr std::size_t job_kinds = 3;

/// A client's waiting jobs in order of arrival.
struct JobQueue {
    struct WaitingJob {
        JobKind kind;
        std::function<void(ServedGpu&, MovieReply&)> work;  ///< sets only the fields of the reply that it knows
    };
    std::deque<WaitingJob> waiting = {};
    std::shared_ptr<SharedMovie> movie = {};  ///< null for a client without a movie
    /// Sends the result of a job. Empty when the client is gone.
    std::function<void(const MovieReply&)> tell = {};
};

/// Use it from one thread only.
class JobScheduler {
  public:
    /// The pool's devices must be ServedGpu.
    explicit JobScheduler(offload::DevicePool& pool) : pool_(pool) {}

    void join(std::shared_ptr<JobQueue> client) { clients_.push_back(std::move(client)); }
    /// Removes a client. Its jobs in progress finish, but their results are dropped.
    void leave(const std::shared_ptr<JobQueue>& client);

    /// Starts as many waiting jobs as there is room for.
    void start_jobs();
    /// Reports the results of finished jobs.
    void settle() { threads_.settle(); }
    /// Like JobThreads::descriptor(), for settle().
    int descriptor() const { return threads_.descriptor(); }

    int under_way() const;
    /// Returns true if no further job will be started: the GPU failed, or was or must be given to another process.
    bool is_over() const { return over_; }

  private:
    struct Begun {
        std::shared_ptr<JobQueue> client;
        JobQueue::WaitingJob job;
        MovieReply reply = {};
        bool without_memory = false, alone = false;
        bool given_up = false;  // interrupted by SharedMovie::ends
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
    std::unique_ptr<offload::Device> device_;       // while jobs are in progress; otherwise the pool holds it
    std::list<std::shared_ptr<JobQueue>> clients_;  // in the order in which they are served
    std::deque<Begun> starved_;                     // jobs to be run alone
    std::array<int, job_kinds> under_way_{};
    bool over_ = false;
    JobThreads threads_;  // destroyed first
};

}  // namespace glint::warm_worker
