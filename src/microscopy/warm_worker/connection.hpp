// One side of a connection between a warm worker and a client: a Unix socket that preserves message boundaries.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>

#include "glint/progress.hpp"
#include "gpu/lease/descriptor.hpp"
#include "warm_worker/messages.hpp"

namespace glint::warm_worker {

using gpu::lease::Descriptor;

/// How a wait for a message ended.
enum class Arrival {
    message,
    nothing_yet,  ///< within the timeout
    gone          ///< the other side closed the connection or sent an invalid message
};

class Connection {
  public:
    Connection() = default;
    explicit Connection(Descriptor socket) : socket_(std::move(socket)) {}
    explicit operator bool() const { return bool(socket_); }
    int descriptor() const { return socket_.get(); }

    /// Returns the process that was on the other side when the connection was opened; nullopt if it belongs to another
    /// user.
    std::optional<pid_t> own_peer() const;

    /// Sends a message without waiting. Returns false if the other side is gone or does not read its messages. `with`:
    /// a descriptor to send along.
    template <class Message>
    requires is_message<Message>
    bool send(const Message& message, int with = -1) const { return send_bytes(&message, sizeof message, with); }
    /// Receives a message; waits at most `timeout_s`. `with` receives a descriptor that arrives with the message. If
    /// `with` is null, such a descriptor is an error. Throws Cancelled when `stop` is set.
    template <class Message>
    requires is_message<Message> Arrival receive(Message& message, double timeout_s, const StopFlag* stop = nullptr,
                                                 Descriptor* with = nullptr)
    const { return receive_bytes(&message, sizeof message, timeout_s, stop, with); }

  private:
    bool send_bytes(const void* bytes, std::size_t count, int with) const;
    Arrival receive_bytes(void* bytes, std::size_t count, double timeout_s, const StopFlag* stop,
                          Descriptor* with) const;

    Descriptor socket_;
};

}  // namespace glint::warm_worker
