// The loop of a warm worker.
//
// One thread does everything: a GPU does one job after another anyway, and the four streams of GpuFitter keep it busy within a
// job. What movies have on the GPU is in movies_on_gpu.cpp. Each round of the loop takes at most one job from each client, or the
// groups of one that have come, so that a large stack does not keep others waiting for longer than one of its parts. A client
// that breaks the rules, or does not read what it is told, loses its connection.
// SPDX-License-Identifier: MIT
#include "pipeline/warm/server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <list>

#include "base/build_identity.hpp"
#include "base/clock.hpp"
#include "fit/worker/job.hpp"
#include "fit/worker/shared_memory.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu/device.hpp"
#include "offload/device_pool.hpp"
#include "pipeline/warm/movies_on_gpu.hpp"

namespace glint::worker {
namespace {

constexpr int look_ms = 100;               // at the clock, and at those who wait for the GPU
constexpr std::size_t most_clients = 500;  // the others queue at the socket

/// The worker's GPU, with what movies have on it.
struct ServedGpu final : offload::Device {
    ServedGpu(gpu::Lease lease, std::int64_t batch_size) : Device(lease), fitter(std::move(lease), batch_size) {}
    const gpu::Context& context() const override { return fitter.context(); }

    GpuFitter fitter;
    MoviesOnGpu movies{fitter};
};

struct Served {
    Connection connection;
    pid_t pid;
    std::optional<Wish> wish = {};                  // nothing: it has not been greeted
    std::optional<SharedMemory> memory = {};        // of fits
    std::shared_ptr<const SharedMovie> movie = {};  // of a client that wishes for one
    std::int64_t fits = 0;
};

class Server {
  public:
    Server(const ServerOptions& options, Descriptor listener) : options_(options), listener_(std::move(listener)) {}
    void run();
    void stop_listening() { listener_ = {}; }

  private:
    void open_gpu();
    bool goes_on();
    void accept_all();
    bool answer(Served& client);
    bool greet(Served& client);
    bool fit(Served& client);
    bool begin_movie(Served& client);
    bool go_on_with_movie(Served& client);
    template <class Work>
    void on_gpu(FitReply& reply, const Work& work);
    void count(Served& client, const FitReply& reply, std::int64_t fits);
    void forget_ended_movies();
    Facts facts() const;

    const ServerOptions options_;
    Descriptor listener_;
    offload::DevicePool pool_;
    Greeting greeting_;
    std::list<Served> clients_;
    Clock::time_point last_job_ = Clock::now();
    std::int64_t fits_ = 0;
    bool ended_ = false;
};

/// Leaves in the greeting what came of it.
void Server::open_gpu() {
    greeting_.build = build_identity();
    greeting_.pid = std::uint32_t(::getpid());
    try {
        require_gpu_kernels();
        gpu::Lease lease = gpu::acquire({.bytes = options_.settings.gpu_memory_bytes, .timeout_s = 0});
        std::unique_ptr<offload::Device> device = pool_.open(std::move(lease), [&](gpu::Lease held) {
            return std::make_unique<ServedGpu>(std::move(held), options_.settings.batch_size);
        });
        greeting_.uuid = device->uuid, greeting_.name = device->name;
        greeting_.driver = gpu::inventory().driver_version;
        pool_.put_back(std::move(device));
    } catch (const Error& error) {
        greeting_.why = error.what();
        ended_ = true;
    }
    last_job_ = Clock::now();
}

/// The pool gives an idle GPU back when others wait for it.
bool Server::goes_on() {
    const bool stopped = options_.stop && options_.stop->load();
    return !ended_ && !stopped && pool_.held() > 0 && seconds_since(last_job_) < options_.idle_s;
}

void Server::run() {
    // Again, so that who connects from now on is told of this process, not of the client that made the socket.
    (void)::listen(listener_.get(), most_waiting);
    open_gpu();
    accept_all();
    do {
        std::vector<pollfd> waits{{clients_.size() < most_clients ? listener_.get() : -1, POLLIN, 0}};
        for (const Served& client : clients_) waits.push_back({client.connection.descriptor(), POLLIN, 0});
        if (::poll(waits.data(), nfds_t(waits.size()), look_ms) <= 0) continue;
        auto wait = waits.begin();
        const bool somebody_comes = (wait++)->revents != 0;
        const std::size_t before = clients_.size();
        for (auto client = clients_.begin(); client != clients_.end();)
            client = (wait++)->revents == 0 || answer(*client) ? std::next(client) : clients_.erase(client);
        if (clients_.size() < before) forget_ended_movies();
        if (somebody_comes) accept_all();
    } while (goes_on());
}

void Server::accept_all() {
    while (clients_.size() < most_clients) {
        Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) return;
        Connection connection(std::move(socket));
        if (const std::optional<pid_t> pid = connection.own_peer()) clients_.push_back({std::move(connection), *pid});
    }
}

/// Takes one message. False: this client is done with.
bool Server::answer(Served& client) {
    if (!client.wish) return greet(client);
    if (*client.wish == Wish::fits) return fit(client);
    return client.movie ? go_on_with_movie(client) : begin_movie(client);
}

bool Server::greet(Served& client) {
    Hello hello;
    const Arrival arrival = client.connection.receive(hello, 0);
    if (arrival != Arrival::message) return arrival == Arrival::nothing_yet;
    const bool same = hello.magic == magic_number && hello.build.str() == build_identity();
    if (same && (hello.wish == Wish::fits || hello.wish == Wish::movie)) client.wish = hello.wish;
    if (!client.connection.send(greeting_)) return false;
    if (!client.wish && hello.wish == Wish::facts) client.connection.send(facts());
    return client.wish && greeting_.why.str().empty();
}

bool Server::fit(Served& client) {
    FitJob job;
    Descriptor file;
    const Arrival arrival = client.connection.receive(job, 0, nullptr, &file);
    if (arrival != Arrival::message) return arrival == Arrival::nothing_yet;
    if (file) client.memory = SharedMemory::open(std::move(file), most_memory);
    if (!client.memory || !is_sound(job, client.memory->size())) return false;
    FitReply reply;
    on_gpu(reply, [&](ServedGpu& gpu) {
        FitInfo info;
        const JobView work(job, client.memory->data() + job.at);
        gpu.fitter.fit(work.rois, work.psf, job.setup.pixel_size_um, work.options, work.out, &info);
        reply = {.outcome = Outcome::fitted,
                 .what = {},
                 .batches = info.batches,
                 .batch_size = info.batch_size,
                 .bytes_up = info.bytes_up,
                 .bytes_down = info.bytes_down,
                 .transfer_s = info.transfer_seconds,
                 .kernel_s = info.kernel_seconds};
    });
    count(client, reply, job.rows);
    return client.connection.send(reply);
}

bool Server::begin_movie(Served& client) {
    MovieSetup setup;
    Descriptor file;
    const Arrival arrival = client.connection.receive(setup, 0, nullptr, &file);
    if (arrival != Arrival::message) return arrival == Arrival::nothing_yet;
    std::optional<SharedMemory> memory = SharedMemory::open(std::move(file), most_memory);
    if (!memory) return false;
    std::optional<Job> job = job_of(setup, {memory->data(), memory->size()});
    if (!job) return false;
    client.movie = std::make_shared<const SharedMovie>(SharedMovie{std::move(*job), setup.type, std::move(*memory)});
    return true;
}

/// Takes one job, but of groups all that have come: they are fitted at once, and one launch for all takes little longer than for
/// one of them.
bool Server::go_on_with_movie(Served& client) {
    constexpr std::size_t most_at_once = 64;
    std::vector<MovieJob> jobs;
    do {
        MovieJob job;
        const Arrival arrival = client.connection.receive(job, 0);
        if (arrival == Arrival::nothing_yet) break;
        if (arrival == Arrival::gone || !client.movie->holds(job)) return false;
        jobs.push_back(job);
    } while (jobs.back().work == MovieWork::groups && jobs.size() < most_at_once);
    if (jobs.empty()) return true;
    std::vector<MovieReply> replies(jobs.size());
    FitReply all{.outcome = Outcome::fitted, .what = {}};
    on_gpu(all, [&](ServedGpu& gpu) { gpu.movies.run(client.movie, jobs, replies); });
    for (std::size_t k = 0; k < jobs.size(); ++k) {
        MovieReply& reply = replies[k];
        reply.place = jobs[k].place;
        if (all.outcome != Outcome::fitted) reply.done = all;
        count(client, reply.done, reply.fits);
        if (!client.connection.send(reply)) return false;
    }
    return true;
}

/// Leaves in the reply why work(gpu) failed, if it did.
template <class Work>
void Server::on_gpu(FitReply& reply, const Work& work) {
    std::unique_ptr<offload::Device> device = pool_.take_idle();
    if (!device) {
        reply.outcome = Outcome::failed, reply.what = "the worker gave its GPU to others";
        return;
    }
    try {
        work(static_cast<ServedGpu&>(*device));
    } catch (const OptionError& error) {
        reply.outcome = Outcome::refused, reply.what = error.what();
    } catch (const std::exception& error) {  // of the GPU; or no memory in this process
        reply.outcome = Outcome::failed, reply.what = error.what();
        ended_ = true;
    }
    ended_ = ended_ || device->should_give_way();
    pool_.put_back(std::move(device));
}

void Server::count(Served& client, const FitReply& reply, std::int64_t fits) {
    last_job_ = Clock::now();
    if (reply.outcome == Outcome::fitted) client.fits += fits, fits_ += fits;
}

/// What they have on the GPU goes now, not only with the next job.
void Server::forget_ended_movies() {
    std::unique_ptr<offload::Device> device = pool_.take_idle();
    if (!device) return;
    static_cast<ServedGpu&>(*device).movies.forget_ended();
    pool_.put_back(std::move(device));
}

Facts Server::facts() const {
    Facts facts;
    facts.idle_s = seconds_since(last_job_), facts.fits = fits_;
    for (const Served& client : clients_) {
        if (!client.wish) continue;
        if (facts.count < Facts::most) facts.clients[facts.count] = {std::uint32_t(client.pid), client.fits};
        ++facts.count;
    }
    return facts;
}

}  // namespace

// Nobody may find the socket, or the lock taken, once this worker takes no more jobs: closing the GPU takes a while.
void serve(const ServerOptions& options, Descriptor listener, Descriptor lock) {
    Server server(options, std::move(listener));
    server.run();
    const Rendezvous rendezvous(environment::lease_directory());
    if (rendezvous.why_not().empty()) rendezvous.remove(options.name);
    server.stop_listening();
    lock = {};
}

}  // namespace glint::worker
