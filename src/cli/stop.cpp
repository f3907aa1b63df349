// The signal handlers. They do what is async-signal-safe: set a lock-free flag, or leave.
// SPDX-License-Identifier: MIT
#include "cli/stop.hpp"

#include <unistd.h>

#include <csignal>
#include <initializer_list>

#include "cli/command.hpp"

namespace glint::cli {
namespace {

StopFlag stop{false};
static_assert(StopFlag::is_always_lock_free);

bool launched = false, silent = false;

void say(const char* text, std::size_t bytes) {
    if (write(STDERR_FILENO, text, bytes) < 0) return;  // nobody listens: nothing to be done
}

void on_signal(int) {
    if (stop.exchange(true)) _exit(exit_interrupted);
    constexpr char text[] = "\nglint: stopping; what is finished will be kept (again: stop at once)\n";
    say(text, sizeof text - 1);
}

void on_launcher_signal(int) {
    if (stop.exchange(true) || silent) return;
    constexpr char text[] =
        "\nglint: stopping; what is finished is kept: give the same command with --resume to go on\n";
    say(text, sizeof text - 1);
}

void handle(std::initializer_list<int> signals, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (int signal : signals) sigaction(signal, &action, nullptr);
    std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace

const StopFlag& stop_on_signals() {
    if (!launched) handle({SIGINT, SIGTERM}, on_signal);
    return stop;
}

const StopFlag& stop_on_launcher_signals(bool speaks) {
    launched = true, silent = !speaks;
    handle({SIGINT, SIGTERM, SIGUSR1}, on_launcher_signal);
    return stop;
}

}  // namespace glint::cli
