// Fixture for tests that run `glint submit` and `glint jobs` as a user does.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "gpu/process.hpp"
#include "tests/run_program.hpp"

namespace glint::test {

namespace fs = std::filesystem;
using nlohmann::json;

/// Jobs in a separate state folder, without GPUs.
class Jobs : public ::testing::Test {
  protected:
    // Ends jobs that still run after a failed test, before their folder is removed.
    void TearDown() override {
        for (const json& job : jobs())
            if (is_unfinished(job)) ::kill(job["supervisor_pid"], SIGKILL);
        wait_until([&] {
            for (const json& job : jobs())
                if (is_unfinished(job)) return false;
            return true;
        });
    }

    Ended shell(const std::string& line) const { return run(folder_, variables_ + line); }
    /// Submits a job and returns its number.
    int submit(const std::string& command, const std::string& before = "") const {
        const Ended end = shell(before + "glint submit " + command);
        EXPECT_EQ(end.exit_code, 0) << end.err;
        return end.out.empty() ? 0 : std::stoi(end.out);
    }
    json jobs() const {
        const Ended end = shell("glint jobs --json");
        EXPECT_EQ(end.exit_code, 0) << end.err;
        return json::parse(end.out);
    }
    json job(int number) const {
        for (const json& one : jobs())
            if (one["job"] == number) return one;
        return json::object();
    }
    std::string state(int number) const { return job(number).value("state", "none"); }
    static bool is_unfinished(const json& job) { return job["state"] == "queued" || job["state"] == "running"; }
    std::string log(int number) const { return shell("glint jobs log " + std::to_string(number)).out; }
    int wait(int number) const { return shell("glint jobs wait " + std::to_string(number)).exit_code; }
    void go_on() const { folder_.write("go", ""); }

    template <class Condition>
    static bool wait_until(const Condition& condition) {
        for (int k = 0; k < 1200; ++k, std::this_thread::sleep_for(std::chrono::milliseconds(50)))
            if (condition()) return true;
        return false;
    }
    bool becomes(int number, const std::string& expected) const {
        return wait_until([&] { return state(number) == expected; });
    }
    static bool ends(int pid) {
        return wait_until([&] {
            const auto info = gpu::process_info(unsigned(pid));
            return !info || info->state == 'Z';  // a zombie, if there is no process to reap it
        });
    }
    /// Returns the number in a file that a job writes.
    int number_in(const std::string& name) const {
        wait_until([&] { return read_bytes(folder_ / name).ends_with('\n'); });
        return std::stoi(read_bytes(folder_ / name));
    }
    fs::path place() const {  // of the jobs of this machine
        return fs::directory_iterator(folder_ / "state/glint/jobs")->path();
    }

    TemporaryFolder folder_;
    std::string variables_ = "export XDG_STATE_HOME=$PWD/state GLINT_GPU_ENABLED=false; ";
    const std::string until_go_ = "until [ -e go ]; do sleep 0.02; done";
};

}  // namespace glint::test
