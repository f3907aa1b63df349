// Runs the real program as a user would: exit code, output, and signals while it runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "tests/temporary_folder.hpp"

namespace glint::test {

struct Ended {
    int exit_code = -1;  ///< or 128 + signal
    std::string out, err;
};

/// Runs `sh -c COMMAND` in a given folder, with `glint` replaced by the program beside this test.
class Program {
  public:
    Program(const TemporaryFolder& folder, std::string command) : folder_(folder) {
        const std::string program = std::filesystem::read_symlink("/proc/self/exe").replace_filename("glint").string();
        for (std::size_t at = 0; (at = command.find("glint ", at)) != std::string::npos; at += program.size() + 1)
            command.replace(at, 5, program);
        const std::string line =
            "exec >.out 2>.err; " + command;  // before fork(), because a forked child should not allocate
        pid_ = ::fork();
        if (pid_ < 0) throw std::runtime_error("no process could be forked");
        if (pid_ == 0) start(line.c_str());
    }
    ~Program() {
        if (pid_ > 0) signal(SIGKILL), ended();
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    void signal(int number) const {
        if (pid_ > 0) ::kill(pid_, number);
    }
    bool running() {
        int status = 0;
        if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status, pid_ = 0;
        return pid_ > 0;
    }
    Ended ended() {
        if (pid_ > 0) ::waitpid(pid_, &status_, 0);
        pid_ = 0;
        const int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
        return {code, read_bytes(folder_ / ".out"), read_bytes(folder_ / ".err")};
    }

  private:
    [[noreturn]] void start(const char* line) const {
        ::signal(SIGINT, SIG_DFL), ::signal(SIGHUP, SIG_DFL);  // even if the tests run in the background
        if (::chdir(folder_.path().c_str()) == 0) ::execl("/bin/sh", "sh", "-c", line, nullptr);
        ::_exit(127);
    }

    const TemporaryFolder& folder_;
    pid_t pid_ = 0;
    int status_ = 0;
};

inline Ended run(const TemporaryFolder& folder, const std::string& command) { return Program(folder, command).ended(); }

}  // namespace glint::test
