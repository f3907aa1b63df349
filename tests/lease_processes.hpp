// Fixture for tests of leases with real processes: a simulated server, a lease directory, and worker programs.
// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include "tests/temporary_folder.hpp"

namespace glint::gpu::lease::test {

inline const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();

/// A program beside the test, in the server's folder.
class LeaseWorker {
  public:
    LeaseWorker(const glint::test::TemporaryFolder& server, std::vector<std::string> words) {
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        const std::string program = (bin / words[0]).string();
        int in[2], out[2];
        if (::pipe2(in, O_CLOEXEC) || ::pipe2(out, O_CLOEXEC)) throw std::runtime_error("no pipe");
        pid_ = ::fork();
        if (pid_ == 0) {
            ::setpgid(0, 0);  // as a shell job: SIGTSTP does not stop an orphaned process group
            ::dup2(in[0], 0), ::dup2(out[1], 1), ::dup2(out[1], 2);
            if (::chdir(server.path().c_str()) == 0) ::execv(program.c_str(), arguments.data());
            ::_exit(127);
        }
        ::close(in[0]), ::close(out[1]);
        input_ = in[1], output_ = out[0];
    }
    LeaseWorker(const LeaseWorker&) = delete;
    ~LeaseWorker() {
        if (pid_ > 0) signal(SIGKILL), signal(SIGCONT), finish();
    }

    pid_t pid() const { return pid_; }
    void signal(int number) const { ::kill(pid_, number); }
    void end_input() {
        if (input_ >= 0) ::close(std::exchange(input_, -1));
    }
    /// Reads the program's output until this line appears. Returns false if the program ends first.
    bool says(const std::string& line) { return prints(line + "\n"); }
    bool prints(const std::string& words) {
        char c;
        for (std::size_t from = output.size();
             output.find(words, from > words.size() ? from - words.size() : 0) == output.npos;)
            if (::read(output_, &c, 1) != 1)
                return false;
            else
                output += c;
        return true;
    }
    /// Waits until the program has stopped itself. Returns false if it ends first.
    bool stopped() {
        int status = 0;
        ::waitpid(pid_, &status, WUNTRACED);
        if (WIFSTOPPED(status)) return true;
        pid_ = 0, status_ = status;
        return false;
    }
    /// Waits for the end. Returns the exit code, or 128 + signal.
    int finish() {
        end_input();
        char buffer[4096];
        for (ssize_t n; (n = ::read(output_, buffer, sizeof buffer)) > 0;) output.append(buffer, std::size_t(n));
        ::close(output_);
        if (pid_ > 0) ::waitpid(std::exchange(pid_, 0), &status_, 0);
        return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    }

    std::string output;

  private:
    pid_t pid_ = 0;
    int input_ = -1, output_ = -1, status_ = 0;
};

struct LeaseProcesses : ::testing::Test {
    glint::test::TemporaryFolder server;

    void SetUp() override {
        const std::filesystem::path folder = bin.parent_path() / "simgpu";
        if (!std::filesystem::exists(folder / "libcuda.so.1")) GTEST_SKIP() << "no simulated server in " << folder;
        if (!std::filesystem::exists(bin / "lease_worker")) GTEST_SKIP() << "no lease_worker in " << bin;
        const char* libraries = std::getenv("LD_LIBRARY_PATH");
        set("LD_LIBRARY_PATH", folder.string() + (libraries ? std::string(":") + libraries : ""));
        for (const char* name :
             {"CUDA_VISIBLE_DEVICES", "GLINT_GPU_MEMORY_LIMIT", "GLINT_LEASES_PER_USER", "GLINT_LEASE", "SIMGPU_FAULT"})
            set(name, {});
        set("SIMGPU_STATE", (server / "state").string());
        set("SIMGPU_KERNELS", (folder / "libsimgpu_test_kernels.so").string());
        set("SIMGPU_TIME_SCALE", "0.02");
        set("SIMGPU_LEAKS", "0");
        set("GLINT_LEASE_DIR", (server / "leases").string());
        gpus("1x8GiB");
    }
    void TearDown() override {
        const auto all = std::exchange(before_, {});
        for (auto k = all.rbegin(); k != all.rend(); ++k) set(k->first, k->second);
    }
    void gpus(const char* devices) { set("SIMGPU_DEVICES", devices); }
    void set(const std::string& name, const std::optional<std::string>& value) {
        const char* was = std::getenv(name.c_str());
        before_.emplace_back(name, was ? std::optional<std::string>(was) : std::nullopt);
        value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }
    std::unique_ptr<LeaseWorker> start_program(std::vector<std::string> words) const {
        return std::make_unique<LeaseWorker>(server, std::move(words));
    }
    /// Starts a lease_worker.
    std::unique_ptr<LeaseWorker> start(const std::string& command) const {
        std::vector<std::string> words{"lease_worker"};
        std::istringstream parts(command);
        for (std::string word; parts >> word;) words.push_back(word);
        return start_program(std::move(words));
    }
    void expect_done(LeaseWorker& worker, const std::string& what = "") const {
        const int code = worker.finish();
        EXPECT_EQ(code, 0) << what << ": " << worker.output;
        EXPECT_NE(worker.output.find("done\n"), std::string::npos) << what << ": " << worker.output;
    }
    std::string state() const {
        const auto worker = start("");
        worker->finish();
        return worker->output;
    }

  private:
    std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

}  // namespace glint::gpu::lease::test
