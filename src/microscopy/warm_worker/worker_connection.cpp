// Connects to a worker, greets it, and starts one if none is running.
// SPDX-License-Identifier: MIT
#include "warm_worker/worker_connection.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/build_identity.hpp"
#include "base/clock.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "gpu/process.hpp"
#include "psf/psf_text.hpp"
#include "warm_worker/start.hpp"

namespace glint::warm_worker {
namespace {

constexpr double answer_s = 0.2;   // maximum wait for a running worker, if no worker may be started
constexpr double greeting_s = 30;  // maximum wait until a worker has opened its GPU
constexpr double connect_s = 2;    // until a worker that accepts no more clients ends, and another one starts
constexpr std::chrono::milliseconds look_again{5};

WorkerSettings settings_of(const Placement& placement) { return {placement.gpu_memory_bytes, placement.batch_size}; }

}  // namespace

Hello hello_for(RequestKind request) {
    Hello hello;
    hello.build = build_identity();
    hello.request = request;
    return hello;
}

bool wants_worker(const Psf& psf, const Placement& placement) {
    return !placement.gpu_worker.empty() && placement.gpus == 1 && to_text(psf).size() <= max_psf_text &&
           environment::inherited_lease().empty() && environment::gpu_enabled();
}

bool WorkerConnection::serves(const Placement& placement) const {
    return connection_ && to_name(settings_of(placement)) == name_;
}

/// Returns true if the worker's process is stopped. Before the greeting, only a new connection shows which process
/// listens. A connection older than the worker's hold on the socket names the process that created the socket.
bool WorkerConnection::peer_is_stopped() const {
    std::optional<pid_t> peer;
    if (greeting_.pid) {
        peer = pid_t(greeting_.pid);
    } else if (const WorkerSockets sockets(environment::lease_directory(), IfMissing::leave);
               sockets.why_not().empty()) {
        const Connection another = sockets.connect(name_);
        if (another) peer = another.own_peer();
    }
    return peer && gpu::is_stopped(unsigned(*peer), ::geteuid());
}

bool WorkerConnection::connect(const Placement& placement, const StopFlag* stop, RequestKind request, bool may_start) {
    disconnect();
    greeting_ = {};
    name_ = to_name(settings_of(placement));
    const WorkerSockets sockets(environment::lease_directory());
    if (why_not_ = sockets.why_not(); !why_not_.empty()) return false;
    const Clock::time_point began = Clock::now();
    int starts_left = may_start ? max_failures : 0;
    do {
        connection_ = sockets.connect(name_);
        if (!connection_ && starts_left > 0) connection_ = start_one(sockets, placement, starts_left);
        if (connection_) {
            const Arrival arrival = greet(request, may_start ? greeting_s : answer_s, stop);
            if (arrival == Arrival::message && why_not_.empty()) return true;
            disconnect();
            if (arrival != Arrival::gone) return false;
        }
        if (starts_left == 0) return false;
        if (stop && *stop) throw Cancelled("the fit was stopped");
        // the worker is ending, or another process has just created the socket
        std::this_thread::sleep_for(look_again);
    } while (seconds_since(began) < connect_s);
    return false;
}

/// Creates the socket, queues there like any other client, and starts a worker that takes it over. Returns an empty
/// connection if a worker is running.
Connection WorkerConnection::start_one(const WorkerSockets& sockets, const Placement& placement, int& starts_left) {
    why_not_ = "the existing one does not answer";
    const Descriptor lock = sockets.lock(name_);
    if (!lock) return {};
    --starts_left;
    why_not_ = fmt::format("{} could not be started", placement.gpu_worker);
    const Descriptor listener = sockets.listen(name_);
    if (!listener) return {};
    Connection connection = sockets.connect(name_);
    if (!start(placement.gpu_worker, name_, settings_of(placement), listener, lock)) return {};
    return connection;
}

/// Sets why_not_ if the worker cannot be used.
Arrival WorkerConnection::greet(RequestKind request, double timeout_s, const StopFlag* stop) {
    why_not_ = "it does not answer";
    if (!connection_.send(hello_for(request))) return Arrival::gone;
    const Arrival arrival = receive_within(timeout_s, greeting_, stop);
    if (arrival != Arrival::message) return arrival;
    const bool same = greeting_.magic == magic_number && greeting_.build.str() == build_identity();
    why_not_ = same ? greeting_.why.str() : "it is of another build of glint";
    return arrival;
}

void take(const FitReply& reply, FitInfo& info) {
    if (reply.outcome == Outcome::refused) throw OptionError(reply.what.str());
    if (reply.outcome != Outcome::fitted) throw WorkerFailed{reply.what.str()};
    info.batches += reply.batches, info.batch_size = std::max(info.batch_size, reply.batch_size);
    info.bytes_up += reply.bytes_up, info.bytes_down += reply.bytes_down;
    info.transfer_seconds += reply.transfer_s, info.kernel_seconds += reply.kernel_s;
}

std::vector<RunningWorker> running_workers() {
    std::vector<RunningWorker> found;
    const WorkerSockets sockets(environment::lease_directory(), IfMissing::leave);
    for (const std::string& name : sockets.names()) {
        const Connection connection = sockets.connect(name);
        Greeting greeting;
        RunningWorker worker;
        if (!connection || !connection.send(hello_for(RequestKind::facts)) ||
            connection.receive(greeting, answer_s) != Arrival::message || greeting.magic != magic_number ||
            greeting.build.str() != build_identity() || connection.receive(worker.facts, answer_s) != Arrival::message)
            continue;
        worker.pid = greeting.pid, worker.uuid = greeting.uuid.str();
        found.push_back(worker);
    }
    return found;
}

}  // namespace glint::warm_worker
