// The loop of a warm worker.
//
// One thread does everything: a GPU does one job after another anyway, and the four streams of GpuFitter keep it busy within a
// job. Each round of the loop takes at most one job from each client, so that a large stack does not keep others waiting for
// longer than one of its parts. A client that breaks the rules, or does not read what it is told, loses its connection.
// SPDX-License-Identifier: MIT
#include "fit/worker/server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <list>

#include "base/build_identity.hpp"
#include "base/clock.hpp"
#include "fit/on_gpus.hpp"
#include "fit/worker/job.hpp"
#include "fit/worker/shared_memory.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu/device.hpp"

namespace glint::worker {
namespace {

constexpr int look_ms = 100;                               // at the clock, and at those who wait for the GPU
constexpr std::size_t most_clients = 500;                  // the others queue at the socket
constexpr std::size_t most_memory = std::size_t(1) << 30;  // that a client shares; only addresses are taken for it

struct Served {
    Connection connection;
    pid_t pid;
    bool greeted = false;
    std::optional<SharedMemory> memory = {};
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
    FitReply fit(const FitJob& job, std::byte* memory);
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
        FitOptions options;
        options.gpu_batch_size = options_.settings.batch_size;
        gpu::Lease lease = gpu::acquire({.bytes = options_.settings.gpu_memory_bytes, .timeout_s = 0});
        std::unique_ptr<offload::Device> device = pool_.open(std::move(lease), device_request(options).open);
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
bool Server::goes_on() { return !ended_ && pool_.held() > 0 && seconds_since(last_job_) < options_.idle_s; }

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
        for (auto client = clients_.begin(); client != clients_.end();)
            client = (wait++)->revents == 0 || answer(*client) ? std::next(client) : clients_.erase(client);
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
bool Server::answer(Served& client) { return client.greeted ? fit(client) : greet(client); }

bool Server::greet(Served& client) {
    Hello hello;
    const Arrival arrival = client.connection.receive(hello, 0);
    if (arrival != Arrival::message) return arrival == Arrival::nothing_yet;
    client.greeted = hello.magic == magic_number && hello.build.str() == build_identity() && hello.wish == Wish::fits;
    if (!client.connection.send(greeting_)) return false;
    if (!client.greeted && hello.wish == Wish::facts) client.connection.send(facts());
    return client.greeted && greeting_.why.str().empty();
}

bool Server::fit(Served& client) {
    FitJob job;
    Descriptor file;
    const Arrival arrival = client.connection.receive(job, 0, nullptr, &file);
    if (arrival != Arrival::message) return arrival == Arrival::nothing_yet;
    if (file) client.memory = SharedMemory::open(std::move(file), most_memory);
    if (!client.memory || !is_sound(job, client.memory->size())) return false;
    const FitReply reply = fit(job, client.memory->data() + job.at);
    last_job_ = Clock::now();
    if (reply.outcome == Outcome::fitted) client.fits += job.rows, fits_ += job.rows;
    return client.connection.send(reply);
}

FitReply Server::fit(const FitJob& job, std::byte* memory) {
    FitReply reply;
    std::unique_ptr<offload::Device> device = pool_.take_idle();
    if (!device) {
        reply.what = "the worker gave its GPU to others";
        return reply;
    }
    try {
        FitInfo info;
        const JobView work(job, memory);
        fitter_of(*device).fit(work.rois, work.psf, job.pixel_size_um, work.options, work.out, &info);
        reply = {.outcome = Outcome::fitted,
                 .what = {},
                 .batches = info.batches,
                 .batch_size = info.batch_size,
                 .bytes_up = info.bytes_up,
                 .bytes_down = info.bytes_down,
                 .transfer_s = info.transfer_seconds,
                 .kernel_s = info.kernel_seconds};
    } catch (const OptionError& error) {
        reply.outcome = Outcome::refused, reply.what = error.what();
    } catch (const std::exception& error) {  // of the GPU; or no memory in this process
        reply.what = error.what();
        ended_ = true;
    }
    ended_ = ended_ || device->should_give_way();
    pool_.put_back(std::move(device));
    return reply;
}

Facts Server::facts() const {
    Facts facts;
    facts.idle_s = seconds_since(last_job_), facts.fits = fits_;
    for (const Served& client : clients_) {
        if (!client.greeted) continue;
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
