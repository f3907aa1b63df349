// One side of a connection between a warm worker and a client: a Unix socket that keeps the borders of messages.
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
    nothing_yet,  ///< within the time
    gone          ///< the other side has closed it, or sent what is no such message
};

class Connection {
  public:
    Connection() = default;
    explicit Connection(Descriptor socket) : socket_(std::move(socket)) {}
    explicit operator bool() const { return bool(socket_); }
    int descriptor() const { return socket_.get(); }

    /// Returns the process on the other side when the connection was made; nullopt if it belongs to another user.
    std::optional<pid_t> own_peer() const;

    /// False: the other side is gone, or does not read what it was sent. Never waits. `with`: a descriptor to go along.
    template <class Message>
    requires is_message<Message>
    bool send(const Message& message, int with = -1) const { return send_bytes(&message, sizeof message, with); }
    /// Waits `timeout_s` at most. `with` receives a descriptor that came along; without it, one that comes is an error.
    /// Throws Cancelled when `stop` is set.
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
