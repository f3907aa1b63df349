// Runs programs in separate processes.
// SPDX-License-Identifier: MIT
#include "spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace {

[[noreturn]] void become(const std::vector<std::string>& program, const Environment& environment) {
    unsetenv("CUDA_VISIBLE_DEVICES");
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments{const_cast<char*>("simgpu_test"), const_cast<char*>("--program")};
    for (const std::string& argument : program) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execv("/proc/self/exe", arguments.data());
    _exit(127);
}

}  // namespace

TestServer::TestServer(const Environment& environment) : environment_(environment) {
    static int count = 0;
    state_ = "/dev/shm/simgpu_test." + std::to_string(getpid()) + '.' + std::to_string(++count);
    unlink(state_.c_str());  // from a killed test with the same process number
    environment_["SIMGPU_STATE"] = state_;
    environment_.insert({{"LD_LIBRARY_PATH", SIMGPU_FOLDER},
                         {"SIMGPU_KERNELS", SIMGPU_TEST_KERNELS},
                         {"SIMGPU_TIME_SCALE", "0"},
                         {"SIMGPU_LEAKS", "0"}});
}

TestServer::~TestServer() { unlink(state_.c_str()); }

Environment TestServer::with(const Environment& more) const {
    Environment all = more;
    all.insert(environment_.begin(), environment_.end());
    return all;
}

Ended TestServer::run(const std::vector<std::string>& program, const Environment& more) const {
    return Running(program, with(more)).finish();
}

Running::Running(const std::vector<std::string>& program, const Environment& environment) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) std::abort();
    pid_ = fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(out[1], 2);
        become(program, environment);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = out[0];
}

Running::Running(Running&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      text_(std::move(other.text_)) {}

Running::~Running() {
    if (pid_ > 0) finish();
}

bool Running::ready() {
    char c;
    while (text_.find("ready\n") == text_.npos)
        if (read(output_, &c, 1) != 1)
            return false;
        else
            text_ += c;
    return true;
}

void Running::go() { close(std::exchange(input_, -1)); }

void Running::kill() { ::kill(pid_, SIGKILL); }

Ended Running::finish() {
    if (input_ >= 0) go();
    char buffer[4096];
    for (ssize_t n; (n = read(output_, buffer, sizeof buffer)) > 0;) text_.append(buffer, std::size_t(n));
    close(output_);
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0, text_};
}
