// `glint lease -- CMD` with real processes on the simulated server: the child's environment, signals and exit codes,
// and the lifetime of the lease for any order in which the two processes end.
// SPDX-License-Identifier: MIT
#include <pty.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "gpu/process.hpp"
#include "tests/lease_processes.hpp"

namespace {

using glint::gpu::lease::test::bin;
using glint::gpu::lease::test::LeaseProcesses;
using glint::gpu::lease::test::LeaseWorker;
using Words = std::vector<std::string>;

const std::string worker = (bin / "lease_worker").string();

struct LeaseCommand : LeaseProcesses {
    /// Starts glint lease --memory MIB -- COMMAND...
    std::unique_ptr<LeaseWorker> lease(int mib, const Words& command, const Words& flags = {}) const {
        Words words{"glint", "lease", "--memory", std::to_string(mib) + "MiB"};
        words.insert(words.end(), flags.begin(), flags.end());
        words.push_back("--");
        words.insert(words.end(), command.begin(), command.end());
        return start_program(words);
    }
    std::unique_ptr<LeaseWorker> lease_of_shell(int mib, const std::string& script) const {
        return lease(mib, {"sh", "-c", script});
    }
    std::string holders() const {
        const auto asked = start("who");
        asked->finish();
        return asked->output;
    }
    /// Polls until the leases are as expected, for at most a minute; a second is normal.
    bool become(const std::string& expected) const {
        for (int k = 0; k < 600; ++k) {
            if (holders().find(expected) != std::string::npos) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        ADD_FAILURE() << "expected " << expected << "\nand found " << holders();
        return false;
    }
};

/// Waits until the process has stopped, which takes a moment after the signal.
bool is_stopped(int pid) {
    for (int k = 0; k < 6000; ++k) {
        const auto info = glint::gpu::process_info(unsigned(pid));
        if (info && info->state == 'T') return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

constexpr const char* empty_8_gib = "0 holders, 0 waiters, 8188 MiB free\n";

TEST_F(LeaseCommand, hands_on_the_exit_code) {
    EXPECT_EQ(lease_of_shell(1000, "exit 7")->finish(), 7);
    EXPECT_EQ(lease_of_shell(1000, "kill -9 $$")->finish(), 128 + SIGKILL);
    EXPECT_EQ(state(), empty_8_gib);
}

TEST_F(LeaseCommand, a_program_that_cannot_run_is_not_waited_for) {
    auto holder = start("6000 1 hold");
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    server.write("plain", "no program");
    const struct {
        const char* program;
        int code;
    } cases[] = {{"no_such_program", 127}, {"./nowhere/x", 127}, {"./plain", 126}, {"/", 126}};
    for (const auto& c : cases) {
        auto failed = lease(6000, {c.program});
        EXPECT_EQ(failed->finish(), c.code) << c.program;
        EXPECT_NE(failed->output.find(std::string("glint: ") + c.program), std::string::npos) << failed->output;
    }
    EXPECT_EQ(lease(6000, {})->finish(), 2);
    EXPECT_EQ(lease(6000, {"true"}, {"--timeout", "soon"})->finish(), 2);
    EXPECT_EQ(lease(6000, {"true"}, {"--timeout", "0"})->finish(), 5);
    EXPECT_EQ(lease(60000, {"true"})->finish(), 5) << "more than a GPU has";
}

TEST_F(LeaseCommand, runs_without_a_gpu_if_asked) {
    auto holder = start("6000 1 hold");
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    auto without =
        lease(6000, {"sh", "-c", "echo sees=$CUDA_VISIBLE_DEVICES.; exit 7"}, {"--timeout", "0", "--or-without"});
    EXPECT_EQ(without->finish(), 7);
    EXPECT_NE(without->output.find("sees=.\n"), std::string::npos) << without->output;
    EXPECT_NE(without->output.find("the program runs without a GPU"), std::string::npos) << without->output;
    EXPECT_EQ(lease(60000, {"true"}, {"--or-without"})->finish(), 0) << "more than a GPU has";
    auto with = lease(500, {"sh", "-c", "echo sees=$CUDA_VISIBLE_DEVICES."}, {"--or-without"});
    EXPECT_EQ(with->finish(), 0);
    EXPECT_NE(with->output.find("sees=GPU-"), std::string::npos) << with->output;
}

// glint ignores SIGPIPE and SIGXFSZ for itself; the child must get the default handlers, so that `yes | head` ends.
TEST_F(LeaseCommand, the_program_finds_signals_ignored_that_were_ignored_before) {
    const std::string mine = glint::test::read_bytes("/proc/self/status"), name = "SigIgn:";
    auto told = lease_of_shell(1000, "grep SigIgn: /proc/self/status");
    EXPECT_EQ(told->finish(), 0);
    EXPECT_NE(told->output.find(mine.substr(mine.find(name), name.size() + 17)), std::string::npos) << told->output;
}

TEST_F(LeaseCommand, tells_the_program_its_gpus_and_its_limit) {
    gpus("2x8GiB");
    auto told = lease(1000, {"env"}, {"--gpus", "2"});
    EXPECT_EQ(told->finish(), 0);
    for (const char* words :
         {"CUDA_VISIBLE_DEVICES=GPU-11121314-1516-1718-191a-1b1c1d1e1f20,GPU-22232425-2627-2829-2a2b-2c2d2e2f3031\n",
          "GLINT_GPU_MEMORY_LIMIT=1048576000\n", "GLINT_LEASE=slot."})
        EXPECT_NE(told->output.find(words), std::string::npos) << words << told->output;
    set("GLINT_GPU_MEMORY_LIMIT", "100MiB");
    auto limited = lease(1000, {"env"});
    limited->finish();
    EXPECT_NE(limited->output.find("GLINT_GPU_MEMORY_LIMIT=104857600\n"), std::string::npos) << limited->output;
}

TEST_F(LeaseCommand, a_gpu_on_which_nvml_fails_is_not_taken_for_empty) {
    gpus("2x8GiB");
    set("SIMGPU_NVML_FAULT", "nvmlDeviceGetMemoryInfo@0:999");
    auto told = lease(1000, {"env"}, {"--timeout", "0s"});
    EXPECT_EQ(told->finish(), 0) << told->output;
    EXPECT_NE(told->output.find("CUDA_VISIBLE_DEVICES=GPU-22232425-"), std::string::npos) << told->output;
    set("SIMGPU_NVML_FAULT", "nvmlDeviceGetMemoryInfo:999");
    auto refused = lease(1000, {"env"}, {"--timeout", "0s"});
    EXPECT_NE(refused->finish(), 0) << refused->output;
    EXPECT_NE(refused->output.find("NVML does not report how much memory is free on it"), std::string::npos)
        << refused->output;
    set("SIMGPU_NVML_FAULT", "nvmlDeviceGetMemoryInfo:3");  // as some GPUs always do
    EXPECT_EQ(lease(1000, {"true"}, {"--timeout", "0s"})->finish(), 0);
}

// Two dashes, brackets and the names of glint's own commands have no special meaning after the first two dashes.
TEST_F(LeaseCommand, hands_on_every_word_as_it_is) {
    auto echo = lease(1000, {"echo", "--", "[1,2]", "--json", "fit", "--help", "a b", ""});
    EXPECT_EQ(echo->finish(), 0);
    EXPECT_NE(echo->output.find("-- [1,2] --json fit --help a b \n"), std::string::npos) << echo->output;
}

TEST_F(LeaseCommand, the_program_may_follow_the_flags_without_dashes) {
    auto echo = start_program(
        {"glint", "lease", "--memory", "1G", "--timeout", "60s", "-q", "echo", "a", "--", "--json", "-h"});
    EXPECT_EQ(echo->finish(), 0);
    EXPECT_NE(echo->output.find("a -- --json -h\n"), std::string::npos) << echo->output;
}

TEST_F(LeaseCommand, memory_without_a_unit_is_asked_for_again) {
    auto few = start_program({"glint", "lease", "--memory", "6", "--", "true"});
    EXPECT_EQ(few->finish(), 2);
    EXPECT_NE(few->output.find("that is 6 bytes; give a unit, as in 6GiB"), std::string::npos) << few->output;
}

TEST_F(LeaseCommand, leases_a_mig_instance_that_it_cannot_see_itself) {
    set("SIMGPU_MIG", "0:2");
    auto first = lease_of_shell(3000, "echo $CUDA_VISIBLE_DEVICES; read x");
    ASSERT_TRUE(first->prints("MIG-")) << first->output;
    auto second = lease_of_shell(3000, "echo $CUDA_VISIBLE_DEVICES; " + worker + " 2000 1");
    EXPECT_EQ(second->finish(), 0) << second->output;
    EXPECT_NE(second->output.find("\nMIG-33343536-"), std::string::npos) << second->output;
    EXPECT_NE(second->output.find("done\n"), std::string::npos) << second->output;
    first->finish();
    EXPECT_NE(first->output.find("\nMIG-22232425-"), std::string::npos) << first->output;
}

TEST_F(LeaseCommand, others_wait_until_the_program_ends) {
    auto holder = lease(6000, {worker, "5000", "1", "alone", "hold"});
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    auto waiter = lease(6000, {"echo", "at last"});
    ASSERT_TRUE(waiter->prints("waiting for a GPU: ")) << waiter->output;
    expect_done(*holder);
    EXPECT_EQ(waiter->finish(), 0);
    EXPECT_NE(waiter->output.find("at last\n"), std::string::npos) << waiter->output;
    EXPECT_EQ(state(), empty_8_gib);
}

TEST_F(LeaseCommand, the_program_keeps_the_lease_when_the_wrapper_is_killed) {
    auto holder = lease(6000, {worker, "5000", "1", "alone", "hold"});
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    holder->signal(SIGKILL);
    ASSERT_EQ(::waitpid(holder->pid(), nullptr, 0), holder->pid());
    EXPECT_EQ(holders().find("6600 reserved"), 0u) << holders();
    auto waiter = start("6000 1 say");
    ASSERT_TRUE(waiter->says("waiting")) << waiter->output;
    holder->end_input();
    expect_done(*waiter);
    EXPECT_EQ(state(), empty_8_gib);
}

// Otherwise each would wait for memory that its own wrapper holds.
TEST_F(LeaseCommand, a_glint_under_a_lease_uses_that_lease) {
    auto one = lease(6000, {worker, "5000", "2"});
    expect_done(*one);
    auto nested = lease(6000, {(bin / "glint").string(), "lease", "--memory", "6000MiB", "--", worker, "5000", "2"});
    expect_done(*nested);
    // Python's subprocess closes all descriptors but the first three.
    auto without_descriptor =
        lease(6000, {"bash", "-c",
                     "for n in /proc/$$/fd/*; do n=${n##*/}; [ $n -gt 2 ] && eval \"exec $n>&-\"; done; exec " +
                         worker + " 5000 1"});
    expect_done(*without_descriptor);
    EXPECT_EQ(state(), empty_8_gib);
}

TEST_F(LeaseCommand, what_the_program_takes_is_counted_once) {
    for (const char* hidden : {"0", "1"}) {
        SCOPED_TRACE(hidden);
        set("SIMGPU_HIDE_PIDS", hidden);
        auto holder = lease(4000, {worker, "3000", "1", "alone", "hold"});
        ASSERT_TRUE(holder->says("holding")) << holder->output;
        // A context of 527 MiB, for which 600 MiB are reserved, and 2936 MiB in granules of 32 MiB, on a GPU of 8188
        // MiB.
        EXPECT_TRUE(become("4600 reserved, 3471 held, 1 contexts\n3588 available, 0 strangers\n"));
        expect_done(*holder);
        EXPECT_TRUE(become("8188 available, 0 strangers\n"));
    }
}

TEST_F(LeaseCommand, all_processes_of_the_program_are_its_own) {
    const std::string take = worker + " 1000 1 alone hold";
    // One process is no longer a descendant: its parent ends immediately.
    auto holder = lease_of_shell(6000, "exec 9<&0; (" + take + " <&9 & ); " + take);
    EXPECT_TRUE(become("2 contexts\n")) << holder->output;
    EXPECT_NE(holders().find(", 0 strangers"), std::string::npos) << holders();
    holder->finish();
    EXPECT_TRUE(become("8188 available, 0 strangers\n"));
}

TEST_F(LeaseCommand, hands_on_signals) {
    for (const auto& [name, number] : std::vector<std::pair<std::string, int>>{{"INT", SIGINT},
                                                                               {"TERM", SIGTERM},
                                                                               {"HUP", SIGHUP},
                                                                               {"QUIT", SIGQUIT},
                                                                               {"USR1", SIGUSR1},
                                                                               {"USR2", SIGUSR2}}) {
        auto command = lease_of_shell(
            1000, "trap 'echo got " + name + "; exit 3' " + name + "; echo ready; while :; do sleep 0.02; done");
        ASSERT_TRUE(command->says("ready")) << command->output;
        command->signal(number);
        EXPECT_EQ(command->finish(), 3) << name;
        EXPECT_NE(command->output.find("got " + name + "\n"), std::string::npos) << command->output;
    }
    EXPECT_EQ(state(), empty_8_gib);
}

TEST_F(LeaseCommand, stops_and_goes_on_with_the_program) {
    auto command = lease_of_shell(1000, "echo $$ is it; read x; echo went on");
    ASSERT_TRUE(command->says("is it")) << command->output;
    const std::size_t end = command->output.find(" is it");
    const int child = std::stoi(command->output.substr(command->output.rfind('\n', end) + 1));
    command->signal(SIGTSTP);
    ASSERT_TRUE(command->stopped());
    EXPECT_TRUE(is_stopped(child));
    EXPECT_NE(holders().find("1600 reserved"), std::string::npos) << "a stopped program keeps its lease";
    command->signal(SIGCONT);
    EXPECT_EQ(command->finish(), 0);
    EXPECT_NE(command->output.find("went on\n"), std::string::npos) << command->output;
}

TEST_F(LeaseCommand, what_is_ignored_stays_ignored) {
    auto holder = start("6000 1 hold");
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    auto command = start_program(
        {"/bin/sh", "-c",
         "trap '' HUP; exec " + (bin / "glint").string() + " lease --memory 6000MiB -- sh -c 'kill -HUP $$; exit 4'"});
    ASSERT_TRUE(command->prints("waiting for a GPU: ")) << command->output;
    command->signal(SIGHUP);
    expect_done(*holder);
    EXPECT_EQ(command->finish(), 4) << command->output;
}

TEST_F(LeaseCommand, is_stopped_by_signals_while_it_waits) {
    auto holder = start("6000 1 hold");
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        auto waiter = lease(6000, {"true"});
        ASSERT_TRUE(waiter->prints("waiting for a GPU: ")) << waiter->output;
        waiter->signal(number);
        EXPECT_EQ(waiter->finish(), 128 + number) << waiter->output;
    }
    expect_done(*holder);
}

// The terminal signals the whole process group. If glint passed the signal on, the program would receive it twice.
TEST_F(LeaseCommand, ctrl_c_reaches_the_program_once) {
    int terminal = -1;
    const std::string glint = (bin / "glint").string();
    const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid == 0) {
        ::execl(glint.c_str(), "glint", "lease", "--memory", "1000MiB", "--", worker.c_str(), "signals", nullptr);
        ::_exit(127);
    }
    std::string shown;
    const auto wait_for = [&](const char* words) {
        char buffer[256];
        for (ssize_t n; shown.find(words) == shown.npos && (n = ::read(terminal, buffer, sizeof buffer)) > 0;)
            shown.append(buffer, std::size_t(n));
        return shown.find(words) != shown.npos;
    };
    ASSERT_TRUE(wait_for("ready\r\n")) << shown;
    ASSERT_EQ(::write(terminal, "\x03", 1), 1);
    ASSERT_TRUE(wait_for("interrupted\r\n")) << shown;
    ::kill(pid, SIGUSR1);  // is passed on after all earlier signals
    ASSERT_TRUE(wait_for("done\r\n")) << shown;
    int status = 0;
    ::waitpid(pid, &status, 0);
    ::close(terminal);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(shown.find("interrupted"), shown.rfind("interrupted")) << shown;
}

}  // namespace
