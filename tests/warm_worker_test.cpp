// `glint fit` and `glint localize` with `--gpu-worker auto` on a simulated server: one worker serves all commands, and
// clients recover if it fails.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "gpu/process.hpp"
#include "tests/gpu_program.hpp"

namespace glint::test {
namespace {

constexpr int rois = 3000;

class WarmWorker : public GpuProgram {
  protected:
    void SetUp() override {
        GpuProgram::SetUp();
        if (IsSkipped()) return;
        if (!real_driver_.empty()) GTEST_SKIP() << "the driver here is a real one";
        write_rois(folder_, rois);
        const auto began = std::chrono::steady_clock::now();
        const Ended alone = fit("alone.csv", "off");
        alone_took_ = std::chrono::steady_clock::now() - began;
        ASSERT_EQ(alone.exit_code, 0) << alone.err;
        alone_ = read_bytes(folder_ / "alone.csv");
        ASSERT_FALSE(alone_.empty());
        ASSERT_EQ(run(folder_, "glint simulate -o movie.tif -q --structure random --size 64x48 --frames 24 --spots 12")
                      .exit_code,
                  0);
        const Ended movie = run(folder_, patient() + localize("movie.csv", "off"));
        ASSERT_EQ(movie.exit_code, 0) << movie.err;
        movie_alone_ = read_bytes(folder_ / "movie.csv");
    }
    void TearDown() override {
        for (const unsigned pid : workers()) ::kill(pid_t(pid), SIGKILL);
    }

    static std::string command(const std::string& out, const std::string& worker,
                               const std::string& flags = "--gpu-timeout 60s --batch-size 64") {
        return "glint fit rois.npy -o " + out +
               " --sigma 130nm --pixel-size 100nm --offset 0 --gain 1 --json --overwrite --backend gpu "
               "--gpu-worker " +
               worker + " " + flags;
    }
    static std::string localize(const std::string& out, const std::string& worker) {
        return "glint localize movie.tif -o " + out +
               " --sigma 130nm --pixel-size 100nm --offset 100 --gain 1 --json --quiet --overwrite --backend gpu "
               "--gpu-timeout "
               "60s --gpu-worker " +
               worker;
    }
    /// Returns variables with which a worker stays longer than a test takes on a slow machine.
    std::string patient(const std::string& variables = "") const {
        return variables_with("GLINT_GPU_WORKER_IDLE=600 " + variables);
    }
    Ended fit(const std::string& out, const std::string& worker = "auto", const std::string& variables = "") {
        return run(folder_, patient(variables) + command(out, worker));
    }
    void expect_same(const Ended& ended, const std::string& out) {
        EXPECT_EQ(ended.exit_code, 0) << ended.err;
        EXPECT_TRUE(read_bytes(folder_ / out) == alone_) << out << " differs: " << ended.out << ended.err;
    }
    /// Returns the workers of this test's server, identified by their environment.
    std::vector<unsigned> workers() const {
        std::vector<unsigned> found;
        for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
            const std::string pid = entry.path().filename().string();
            if (pid.find_first_not_of("0123456789") != pid.npos) continue;
            if (gpu::content_of(entry.path() / "comm") == "glint-worker\n" &&
                gpu::content_of(entry.path() / "environ").find("GLINT_LEASE_DIR=" + folder_.path().string()) !=
                    std::string::npos)
                found.push_back(unsigned(std::stoul(pid)));
        }
        return found;
    }
    nlohmann::json holders() {
        const Ended top = run_with("", "glint top --json");
        EXPECT_EQ(top.exit_code, 0) << top.err;
        return nlohmann::json::parse(top.out)["gpus"].at(0)["holders"];
    }
    template <class Condition>
    static bool comes_true(const Condition& condition, int seconds = 60) {
        for (int k = 0; k < 20 * seconds; ++k) {
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return false;
    }

    static constexpr const char* as_movies_do = "--gpu-timeout 60s";  // in batches of the default size
    /// Clients in separate folders: every second client localizes the movie, the other clients fit.
    struct Clients {
        std::vector<std::unique_ptr<TemporaryFolder>> folders;
        std::vector<std::unique_ptr<Program>> programs;
        bool some_run() const {
            bool any = false;
            for (const auto& program : programs) any = program->running() || any;
            return any;
        }
    };
    Clients start(int count, const std::string& variables) const {
        Clients clients;
        for (int k = 0; k < count; ++k) {
            clients.folders.push_back(std::make_unique<TemporaryFolder>());
            for (const char* input : {"rois.npy", "movie.tif"})
                std::filesystem::create_symlink(folder_ / input, *clients.folders.back() / input);
            clients.programs.push_back(std::make_unique<Program>(
                *clients.folders.back(),
                variables + (k % 2 ? localize("o.csv", "auto") : command("o.csv", "auto", as_movies_do))));
        }
        return clients;
    }
    /// Expects the results of runs without a worker. Returns how often a worker was replaced.
    int expect_all(Clients& clients) const {
        int retries = 0;
        for (std::size_t k = 0; k < clients.programs.size(); ++k) {
            const Ended ended = clients.programs[k]->ended();
            EXPECT_EQ(ended.exit_code, 0) << ended.err;
            EXPECT_TRUE(read_bytes(*clients.folders[k] / "o.csv") == (k % 2 ? movie_alone_ : alone_)) << k << ended.out;
            if (ended.exit_code != 0) continue;
            const auto info = nlohmann::json::parse(ended.out);
            retries += int(k % 2 ? info["fit"]["gpu"]["retries"] : info["retries"]);
        }
        return retries;
    }

    std::string alone_, movie_alone_;  // results without a worker
    std::chrono::duration<double> alone_took_{};
};

}  // namespace

TEST_F(WarmWorker, fits_for_one_command_after_another) {
    const Ended first = fit("1.csv");
    expect_same(first, "1.csv");
    const std::vector<unsigned> started = workers();
    ASSERT_EQ(started.size(), 1u);
    expect_same(fit("2.csv"), "2.csv");
    EXPECT_EQ(workers(), started);
    const auto info = nlohmann::json::parse(first.out);
    EXPECT_EQ(info["backend"], "gpu");
    EXPECT_EQ(info["gpus"].at(0)["fits"], rois);
    EXPECT_EQ(info["retries"], 0);
    const auto seen = holders();
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0]["pid"], started[0]);
    EXPECT_EQ(seen[0]["worker"]["fits"], 2 * rois);
    EXPECT_EQ(seen[0]["worker"]["client_count"], 0);
    EXPECT_NE(run_with("", "glint top --once").out.find("warm worker: 6000 fits"), std::string::npos);
}

TEST_F(WarmWorker, localizes_movies_and_fits_stacks) {
    expect_same(run(folder_, patient() + command("1.csv", "auto", as_movies_do)), "1.csv");
    const std::vector<unsigned> started = workers();
    ASSERT_EQ(started.size(), 1u);
    for (const char* out : {"2.csv", "3.csv"}) {
        const Ended ended = run(folder_, patient() + localize(out, "auto"));
        EXPECT_EQ(ended.exit_code, 0) << ended.err;
        EXPECT_TRUE(read_bytes(folder_ / out) == movie_alone_) << ended.out;
        const auto info = nlohmann::json::parse(ended.out)["fit"];
        EXPECT_EQ(info["backend"], "gpu");
        EXPECT_EQ(info["gpu"]["events"].size(), 0u) << info;
        EXPECT_EQ(info["gpu"]["gpus"].at(0)["fits"], info["fits"]);
    }
    EXPECT_EQ(workers(), started);
    const auto seen = holders();
    ASSERT_EQ(seen.size(), 1u) << "a movie had a GPU of its own";
    EXPECT_GT(seen[0]["worker"]["fits"], rois);
}

TEST_F(WarmWorker, ends_when_nobody_comes) {
    expect_same(fit("1.csv", "auto", "GLINT_GPU_WORKER_IDLE=1"), "1.csv");
    EXPECT_TRUE(comes_true([&] { return workers().empty(); })) << "it does not end";
    EXPECT_TRUE(holders().empty());
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "leases" / ("worker." + std::to_string(::geteuid()))));
}

TEST_F(WarmWorker, keeps_nothing_of_the_command_that_started_it) {
    const Ended end =
        run(folder_, patient() + "sh -c '" + command("o.csv", "auto", "--batch-size 64 9>&1") + " | cat'");
    EXPECT_EQ(end.exit_code, 0) << end.err;
    ASSERT_EQ(workers().size(), 1u) << "the pipe was closed only when the worker ended";
    const std::filesystem::path process = "/proc/" + std::to_string(workers()[0]);
    EXPECT_EQ(std::filesystem::read_symlink(process / "cwd"), "/");
    for (const int stream : {0, 1, 2})
        EXPECT_EQ(std::filesystem::read_symlink(process / "fd" / std::to_string(stream)), "/dev/null");
    EXPECT_EQ(unsigned(::getpgid(pid_t(workers()[0]))), unsigned(::getsid(pid_t(workers()[0]))));
    EXPECT_NE(::getsid(pid_t(workers()[0])), ::getsid(0));
}

// On a GPU that holds one context, so that no process can have one beside the worker.
TEST_F(WarmWorker, serves_many_at_once_by_one_context) {
    const int clients = thorough() ? 100 : 20;
    std::filesystem::remove(folder_ / "state");
    Clients all = start(clients, patient("SIMGPU_CONTEXTS=1"));
    EXPECT_EQ(expect_all(all), 0);
    EXPECT_EQ(workers().size(), 1u);
}

// Several simultaneous clients, repeated until a worker was killed during a fit.
TEST_F(WarmWorker, may_be_killed_at_any_time) {
    const int clients = thorough() ? 24 : 6;
    std::mt19937 random(1 + unsigned(turn() % 1000));
    int retries = 0;
    for (int round = 0; round < 20 && retries == 0; ++round) {
        Clients all = start(clients, patient());
        while (all.some_run()) {
            std::this_thread::sleep_for(alone_took_ * std::uniform_real_distribution(0.05, 1.0)(random));
            for (const unsigned pid : workers()) ::kill(pid_t(pid), SIGKILL);
        }
        retries += expect_all(all);
    }
    EXPECT_GT(retries, 0);
}

// If the GPU fails in the worker, the client only sees that the worker ended. It uses another worker or opens a GPU
// itself.
TEST_F(WarmWorker, may_lose_its_gpu) {
    for (const std::string fault : {"cuLaunchKernel:20~:700", "cuMemcpyHtoDAsync:30:719",
                                    "cuDevicePrimaryCtxRetain:1:2", "*:150!kill", "*:400!kill"}) {
        SCOPED_TRACE(fault);
        for (const unsigned pid : workers()) ::kill(pid_t(pid), SIGKILL);
        // The worker inherits the fault from the client that starts it; other clients have no fault.
        Program starter(folder_, patient("SIMGPU_FAULT='" + fault + "'") + command("faulty.csv", "auto"));
        ASSERT_TRUE(comes_true([&] { return !workers().empty() || !starter.running(); }));
        TemporaryFolder other;
        std::filesystem::create_symlink(folder_ / "rois.npy", other / "rois.npy");
        Clients beside = start(2, patient());
        const Ended ended = run(other, patient("") + command("o.csv", "auto"));
        EXPECT_EQ(ended.exit_code, 0) << ended.err;
        EXPECT_TRUE(read_bytes(other / "o.csv") == alone_) << ended.out;
        expect_all(beside);
        starter.ended();
    }
}

TEST_F(WarmWorker, that_is_stopped_keeps_nobody_waiting) {
    expect_same(fit("1.csv"), "1.csv");
    ASSERT_EQ(workers().size(), 1u);
    const unsigned pid = workers()[0];
    ASSERT_EQ(::kill(pid_t(pid), SIGSTOP), 0);
    const auto began = std::chrono::steady_clock::now();
    const Ended ended = fit("2.csv");
    expect_same(ended, "2.csv");
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(25)) << "of the 30 s for a greeting";
    EXPECT_NE(ended.out.find("it does not answer"), std::string::npos) << ended.out;
    ::kill(pid_t(pid), SIGCONT);
}

TEST_F(WarmWorker, is_not_needed) {
    // No worker if a file blocks its folder, if the GPU is full, or under a lease, which the worker would outlive.
    std::filesystem::create_directories(folder_ / "leases");
    std::filesystem::remove_all(folder_ / "leases" / ("worker." + std::to_string(::geteuid())));
    folder_.write("leases/worker." + std::to_string(::geteuid()), "");
    const Ended ended = fit("1.csv");
    expect_same(ended, "1.csv");
    EXPECT_NE(ended.out.find("no worker: "), std::string::npos) << ended.out;
    std::filesystem::remove(folder_ / "leases" / ("worker." + std::to_string(::geteuid())));
    expect_same(run_with("", "glint lease --memory 4GiB -- " + command("2.csv", "auto")), "2.csv");
    EXPECT_TRUE(workers().empty());
    std::filesystem::remove(folder_ / "state");
    const std::string full = "SIMGPU_STRANGERS=0:7900MiB:50";
    const Ended with = run_with(full, command("3.csv", "auto", "--gpu-timeout 0.2s --batch-size 64")),
                without = run_with(full, command("3.csv", "off", "--gpu-timeout 0.2s --batch-size 64"));
    EXPECT_EQ(without.exit_code, 5);
    EXPECT_EQ(with.exit_code, 5);
}

TEST_F(WarmWorker, is_started_by_glint_alone) {
    const Ended ended = run(folder_, "glint gpu-worker name --gpu-memory 1");
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_NE(ended.err.find("--gpu-worker auto"), std::string::npos) << ended.err;
    EXPECT_EQ(run(folder_, "glint --help").out.find("gpu-worker"), std::string::npos);
}

}  // namespace glint::test
