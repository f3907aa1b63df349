// The loop of a warm worker.
//
// One thread, the loop's, talks to clients and decides what is done next; others do the jobs, several at once, so that uploads,
// kernels and what the host has to do overlap. How many of a kind there are at once is what a command with a GPU of its own has:
// one stack, whose batches have four streams, and of movies four blocks and eight launches of joint fits (movies_on_gpu.cpp). Clients have their turns one
// after the other, a job each, so that a large stack or movie keeps nobody waiting for longer than some of its parts take. A job
// without memory is done again when nothing else is under way and nothing is kept. A client that breaks the rules, or does not
// read what it is told, loses its connection.
// SPDX-License-Identifier: MIT
#include "pipeline/warm/server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <list>
#include <numeric>

#include "base/build_identity.hpp"
#include "base/clock.hpp"
#include "fit/worker/camera_setup.hpp"
#include "fit/worker/job.hpp"
#include "fit/worker/shared_memory.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu/device.hpp"
#include "offload/device_pool.hpp"
#include "pipeline/warm/job_threads.hpp"
#include "pipeline/warm/movie_parts.hpp"
#include "pipeline/warm/movies_on_gpu.hpp"

namespace glint::worker {
namespace {

constexpr int look_ms = 100;                   // at the clock, and at those who wait for the GPU
constexpr std::size_t most_clients = 500;      // the others queue at the socket
constexpr std::size_t most_jobs_waiting = 64;  // of a client; the others queue in its connection

/// The worker's GPU, with what movies have on it.
struct ServedGpu final : offload::Device {
    ServedGpu(gpu::Lease lease, std::int64_t batch_size) : Device(lease), fitter(std::move(lease), batch_size) {}
    const gpu::Context& context() const override { return fitter.context(); }

    GpuFitter fitter;
    MoviesOnGpu movies{fitter};
};

enum JobKind : std::size_t { fit_job, block_job, groups_job };
constexpr std::size_t job_kinds = 3;

struct Served;

/// What a client wants to have done.
struct ServedJob {
    JobKind kind = fit_job;
    std::function<void(ServedGpu&, MovieReply&)> work;
    std::shared_ptr<Served> client = {};  // once it is under way
    MovieReply reply = {};                // of a stack, too
    bool without_memory = false, alone = false;
};

struct Served {
    Connection connection;
    pid_t pid;
    std::optional<Wish> wish = {};                      // nothing: it has not been greeted
    std::shared_ptr<const SharedMemory> memory = {};    // of fits
    std::shared_ptr<const CameraView::Maps> maps = {};  // in that memory
    std::shared_ptr<const SharedMovie> movie = {};      // of a client that wishes for one
    std::deque<ServedJob> waiting = {};
    std::int64_t fits = 0;
};
using ServedClients = std::list<std::shared_ptr<Served>>;

class Server {
  public:
    Server(const ServerOptions& options, Descriptor listener) : options_(options), listener_(std::move(listener)) {}
    void run();
    void stop_listening() { listener_ = {}; }

  private:
    void open_gpu();
    bool stopped() const { return options_.stop && options_.stop->load(); }
    bool goes_on();
    void look(int timeout_ms);
    void accept_all();
    bool answer(Served& client);
    bool greet(Served& client);
    bool take_fit(Served& client);
    bool begin_movie(Served& client);
    bool take_movie_job(Served& client);
    ServedClients::iterator leave(ServedClients::iterator client);

    int under_way() const { return std::accumulate(under_way_.begin(), under_way_.end(), 0); }
    bool some_wait() const;
    bool there_is_room(const Served& client, JobKind kind) const;
    void start_jobs();
    void start(ServedJob job);
    void end(ServedJob& job);
    ServedGpu& gpu() const { return static_cast<ServedGpu&>(*device_); }
    void forget(const SharedMovie& movie);
    Facts facts() const;

    const ServerOptions options_;
    Descriptor listener_;
    offload::DevicePool pool_;
    std::unique_ptr<offload::Device> device_;  // while jobs are under way; else the pool has it
    Greeting greeting_;
    ServedClients clients_;          // whose turn is next comes first
    std::deque<ServedJob> starved_;  // to be done alone
    std::array<int, job_kinds> under_way_{};
    Clock::time_point last_job_ = Clock::now();
    std::int64_t fits_ = 0;
    bool ended_ = false;
    JobThreads threads_;  // ends first
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
    if (under_way() > 0) return true;
    return !ended_ && !stopped() && pool_.held() > 0 && seconds_since(last_job_) < options_.idle_s;
}

void Server::run() {
    // Again, so that who connects from now on is told of this process, not of the client that made the socket.
    (void)::listen(listener_.get(), most_waiting);
    open_gpu();
    accept_all();
    do look(look_ms);
    while (goes_on());
}

/// Waits for messages, and for jobs that are done; answers, and starts jobs. At the end it waits for jobs alone.
void Server::look(int timeout_ms) {
    const bool ending = (ended_ || stopped()) && under_way() > 0;
    std::vector<pollfd> waits{{threads_.descriptor(), POLLIN, 0}};
    const auto wait_for = [&](int descriptor, bool is_wanted) {
        waits.push_back({is_wanted && !ending ? descriptor : -1, POLLIN, 0});
    };
    wait_for(listener_.get(), clients_.size() < most_clients);
    for (const auto& client : clients_)
        wait_for(client->connection.descriptor(), client->waiting.size() < most_jobs_waiting);
    (void)::poll(waits.data(), nfds_t(waits.size()), timeout_ms);  // after a signal, nothing has come
    const bool somebody_comes = waits[1].revents != 0;
    auto wait = waits.begin() + 2;
    for (auto client = clients_.begin(); client != clients_.end();)
        client = (wait++)->revents == 0 || answer(**client) ? std::next(client) : leave(client);
    if (somebody_comes) accept_all();
    threads_.settle();
    start_jobs();
}

void Server::accept_all() {
    while (clients_.size() < most_clients) {
        Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) return;
        Connection connection(std::move(socket));
        if (const std::optional<pid_t> pid = connection.own_peer())
            clients_.push_back(std::make_shared<Served>(Served{std::move(connection), *pid}));
    }
}

/// Takes one message. False: this client is done with.
bool Server::answer(Served& client) {
    if (!client.wish) return greet(client);
    if (*client.wish == Wish::fits) return take_fit(client);
    return client.movie ? take_movie_job(client) : begin_movie(client);
}

/// What is under way for it is finished for nobody.
ServedClients::iterator Server::leave(ServedClients::iterator client) {
    const std::shared_ptr<Served> gone = *client;
    const auto next = clients_.erase(client);
    gone->connection = {}, gone->waiting.clear();
    if (gone->movie) forget(*gone->movie);
    return next;
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

bool Server::take_fit(Served& client) {
    FitJob job;
    Descriptor file;
    const Arrival arrival = client.connection.receive(job, 0, nullptr, &file);
    if (arrival != Arrival::message) return arrival == Arrival::nothing_yet;
    const bool other_memory = bool(file);
    if (other_memory) {
        std::optional<SharedMemory> memory = SharedMemory::open(std::move(file), most_memory);
        client.memory = memory ? std::make_shared<const SharedMemory>(std::move(*memory)) : nullptr;
        client.maps = {};
    }
    if (!client.memory || !is_sound(job, client.memory->size())) return false;
    if (other_memory && has_maps(job))
        client.maps = maps_of(job.camera, {client.memory->data(), client.memory->size()});
    if (has_maps(job) &&
        !(client.maps && client.maps->offset.size() == std::size_t(job.camera.width) * std::size_t(job.camera.height)))
        return false;
    const auto maps = has_maps(job) ? client.maps : nullptr;
    client.waiting.push_back({fit_job, [job, maps, memory = client.memory](ServedGpu& gpu, MovieReply& reply) {
                                  FitInfo info;
                                  const JobView work(job, memory->data() + job.at, maps);
                                  gpu.fitter.fit(work.rois, work.psf, job.setup.pixel_size_um, work.options, work.out,
                                                 &info);
                                  reply.fits = job.rows;
                                  reply.done = {.outcome = Outcome::fitted,
                                                .what = {},
                                                .batches = info.batches,
                                                .batch_size = info.batch_size,
                                                .bytes_up = info.bytes_up,
                                                .bytes_down = info.bytes_down,
                                                .transfer_s = info.transfer_seconds,
                                                .kernel_s = info.kernel_seconds};
                              }});
    return true;
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

bool Server::take_movie_job(Served& client) {
    MovieJob job;
    const Arrival arrival = client.connection.receive(job, 0);
    if (arrival != Arrival::message) return arrival == Arrival::nothing_yet;
    if (!client.movie->holds(job)) return false;
    client.waiting.push_back({job.work == MovieWork::block ? block_job : groups_job,
                              [job, movie = client.movie](ServedGpu& gpu, MovieReply& reply) {
                                  reply.place = job.place;
                                  gpu.movies.run(movie, job, reply);
                              }});
    return true;
}

bool Server::some_wait() const {
    return !starved_.empty() ||
           std::any_of(clients_.begin(), clients_.end(), [](const auto& client) { return !client->waiting.empty(); });
}

/// For one more job of that kind.
bool Server::there_is_room(const Served& client, JobKind kind) const {
    const std::size_t most =
        kind == fit_job ? 1
                        : gpu().movies.at_once(*client.movie, kind == block_job ? MovieWork::block : MovieWork::groups);
    return std::size_t(under_way_[kind]) < most;
}

/// Starts what there is room for, a job of each client in turn. Where there is none for a client, none of that kind is started
/// for others either, or it might wait for ever.
void Server::start_jobs() {
    if (ended_ || stopped() || !some_wait()) return;
    if (!device_ && !(device_ = pool_.take_idle())) return void(ended_ = true);  // others have got it
    if (!starved_.empty()) {
        if (under_way() > 0) return;
        gpu().movies.forget_all();
        ServedJob job = std::move(starved_.front());
        starved_.pop_front();
        job.alone = true;
        return start(std::move(job));
    }
    std::array<bool, job_kinds> full{};
    for (auto client = clients_.begin(); client != clients_.end();) {
        auto& waiting = (*client)->waiting;
        const auto next_job = std::find_if(waiting.begin(), waiting.end(), [&](const ServedJob& job) {
            full[job.kind] = full[job.kind] || !there_is_room(**client, job.kind);
            return !full[job.kind];
        });
        if (next_job == waiting.end()) {
            ++client;
            continue;
        }
        ServedJob job = std::move(*next_job);
        waiting.erase(next_job);
        job.client = *client;
        start(std::move(job));
        const auto served = client++;
        clients_.splice(clients_.end(), clients_, served);
        if (client == clients_.end()) client = served;  // it was the last one, and may have more
    }
}

/// Its reply has why it failed, if it did.
void Server::start(ServedJob started) {
    ++under_way_[started.kind];
    const auto job = std::make_shared<ServedJob>(std::move(started));
    const auto do_it = [job, &gpu = gpu()] {
        FitReply& done = job->reply.done;
        try {
            job->work(gpu, job->reply);
        } catch (const OptionError& error) {
            done.outcome = Outcome::refused, done.what = error.what();
        } catch (const std::exception& error) {  // of the GPU; or no memory in this process
            job->without_memory = dynamic_cast<const gpu::OutOfMemory*>(&error) != nullptr;
            done.outcome = Outcome::failed, done.what = error.what();
        }
    };
    threads_.run(do_it, [this, job] { end(*job); });
}

void Server::end(ServedJob& job) {
    --under_way_[job.kind];
    last_job_ = Clock::now();
    const FitReply& done = job.reply.done;
    const bool starved = job.without_memory && !job.alone;
    ended_ = ended_ || (done.outcome == Outcome::failed && !starved) || device_->should_give_way();
    Served& client = *job.client;
    if (!client.connection) {
        if (client.movie) forget(*client.movie);  // what this job had in use until now
    } else if (starved) {
        job.reply = {};
        starved_.push_back(std::move(job));
    } else {
        if (done.outcome == Outcome::fitted) client.fits += job.reply.fits, fits_ += job.reply.fits;
        const bool told = *client.wish == Wish::fits ? client.connection.send(done) : client.connection.send(job.reply);
        if (!told) leave(std::find(clients_.begin(), clients_.end(), job.client));
    }
    if (under_way() == 0) pool_.put_back(std::move(device_));
}

/// What it has on the GPU goes now, not only with the next job.
void Server::forget(const SharedMovie& movie) {
    std::unique_ptr<offload::Device> idle = device_ ? nullptr : pool_.take_idle();
    if (device_) gpu().movies.forget(movie);
    if (idle) static_cast<ServedGpu&>(*idle).movies.forget(movie);
    pool_.put_back(std::move(idle));
}

Facts Server::facts() const {
    Facts facts;
    facts.idle_s = seconds_since(last_job_), facts.fits = fits_;
    for (const auto& client : clients_) {
        if (!client->wish) continue;
        if (facts.count < Facts::most) facts.clients[facts.count] = {std::uint32_t(client->pid), client->fits};
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
