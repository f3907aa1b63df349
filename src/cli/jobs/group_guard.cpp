// The guard process of a supervisor. It waits on a socket, which the kernel closes however the supervisor ends.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/system.hpp"
#include "cli/jobs/supervisor.hpp"
#include "glint/error.hpp"

namespace glint::cli {
namespace {

constexpr pid_t dismissed = 0;  // a message instead of a process group

/// Returns the next message; empty at the end of the socket.
std::optional<pid_t> next_group(int from) {
    pid_t group = 0;
    ssize_t count = 0;
    do count = ::recv(from, &group, sizeof group, 0);
    while (count < 0 && errno == EINTR);
    return count == ssize_t(sizeof group) ? std::optional(group) : std::nullopt;
}

/// Sends SIGTERM to the group, and SIGKILL to its remaining processes after `job_grace_s`.
void end_group(pid_t group) {
    constexpr int looks_a_second = 10;
    ::kill(-group, SIGTERM), ::kill(-group, SIGCONT);
    for (int look = 0; look < job_grace_s * looks_a_second; ++look) {
        const timespec pause{0, 1'000'000'000 / looks_a_second};
        ::nanosleep(&pause, nullptr);
        if (::kill(-group, 0) != 0 && errno == ESRCH) return;  // the number may be reused for another group
    }
    ::kill(-group, SIGKILL);
}

/// The main function of the guard. It allocates nothing: at the fork, a thread of the supervisor may have held the
/// allocator's lock. It keeps no file open, neither the locks of the job nor its log.
[[noreturn]] void guard_group(int from) {
    ::prctl(PR_SET_NAME, "glint-job-guard");
    if (::dup2(from, STDIN_FILENO) < 0) ::_exit(1);
    close_from(STDIN_FILENO + 1);
    pid_t watched = dismissed;
    while (const std::optional<pid_t> group = next_group(STDIN_FILENO)) {
        watched = *group;
        if (watched == dismissed) ::_exit(0);
    }
    if (watched != dismissed) end_group(watched);
    ::_exit(0);
}

}  // namespace

GroupGuard::GroupGuard() {
    int ends[2];
    const bool connected = ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
    if (connected) to_guard_ = Descriptor(ends[0]);
    const Descriptor from(connected ? ends[1] : -1);
    const pid_t child = connected ? ::fork() : -1;
    if (child == 0) guard_group(from.get());
    if (child < 0) throw OutputError(fmt::format("no process can be started for the job: {}", std::strerror(errno)));
}

GroupGuard::~GroupGuard() { watch(dismissed); }

// If the guard was killed, the job continues without it.
void GroupGuard::watch(pid_t group) const { (void)::send(to_guard_.get(), &group, sizeof group, MSG_NOSIGNAL); }

}  // namespace glint::cli
