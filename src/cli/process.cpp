// The signal handlers. They are async-signal-safe: they only set a lock-free flag, write, or exit.
// SPDX-License-Identifier: MIT
#include "cli/process.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>

#include "cli/command.hpp"

namespace glint::cli {
namespace {

StopFlag stop{false};
static_assert(StopFlag::is_always_lock_free);

bool launched = false, silent = false;

void say(const char* text, std::size_t bytes) {
    const int interrupted_error = errno;
    if (write(STDERR_FILENO, text, bytes) < 0) errno = interrupted_error;  // a failure cannot be reported
}

/// A closing terminal sends SIGHUP more than once: a repeated SIGHUP does not end the program.
void on_signal(int number) {
    if (stop.exchange(true)) {
        if (number != SIGHUP) _exit(exit_interrupted);
        return;
    }
    constexpr char text[] = "\nglint: stopping (Ctrl-C again stops immediately)\n";
    say(text, sizeof text - 1);
}

void on_launcher_signal(int) {
    if (stop.exchange(true) || silent) return;
    constexpr char text[] = "\nglint: stopping: run the same command with --resume to continue\n";
    say(text, sizeof text - 1);
}

void handle(int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
}

/// Sets a handler, unless the signal is ignored, as the shell does for nohup and for background commands of a script.
void handle_unless_ignored(int signal, void (*handler)(int)) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
    handle(signal, handler);
}

}  // namespace

const StopFlag& stop_on_signals() {
    if (!launched)
        for (int signal : {SIGINT, SIGTERM, SIGHUP}) handle_unless_ignored(signal, on_signal);
    return stop;
}

const StopFlag& stop_on_launcher_signals(bool speaks) {
    launched = true, silent = !speaks;
    for (int signal : {SIGINT, SIGTERM, SIGUSR1}) handle(signal, on_launcher_signal);
    handle_unless_ignored(SIGHUP, on_launcher_signal);
    return stop;
}

}  // namespace glint::cli
