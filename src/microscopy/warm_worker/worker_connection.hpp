// A client's connection to a worker: finds or starts one, and notices when it fails.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "glint/fit.hpp"
#include "warm_worker/worker_sockets.hpp"

namespace glint::warm_worker {

constexpr int max_failures = 3;  // maximum number of successive failures of workers without any finished work
constexpr double reply_s = 60;   // for a job, and for one job of each other client before it

/// The worker has ended, or violates the protocol.
struct WorkerFailed {
    std::string what;
    bool another_may_do = true;
};

Hello hello_for(RequestKind request);

/// Returns true if these options request a worker and this process may use one: with one GPU, and not under a lease.
bool wants_worker(const Psf& psf, const Placement& placement);

/// A connection to a worker. Not thread-safe, except that one thread may send while another receives.
class WorkerConnection {
  public:
    /// Opens a new connection to a worker that has a GPU and serves such a placement. `may_start`: starts a worker if
    /// none is running. Returns false if that fails; see why_not(). Throws Cancelled.
    bool connect(const Placement& placement, const StopFlag* stop, RequestKind request, bool may_start);
    void disconnect() { connection_ = {}; }
    /// Returns true if connected to a worker for such a placement.
    bool serves(const Placement& placement) const;

    const Greeting& greeting() const { return greeting_; }
    const std::string& why_not() const { return why_not_; }  ///< why the last connect() failed

    /// Sends a message. Throws WorkerFailed if the worker has ended. `with`: a descriptor to send along.
    template <class Message>
    void send(const Message& message, int with = -1) const {
        if (!connection_.send(message, with)) throw WorkerFailed{"it has ended"};
    }
    /// Receives a reply. Throws WorkerFailed if the worker has ended or does not answer within reply_s. Throws
    /// Cancelled when `stop` is set.
    template <class Message>
    void receive(Message& message, const StopFlag* stop) const {
        const Arrival arrival = receive_within(reply_s, message, stop);
        if (arrival == Arrival::gone) throw WorkerFailed{"it has ended"};
        if (arrival == Arrival::nothing_yet) throw WorkerFailed{"it does not answer", false};
    }

  private:
    template <class Message>
    Arrival receive_within(double timeout_s, Message& message, const StopFlag* stop) const;
    Connection start_one(const WorkerSockets& sockets, const Placement& placement, int& starts_left);
    Arrival greet(RequestKind request, double timeout_s, const StopFlag* stop);
    bool peer_is_stopped() const;

    Connection connection_;
    std::string name_;  // of its socket
    Greeting greeting_;
    std::string why_not_;
};

/// Like Connection::receive(), but does not wait for a stopped process.
template <class Message>
Arrival WorkerConnection::receive_within(double timeout_s, Message& message, const StopFlag* stop) const {
    for (double left_s = timeout_s;; --left_s) {
        const Arrival arrival = connection_.receive(message, std::min(left_s, 1.0), stop);
        if (arrival != Arrival::nothing_yet || left_s <= 1 || peer_is_stopped()) return arrival;
    }
}

/// Adds the resources that a job used to `info`. Throws OptionError if the worker refused it, WorkerFailed if it
/// failed.
void take(const FitReply& reply, FitInfo& info);

}  // namespace glint::warm_worker
