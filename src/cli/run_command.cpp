// Starts a program and waits for it.
// SPDX-License-Identifier: MIT
#include "cli/run_command.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "cli/print.hpp"
#include "glint/error.hpp"

namespace glint::cli {
namespace {

constexpr int not_executable = 126, not_found = 127;

bool is_ignored(int signal) {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

int why_not_executable_file(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return errno == EACCES ? not_executable : not_found;
    return S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0 ? 0 : not_executable;
}

int why_not_executable(const std::string& program) {
    if (program.find('/') != program.npos) return why_not_executable_file(program);
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/bin:/usr/bin");
    int best = not_found;
    for (std::string folder; std::getline(folders, folder, ':');) {
        const int result = why_not_executable_file((folder.empty() ? "." : folder) + '/' + program);
        if (result != not_found) best = result;
        if (result == 0) return 0;
    }
    return best;
}

std::vector<std::string> environment_with(const Variables& variables) {
    std::vector<std::string> all;
    for (char** entry = environ; *entry; ++entry) {
        const std::string name(*entry, std::strcspn(*entry, "="));
        bool replaced = false;
        for (const auto& variable : variables) replaced |= variable.first == name;
        if (!replaced) all.emplace_back(*entry);
    }
    for (const auto& [name, value] : variables) all.push_back(name + '=' + value);
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (std::string& word : words) all.push_back(word.data());
    all.push_back(nullptr);
    return all;
}

/// Called between fork and exec, so it allocates no memory.
void tell_why_not_started(const char* program, int error) {
    const char* hint = error == ENOENT ? ": the interpreter in its first line (#!), or its loader, is missing" : "";
    for (const char* part : {"glint: ", program, ": ", static_cast<const char*>(std::strerror(error)), hint, "\n"})
        if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) return;
}

/// Stops this process, with the default action of SIGTSTP. In an orphaned process group, which no shell controls, that
/// does nothing.
void stop_too() {
    sigset_t stop;
    ::sigemptyset(&stop);
    ::sigaddset(&stop, SIGTSTP);
    ::raise(SIGTSTP);
    ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
    ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

/// Forwards a signal, unless it comes from a terminal, which sends it to the whole group and so to the command.
void hand_on(pid_t command, const siginfo_t& signal) {
    const bool from_terminal = signal.si_code == SI_KERNEL && ::getpgid(command) == ::getpgrp();
    if (signal.si_signo != SIGCHLD && !from_terminal) ::kill(command, signal.si_signo);
    if (signal.si_signo == SIGTSTP) stop_too();
}

}  // namespace

HeldSignals::HeldSignals() {
    ::signal(SIGCHLD, SIG_DFL);  // if it were ignored, the command's exit status would be lost
    ::sigemptyset(&held_);
    ::sigaddset(&held_, SIGCHLD);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP})
        if (!is_ignored(signal)) ::sigaddset(&held_, signal);
    ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
}

std::optional<siginfo_t> HeldSignals::next(double seconds) const {
    timespec limit{};
    limit.tv_sec = time_t(seconds);
    limit.tv_nsec = long((seconds - double(limit.tv_sec)) * 1e9);
    siginfo_t signal{};
    if (::sigtimedwait(&held_, &signal, &limit) < 0) return {};
    return signal;
}

int HeldSignals::to_end() const {
    while (const auto signal = next(0)) {
        const int number = signal->si_signo;
        if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) return number;
        if (number == SIGTSTP) stop_too();
    }
    return 0;
}

int tell_not_executable(const std::string& program) {
    const int code = why_not_executable(program);
    if (code) tell("glint: {}: {}\n", program, code == not_found ? "no such command" : "it may not be executed");
    return code;
}

pid_t start_command(const std::vector<std::string>& command, const Variables& variables, const HeldSignals& signals,
                    const std::function<void()>& before) {
    // Allocate before the fork: another thread may hold the allocator's lock at that moment.
    std::vector<std::string> words = command, environment = environment_with(variables);
    const std::vector<char*> argument_list = pointers(words), environment_list = pointers(environment);
    const pid_t child = ::fork();
    if (child < 0) throw Error(std::string("no process can be started: ") + std::strerror(errno));
    if (child == 0) {
        if (before) before();
        ::pthread_sigmask(SIG_SETMASK, &signals.mask_before(), nullptr);
        ::execvpe(argument_list[0], argument_list.data(), environment_list.data());
        const int error = errno;
        tell_why_not_started(argument_list[0], error);
        ::_exit(error == ENOENT ? not_found : not_executable);
    }
    return child;
}

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

int wait_for_command(pid_t command, const HeldSignals& signals, double period_s,
                     const std::function<void()>& now_and_then) {
    using Clock = std::chrono::steady_clock;
    const auto period = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(period_s));
    auto due = Clock::now() + period;
    for (;;) {
        int status = 0;
        if (::waitpid(command, &status, WNOHANG) == command) return exit_code_of(status);
        const double left_s = std::chrono::duration<double>(due - Clock::now()).count();
        if (left_s > 0) {
            if (const auto signal = signals.next(left_s)) hand_on(command, *signal);
            continue;
        }
        now_and_then();
        due = Clock::now() + period;
    }
}

}  // namespace glint::cli
