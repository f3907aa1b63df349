// The loop of a warm worker: communicates with clients, and passes their jobs to a scheduler. Disconnects a client that
// breaks the protocol or does not read its replies.
// SPDX-License-Identifier: MIT
#include "warm_worker/warm_worker.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/build_identity.hpp"
#include "base/clock.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu/device.hpp"
#include "warm_worker/camera_setup.hpp"
#include "warm_worker/fit_job.hpp"
#include "warm_worker/job_scheduler.hpp"
#include "warm_worker/movie_messages.hpp"
#include "warm_worker/shared_memory.hpp"
#include "warm_worker/start.hpp"
#include "warm_worker/worker_sockets.hpp"

namespace glint::warm_worker {
namespace {

constexpr double tell_s = 1;                  // time in which a worker without a GPU informs its clients
constexpr int look_ms = 100;                  // interval of checking the clock, and whether processes wait for the GPU
constexpr std::size_t max_clients = 400;      // two descriptors each, of 1,024; further clients queue at the socket
constexpr std::size_t max_jobs_waiting = 64;  // per client; further jobs queue in its connection

struct ServedClient {
    Connection connection;
    pid_t pid;
    std::optional<RequestKind> request = {};          // empty until the client is greeted
    std::shared_ptr<const SharedMemory> memory = {};  // shared memory of fits
    LargeParts large = {};                            // packed in `memory`
    std::shared_ptr<const Descriptor> file = {};      // the last file that the client sent for its movie
    std::shared_ptr<JobQueue> jobs = std::make_shared<JobQueue>();
    bool does_not_read = false;
    std::int64_t fits = 0;
};

void fit_rows(GpuFitter& fitter, const FitJob& job, const SharedMemory& memory, const LargeParts& large,
              MovieReply& reply) {
    FitInfo info;
    const JobView work(job, memory.data() + job.at, large);
    fitter.fit(work.rois, work.psf, job.setup.pixel_size_nm, work.options, work.out, &info);
    reply.fits = job.rows;
    reply.done = {.outcome = Outcome::fitted,
                  .what = {},
                  .batches = info.batches,
                  .batch_size = info.batch_size,
                  .bytes_up = info.bytes_up,
                  .bytes_down = info.bytes_down,
                  .transfer_s = info.transfer_seconds,
                  .kernel_s = info.kernel_seconds};
}

class Server {
  public:
    Server(const ServerOptions& options, Descriptor listener) : options_(options), listener_(std::move(listener)) {}
    void run();
    void stop_listening() { listener_ = {}; }

  private:
    void open_gpu();
    bool is_ending() const;
    bool goes_on() const;
    void look();
    void accept_all();
    bool answer(ServedClient& client);
    bool greet(ServedClient& client);
    bool take_fit(ServedClient& client);
    bool begin_movie(ServedClient& client);
    bool take_movie_job(ServedClient& client);
    void tell(ServedClient& client, const MovieReply& reply);
    Facts facts() const;

    const ServerOptions options_;
    Descriptor listener_;
    offload::DevicePool pool_;
    Greeting greeting_;
    std::list<ServedClient> clients_;
    Clock::time_point last_job_ = Clock::now();
    std::int64_t fits_ = 0;
    JobScheduler scheduler_{pool_};  // destroyed first
};

/// Opens the GPU and records the result in the greeting.
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
    }
    last_job_ = Clock::now();
}

bool Server::is_ending() const {
    return scheduler_.is_over() || !greeting_.why.str().empty() || (options_.stop && options_.stop->load());
}

/// Returns false when the worker should end. The pool gives an idle GPU back if other processes wait for it. A worker
/// without a GPU first answers its clients.
bool Server::goes_on() const {
    if (scheduler_.under_way() > 0) return true;
    if (!greeting_.why.str().empty()) return !clients_.empty() && seconds_since(last_job_) < tell_s;
    return !is_ending() && pool_.held() > 0 && seconds_since(last_job_) < options_.idle_s;
}

void Server::run() {
    // Listens again: the kernel then reports this process to connecting clients, not the client that created the
    // socket.
    (void)::listen(listener_.get(), max_waiting);
    open_gpu();
    accept_all();
    do look();
    while (goes_on());
}

/// Waits for messages and finished jobs, answers them, and starts jobs. When the worker is ending, waits only for jobs.
void Server::look() {
    const bool only_jobs = is_ending() && scheduler_.under_way() > 0;
    std::vector<pollfd> waits{{scheduler_.descriptor(), POLLIN, 0}};
    const auto wait_for = [&](int descriptor, bool is_wanted) {
        waits.push_back({is_wanted && !only_jobs ? descriptor : -1, POLLIN, 0});
    };
    wait_for(listener_.get(), clients_.size() < max_clients);
    for (const ServedClient& client : clients_)
        wait_for(client.connection.descriptor(), client.jobs->waiting.size() < max_jobs_waiting);
    (void)::poll(waits.data(), nfds_t(waits.size()), look_ms);  // after a signal, no events are set
    const bool somebody_comes = waits[1].revents != 0;
    if (scheduler_.under_way() > 0) last_job_ = Clock::now();
    scheduler_.settle();
    auto wait = waits.begin() + 2;
    for (auto client = clients_.begin(); client != clients_.end();)
        if (const bool has_come = (wait++)->revents != 0; client->does_not_read || (has_come && !answer(*client))) {
            scheduler_.leave(client->jobs);
            client = clients_.erase(client);
        } else {
            ++client;
        }
    if (somebody_comes) accept_all();
    if (!is_ending()) scheduler_.start_jobs();
}

void Server::accept_all() {
    while (clients_.size() < max_clients) {
        Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) return;
        Connection connection(std::move(socket));
        const std::optional<pid_t> pid = connection.own_peer();
        if (!pid) continue;
        ServedClient& client = clients_.emplace_back(ServedClient{std::move(connection), *pid});
        client.jobs->tell = [this, &client](const MovieReply& reply) { tell(client, reply); };
        scheduler_.join(client.jobs);
    }
}

/// Processes one message. Returns false if the client must be disconnected.
bool Server::answer(ServedClient& client) {
    if (!client.request) return greet(client);
    if (*client.request == RequestKind::fits) return take_fit(client);
    return client.jobs->movie ? take_movie_job(client) : begin_movie(client);
}

bool Server::greet(ServedClient& client) {
    Hello hello;
    const Arrival arrival = client.connection.receive(hello, 0);
    if (arrival != Arrival::message) return arrival == Arrival::nothing_yet;
    const bool same = hello.magic == magic_number && hello.build.str() == build_identity();
    if (same && (hello.request == RequestKind::fits || hello.request == RequestKind::movie))
        client.request = hello.request;
    if (!client.connection.send(greeting_)) return false;
    if (!client.request && hello.request == RequestKind::facts) client.connection.send(facts());
    return client.request && greeting_.why.str().empty();
}

bool Server::take_fit(ServedClient& client) {
    FitJob job;
    Descriptor file;
    const Arrival arrival = client.connection.receive(job, 0, nullptr, &file);
    if (arrival != Arrival::message) return arrival == Arrival::nothing_yet;
    const bool other_memory = bool(file);
    if (other_memory) {
        std::optional<SharedMemory> memory = SharedMemory::open(std::move(file), max_memory);
        client.memory = memory ? std::make_shared<const SharedMemory>(std::move(*memory)) : nullptr;
        if (!client.memory) return false;
        std::optional<LargeParts> large = unpack(job.columns & has_camera ? job.camera : CameraSetup{}, job.setup,
                                                 {client.memory->data(), client.memory->size()});
        if (!large) return false;
        client.large = std::move(*large);
    }
    if (!client.memory || !is_sound(job, client.memory->size(), client.large)) return false;
    if (has_maps(job) && !(client.large.maps && cover(*client.large.maps, job.camera))) return false;
    client.jobs->waiting.push_back(
        {fit_job, [job, memory = client.memory, large = client.large](ServedGpu& gpu, MovieReply& reply) {
             fit_rows(gpu.fitter, job, *memory, large, reply);
         }});
    return true;
}

bool Server::begin_movie(ServedClient& client) {
    MovieSetup setup;
    Descriptor file;
    const Arrival arrival = client.connection.receive(setup, 0, nullptr, &file);
    if (arrival != Arrival::message) return arrival == Arrival::nothing_yet;
    std::optional<SharedMemory> memory = SharedMemory::open(std::move(file), max_memory);
    if (!memory) return false;
    std::optional<LocalizeJob> job = job_of(setup, {memory->data(), memory->size()});
    if (!job) return false;
    client.jobs->movie = std::make_shared<SharedMovie>(std::move(*job), setup.type, std::move(*memory));
    return true;
}

bool Server::take_movie_job(ServedClient& client) {
    MovieJob job;
    Descriptor file;
    const Arrival arrival = client.connection.receive(job, 0, nullptr, &file);
    if (arrival != Arrival::message) return arrival == Arrival::nothing_yet;
    if (!client.jobs->movie->holds(job)) return false;
    if (file) client.file = std::make_shared<const Descriptor>(std::move(file));
    client.jobs->waiting.push_back(
        {block_job, [job, movie = client.jobs->movie, of = client.file](ServedGpu& gpu, MovieReply& reply) {
             reply.place = job.place;
             gpu.movies.run(movie, job, of.get(), reply);
         }});
    return true;
}

void Server::tell(ServedClient& client, const MovieReply& reply) {
    if (reply.done.outcome == Outcome::fitted) client.fits += reply.fits, fits_ += reply.fits;
    client.does_not_read =
        !(*client.request == RequestKind::fits ? client.connection.send(reply.done) : client.connection.send(reply));
}

Facts Server::facts() const {
    Facts facts;
    facts.idle_s = seconds_since(last_job_), facts.fits = fits_;
    for (const ServedClient& client : clients_) {
        if (!client.request) continue;
        if (facts.count < Facts::most) facts.clients[facts.count] = {std::uint32_t(client.pid), client.fits};
        ++facts.count;
    }
    return facts;
}

}  // namespace

// Removes the socket and the lock as soon as this worker accepts no more jobs, because closing the GPU takes a while.
void serve(const ServerOptions& options, Descriptor listener, Descriptor lock) {
    Server server(options, std::move(listener));
    server.run();
    const WorkerSockets sockets(environment::lease_directory());
    if (sockets.why_not().empty()) sockets.remove(options.name);
    server.stop_listening();
    lock = {};
}

bool serve(const ServerOptions& options) {
    std::optional<Inherited> mine = inherited();
    if (!mine) return false;
    detach();
    serve(options, std::move(mine->listener), std::move(mine->lock));
    return true;
}

}  // namespace glint::warm_worker
