// Meets a worker, hands it parts of a stack, and takes the results.
//
// Two parts are under way: one is fitted while this thread copies another one in, or its results out. A part's results
// reach the caller's memory, and its rows count as finished, when the worker has answered; whatever else happens, they go back to
// the queue, and the connection ends, so that nothing late can be taken for the answer to something new.
// SPDX-License-Identifier: MIT
#include "fit/worker/client.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/build_identity.hpp"
#include "base/clock.hpp"
#include "fit/fit_info.hpp"
#include "fit/on_gpus.hpp"
#include "fit/worker/job.hpp"
#include "fit/worker/start.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "gpu/process.hpp"

namespace glint::worker {
namespace {

constexpr std::size_t bytes_of_part = std::size_t(48)
                                      << 20;  // pixels and results; some batches of GpuFitter, which it overlaps
constexpr std::size_t most_parts = 2;         // under way
constexpr int most_failures = 3;              // in a row, without a row finished
constexpr double greeting_s = 30;             // that a worker may take to open its GPU
constexpr double reply_s = 60;                // for a part, and for one of each other client before it
constexpr double answer_s = 0.2;              // of a worker that is running, where that is only a question
constexpr double connect_s = 2;  // until a worker that takes no more clients has ended, and another one can begin
constexpr std::chrono::milliseconds look_again{5};

/// The worker has ended, or does not do what it should.
struct WorkerFailed {
    std::string what;
    bool another_may_do = true;
};

WorkerSettings settings_of(const FitOptions& options) { return {options.gpu_memory_bytes, options.gpu_batch_size}; }

Hello hello_for(Wish wish) {
    Hello hello;
    hello.build = build_identity();
    hello.wish = wish;
    return hello;
}

std::int64_t rows_of_part(const BatchKind& kind, std::int64_t all, std::int64_t batch_size) {
    constexpr std::int64_t streams = 4;  // of GpuFitter
    if (batch_size > 0) return std::min(all, streams * batch_size);
    constexpr std::int64_t some = 1024;
    const std::size_t bytes_of_row = end_of(layout_of(kind, some)) / std::size_t(some);
    return std::min(all, std::int64_t(bytes_of_part / bytes_of_row));
}

/// Whole pages.
std::size_t piece_for(const BatchLayout& layout) { return (std::size_t(end_of(layout)) + 4095) / 4096 * 4096; }

/// As Connection::receive(), but does not wait for a process that is stopped.
template <class Message>
Arrival receive(const Connection& connection, Message& message, double timeout_s, const StopFlag* stop) {
    constexpr double slice_s = 1;
    const Clock::time_point began = Clock::now();
    for (;;) {
        const double left_s = timeout_s - seconds_since(began);
        const Arrival arrival = connection.receive(message, std::min(left_s, slice_s), stop);
        if (arrival != Arrival::nothing_yet || left_s <= slice_s) return arrival;
        if (const auto pid = connection.own_peer(); pid && gpu::is_stopped(unsigned(*pid), ::geteuid())) return arrival;
    }
}

}  // namespace

bool can_serve(const Stack& stack) {
    const FitOptions& options = stack.options;
    return !options.gpu_worker.empty() && options.gpus == 1 && options.emitters == 1 && stack.rois.count > 0 &&
           stack.rois.gpu < 0 && !stack.rois.camera && stack.psf.numbers.size() <= most_psf_numbers &&
           environment::inherited_lease().empty() && environment::gpu_enabled();
}

std::optional<Client::Gpu> Client::running(const Stack& stack) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !can_serve(stack) || !connect(stack, false)) return {};
    return Gpu{greeting_.uuid.str(), greeting_.driver.str()};
}

/// With the memory, since a worker that was not waited for may write there still.
void Client::disconnect() {
    connection_ = {};
    memory_.reset();
    memory_sent_ = false;
}

/// Connects to a worker that has a GPU, unless one is connected. False: see why_not_.
bool Client::connect(const Stack& stack, bool may_start) {
    const std::string name = name_of(settings_of(stack.options));
    if (connection_ && name == name_) return true;
    disconnect();
    name_ = name;
    const StopFlag* stop = stack.options.stop;
    const Rendezvous rendezvous(environment::lease_directory());
    if (why_not_ = rendezvous.why_not(); !why_not_.empty()) return false;
    const Clock::time_point began = Clock::now();
    int starts_left = may_start ? most_failures : 0;
    do {
        connection_ = rendezvous.connect(name_);
        if (!connection_ && starts_left > 0) connection_ = start_one(rendezvous, stack, starts_left);
        if (connection_) {
            const Arrival arrival = greet(may_start ? greeting_s : answer_s, stop);
            if (arrival == Arrival::message && why_not_.empty()) return true;
            disconnect();
            if (arrival != Arrival::gone) return false;
        }
        if (starts_left == 0) return false;
        if (stop && *stop) throw Cancelled("the fit was stopped");
        std::this_thread::sleep_for(look_again);  // it is ending, or somebody else has made the socket a moment ago
    } while (seconds_since(began) < connect_s);
    return false;
}

/// Makes the socket, queues there like any other client, and starts a worker that takes it over. Nothing where there is one.
Connection Client::start_one(const Rendezvous& rendezvous, const Stack& stack, int& starts_left) {
    why_not_ = "one that was there does not answer";
    const Descriptor lock = rendezvous.lock(name_);
    if (!lock) return {};
    --starts_left;
    why_not_ = fmt::format("{} could not be started", stack.options.gpu_worker);
    const Descriptor listener = rendezvous.listen(name_);
    if (!listener) return {};
    Connection connection = rendezvous.connect(name_);
    if (!start(stack.options.gpu_worker, name_, settings_of(stack.options), listener, lock)) return {};
    return connection;
}

/// Leaves in why_not_ why the worker is of no use.
Arrival Client::greet(double timeout_s, const StopFlag* stop) {
    why_not_ = "it does not answer";
    if (!connection_.send(hello_for(Wish::fits))) return Arrival::gone;
    const Arrival arrival = receive(connection_, greeting_, timeout_s, stop);
    if (arrival != Arrival::message) return arrival;
    const bool same = greeting_.magic == magic_number && greeting_.build.str() == build_identity();
    why_not_ = same ? greeting_.why.str() : "it is of another build of glint";
    return arrival;
}

bool Client::fit(const Stack& stack, RowQueue& queue, FitInfo& info) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !can_serve(stack)) return false;
    const Clock::time_point began = Clock::now();
    const auto report = [&](const std::string& what) {
        info.events.push_back({seconds_since(began), what});
        if (stack.options.log) stack.options.log(what);
    };
    for (int failures = 0; failures < most_failures; ++info.retries) {
        if (!connect(stack, true)) {
            report("no worker: " + why_not_);
            return false;
        }
        RowShare share(queue);
        FitInfo part;
        part.backend = "gpu", part.device = greeting_.name.str();
        const Clock::time_point run_began = Clock::now();
        const auto note = [&] {
            part.fits = share.finished();
            add_part(info, part, greeting_.name.str(), greeting_.uuid.str(), seconds_since(run_began));
        };
        bool another_may_do = true;
        try {
            run(stack, share, part);
            note();
            return queue.is_finished();
        } catch (const WorkerFailed& failure) {
            disconnect();
            report("the worker failed: " + failure.what);
            another_may_do = failure.another_may_do;
        } catch (...) {
            disconnect();
            note();
            throw;
        }
        if (stack.options.restart_batches) share.give_back_finished();
        note();
        if (!another_may_do) return false;
        failures = part.fits > 0 ? 1 : failures + 1;
    }
    return false;
}

/// The first of `parts` equal pieces of the memory that is shared.
std::byte* Client::memory_for(const BatchLayout& largest, std::size_t parts) {
    const std::size_t bytes = parts * piece_for(largest);
    if (!memory_ || memory_->size() < bytes) {
        memory_.reset();
        memory_ = SharedMemory::create(bytes);
        memory_sent_ = false;
    }
    if (!memory_) throw WorkerFailed{fmt::format("no {} bytes to share with it", bytes), false};
    return memory_->data();
}

void Client::run(const Stack& stack, RowShare& share, FitInfo& info) {
    const BatchKind kind = kind_of(stack.rois, starts_of(stack.rois, stack.options), stack.psf.model);
    const std::int64_t all = std::int64_t(stack.rois.count),
                       most = rows_of_part(kind, all, stack.options.gpu_batch_size);
    const BatchLayout largest = layout_of(kind, most);
    const std::size_t parts = all > most ? most_parts : 1;
    std::byte* const memory = memory_for(largest, parts);
    std::vector<InFlight> in_flight;  // oldest first
    const auto finish_oldest = [&] {
        take_results(stack, in_flight.front(), info);
        share.finish(in_flight.front().rows);
        in_flight.erase(in_flight.begin());
    };
    for (std::size_t turn = 0;; ++turn) {
        if (stack.options.stop && *stack.options.stop) throw Cancelled("the fit was stopped");
        if (in_flight.size() == parts) finish_oldest();
        const RowRange rows = share.take(most);
        if (rows.empty()) break;
        in_flight.push_back({rows, layout_of(kind, rows.count()), memory + turn % parts * piece_for(largest)});
        send(stack, in_flight.back());
    }
    while (!in_flight.empty()) finish_oldest();
}

void Client::send(const Stack& stack, const InFlight& part) {
    copy_parts(up_parts(stack.rois, starts_of(stack.rois, stack.options), part.layout, part.rows.first), part.memory, 0,
               CopyTo::batch);
    FitJob job = job_of(stack.rois, stack.psf, stack.pixel_size_um, stack.options);
    job.rows = part.rows.count(), job.at = std::uint64_t(part.memory - memory_->data());
    if (!connection_.send(job, memory_sent_ ? -1 : memory_->descriptor())) throw WorkerFailed{"it has ended"};
    memory_sent_ = true;
}

void Client::take_results(const Stack& stack, const InFlight& part, FitInfo& info) {
    FitReply reply;
    const Arrival arrival = receive(connection_, reply, reply_s, stack.options.stop);
    if (arrival == Arrival::gone) throw WorkerFailed{"it has ended"};
    if (arrival == Arrival::nothing_yet) throw WorkerFailed{"it does not answer", false};
    if (reply.outcome == Outcome::refused) throw OptionError(reply.what.str());
    if (reply.outcome != Outcome::fitted) throw WorkerFailed{reply.what.str()};
    copy_parts(down_parts(view(stack.fits), part.layout, part.rows.first), part.memory + results_at(part.layout), 0,
               CopyTo::parts);
    info.batches += reply.batches, info.batch_size = std::max(info.batch_size, reply.batch_size);
    info.bytes_up += reply.bytes_up, info.bytes_down += reply.bytes_down;
    info.transfer_seconds += reply.transfer_s, info.kernel_seconds += reply.kernel_s;
}

std::vector<RunningWorker> running_workers() {
    std::vector<RunningWorker> found;
    const Rendezvous rendezvous(environment::lease_directory(), IfMissing::leave);
    for (const std::string& name : rendezvous.names()) {
        const Connection connection = rendezvous.connect(name);
        Greeting greeting;
        RunningWorker worker;
        if (!connection || !connection.send(hello_for(Wish::facts)) ||
            connection.receive(greeting, answer_s) != Arrival::message || greeting.magic != magic_number ||
            greeting.build.str() != build_identity() || connection.receive(worker.facts, answer_s) != Arrival::message)
            continue;
        worker.pid = greeting.pid, worker.uuid = greeting.uuid.str();
        found.push_back(worker);
    }
    return found;
}

}  // namespace glint::worker
