// The signal handlers. They do what is async-signal-safe: set a lock-free flag, or leave.
// SPDX-License-Identifier: MIT
#include "cli/stop.hpp"

#include <unistd.h>

#include <csignal>

#include "cli/command.hpp"

namespace glint::cli {
namespace {

StopFlag stop{false};
static_assert(StopFlag::is_always_lock_free);

void on_signal(int) {
    if (stop.exchange(true)) _exit(exit_interrupted);
    constexpr char text[] = "\nglint: stopping; what is finished will be kept (again: stop at once)\n";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return;  // nobody listens: nothing to be done
}

}  // namespace

const StopFlag& stop_on_signals() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    std::signal(SIGXFSZ, SIG_IGN);
    return stop;
}

}  // namespace glint::cli
