// Sends and receives messages, each completely or not at all.
// SPDX-License-Identifier: MIT
#include "warm_worker/connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/clock.hpp"
#include "glint/error.hpp"

namespace glint::warm_worker {
namespace {

constexpr double look_at_stop_s = 0.05;

/// Room for exactly one descriptor: the kernel closes any further descriptors. CMSG_SPACE would leave room for two.
union Passenger {
    char bytes[CMSG_SPACE(sizeof(int))];
    cmsghdr align;
    static constexpr std::size_t size = CMSG_LEN(sizeof(int));
};

/// Returns the descriptor that arrived with a message.
Descriptor descriptor_of(msghdr& header) {
    const cmsghdr* first = CMSG_FIRSTHDR(&header);
    if (!first || first->cmsg_level != SOL_SOCKET || first->cmsg_type != SCM_RIGHTS ||
        first->cmsg_len != Passenger::size)
        return {};
    int number = -1;
    std::memcpy(&number, CMSG_DATA(first), sizeof number);
    return Descriptor(number);
}

}  // namespace

std::optional<pid_t> Connection::own_peer() const {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer ||
        peer.uid != ::geteuid())
        return {};
    return peer.pid;
}

bool Connection::send_bytes(const void* bytes, std::size_t count, int with) const {
    iovec part{const_cast<void*>(bytes), count};
    msghdr header{};
    header.msg_iov = &part, header.msg_iovlen = 1;
    Passenger passenger{};
    if (with >= 0) {
        header.msg_control = passenger.bytes, header.msg_controllen = Passenger::size;
        cmsghdr* first = CMSG_FIRSTHDR(&header);
        first->cmsg_level = SOL_SOCKET, first->cmsg_type = SCM_RIGHTS, first->cmsg_len = Passenger::size;
        std::memcpy(CMSG_DATA(first), &with, sizeof with);
    }
    ssize_t sent = 0;
    do sent = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent == ssize_t(count);
}

Arrival Connection::receive_bytes(void* bytes, std::size_t count, double timeout_s, const StopFlag* stop,
                                  Descriptor* with) const {
    const Clock::time_point began = Clock::now();
    for (;;) {
        iovec part{bytes, count};
        msghdr header{};
        header.msg_iov = &part, header.msg_iovlen = 1;
        Passenger passenger{};
        if (with) header.msg_control = passenger.bytes, header.msg_controllen = Passenger::size;
        const ssize_t got = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got >= 0) {
            Descriptor came = with ? descriptor_of(header) : Descriptor();
            if (got != ssize_t(count) || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) return Arrival::gone;
            if (with) *with = std::move(came);
            return Arrival::message;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) return Arrival::gone;
        if (stop && *stop) throw Cancelled("the fit was stopped");
        const double left_s = timeout_s - seconds_since(began);
        if (left_s <= 0) return Arrival::nothing_yet;
        pollfd wait{socket_.get(), POLLIN, 0};
        ::poll(&wait, 1, int(std::ceil(1000 * std::min(left_s, look_at_stop_s))));
    }
}

}  // namespace glint::warm_worker
