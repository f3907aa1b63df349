// Runs programs of programs.hpp in separate processes, under the simulated driver.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

using Environment = std::map<std::string, std::string>;

struct Ended {
    int exit_code = -1, signal = 0;
    std::string output;  // stdout and stderr together
    bool says(const std::string& text) const { return output.find(text) != output.npos; }
};

/// A new simulated server, with a fresh state file that is removed at the end.
class TestServer {
    std::string state_;
    Environment environment_;

  public:
    explicit TestServer(const Environment& environment = {});
    ~TestServer();
    TestServer(const TestServer&) = delete;
    /// Returns the variables with which a program uses this server.
    Environment with(const Environment& more) const;
    Ended run(const std::vector<std::string>& program, const Environment& more = {}) const;
};

/// A program that runs beside the test. Its standard input ends with finish() or the object.
class Running {
    pid_t pid_ = -1;
    int input_ = -1, output_ = -1;
    std::string text_;

  public:
    Running(const std::vector<std::string>& program, const Environment& environment);
    ~Running();
    Running(Running&& other) noexcept;
    pid_t pid() const { return pid_; }
    /// Waits until the program has printed "ready". Returns false if it ends first.
    bool ready();
    /// Ends the program's standard input.
    void go();
    void kill();
    Ended finish();
};
