// `glint top`: holders, waiters and unmanaged processes of the simulated server, for programs and on a terminal.
// SPDX-License-Identifier: MIT
#include <pty.h>

#include <nlohmann/json.hpp>

#include "tests/lease_processes.hpp"

namespace {

using glint::gpu::lease::test::bin;
using glint::gpu::lease::test::LeaseProcesses;
using nlohmann::json;

struct Top : LeaseProcesses {
    std::string top(const std::string& flag) const {
        const auto command = start_program({"glint", "top", flag});
        EXPECT_EQ(command->finish(), 0) << command->output;
        return command->output;
    }
    json seen() const { return json::parse(top("--json")); }
};

constexpr std::uint64_t mib = 1 << 20;

TEST_F(Top, tells_who_holds_and_who_waits) {
    auto holder = start("5000 1 hold");
    ASSERT_TRUE(holder->says("holding")) << holder->output;
    auto waiter = start_program({"glint", "lease", "--memory", "4000MiB", "--", "true"});
    ASSERT_TRUE(waiter->prints("waiting for a GPU: ")) << waiter->output;
    const json all = seen(), gpu = all["gpus"].at(0), has = gpu["holders"].at(0), wants = all["waiters"].at(0);
    EXPECT_EQ(all["why_no_directory"], "");
    EXPECT_EQ(gpu["uuid"], "GPU-11121314-1516-1718-191a-1b1c1d1e1f20");
    EXPECT_EQ(gpu["total_bytes"], 8192 * mib);
    EXPECT_EQ(gpu["processes"], 1);
    EXPECT_EQ(gpu["strangers"], 0);
    EXPECT_EQ(has["uid"], ::geteuid());
    EXPECT_EQ(has["pid"], holder->pid());
    EXPECT_EQ(has["reserved_bytes"], 5600 * mib);
    EXPECT_EQ(has["held_bytes"], 5600 * mib);
    EXPECT_EQ(has["contexts"], 1);
    EXPECT_GE(has["since_s"], 0);
    EXPECT_EQ(wants["pid"], waiter->pid());
    EXPECT_EQ(wants["bytes"], 4000 * mib);
    EXPECT_EQ(wants["gpus"], 1);
    EXPECT_EQ(wants["passes"], 0);
    EXPECT_EQ(wants["candidates"], json({gpu["uuid"]}));
    const std::string table = top("--once"), no_terminal = top("-q");
    for (const std::string& shown : {table, no_terminal})
        for (const std::string words :
             {"GPU-11121314-1516-1718-191a-1b1c1d1e1f20  Simulated GPU\n",
              " of 8.0 GiB: ", "5.5 GiB reserved, 5.5 GiB held, since ", "waiting\n", "1. ", "3.9 GiB, since "})
            EXPECT_NE(shown.find(words), std::string::npos) << words << " in " << shown;
    expect_done(*holder);
    EXPECT_EQ(waiter->finish(), 0);
}

TEST_F(Top, tells_strangers_from_programs_under_a_lease) {
    auto leased = start_program(
        {"glint", "lease", "--memory", "2000MiB", "--", (bin / "lease_worker").string(), "1000", "1", "alone", "hold"});
    ASSERT_TRUE(leased->says("holding")) << leased->output;
    auto stranger = start("500 1 alone hold");
    ASSERT_TRUE(stranger->says("holding")) << stranger->output;
    json gpu;
    for (int k = 0; k < 600 && (gpu = seen()["gpus"].at(0))["strangers"] != 1; ++k) ::usleep(100'000);
    EXPECT_EQ(gpu["strangers"], 1) << "the program's own process counts once its wrapper has seen it";
    ASSERT_EQ(gpu["stranger_processes"].size(), 1u);
    EXPECT_EQ(gpu["stranger_processes"][0]["pid"], stranger->pid());
    EXPECT_EQ(gpu["stranger_processes"][0]["name"], "lease_worker");
    EXPECT_EQ(gpu["stranger_processes"][0]["used_bytes"], (527 + 448) * mib);
    EXPECT_NE(top("--once").find("1.0 GiB used by an unmanaged process: lease_worker\n"), std::string::npos)
        << top("--once");
}

TEST_F(Top, tells_who_had_gpus) {
    EXPECT_NE(top("--history").find("no lease in the last 30 days"), std::string::npos);
    gpus("2x8GiB");
    auto two = start_program({"glint", "lease", "--memory", "1000MiB", "--gpus", "2", "--", "sleep", "0.5"});
    EXPECT_EQ(two->finish(), 0) << two->output;
    const auto lease_of_shell = [&](const char* script) {
        return start_program({"glint", "lease", "--memory", "1000MiB", "--", "sh", "-c", script});
    };
    EXPECT_EQ(lease_of_shell("kill -9 $PPID $$")->finish(), 128 + SIGKILL);
    auto lasts = lease_of_shell("echo holding; read x");
    ASSERT_TRUE(lasts->says("holding")) << lasts->output;
    const auto command = start_program({"glint", "top", "--history", "--json"});
    EXPECT_EQ(command->finish(), 0) << command->output;
    const json all = json::parse(command->output), leases = all["leases"];
    ASSERT_EQ(leases.size(), 4u);
    EXPECT_NE(leases[0]["gpu"], leases[1]["gpu"]);
    for (const int k : {0, 1}) {
        EXPECT_EQ(leases[k]["program"], "glint");
        EXPECT_EQ(leases[k]["pid"], leases[0]["pid"]);
        EXPECT_EQ(leases[k]["state"], "ended");
        EXPECT_EQ(leases[k]["reserved_bytes"], 1600 * mib);
        EXPECT_GE(leases[k]["lasted_s"], 0.5);
    }
    EXPECT_EQ(leases[2]["state"], "killed");
    EXPECT_EQ(leases[2]["lasted_s"], nullptr);
    EXPECT_EQ(leases[3]["pid"], lasts->pid());
    EXPECT_EQ(leases[3]["state"], "lasts");
    ASSERT_EQ(all["users"].size(), 1u);
    EXPECT_EQ(all["users"][0]["leases"], 4);
    EXPECT_GE(all["users"][0]["gpu_s"], 1.0);
    const std::string table = top("--history");
    EXPECT_NE(table.find("    killed  "), std::string::npos) << table;
    EXPECT_NE(table.find(" of a GPU in 4 leases\n"), std::string::npos) << table;
    lasts->finish();
    const auto doctor = start_program({"glint", "doctor"});
    doctor->finish();
    EXPECT_EQ(doctor->output.find("do not belong to leases"), std::string::npos) << doctor->output;
}

// The name of a process must not reach the terminal unescaped.
TEST_F(Top, a_strangers_name_does_nothing_to_the_terminal) {
    std::filesystem::create_symlink(bin / "lease_worker", server / "e\033[2Jvil");
    auto stranger = start_program({(server / "e\033[2Jvil").string(), "500", "1", "alone", "hold"});
    ASSERT_TRUE(stranger->says("holding")) << stranger->output;
    EXPECT_NE(top("--once").find("an unmanaged process: e?[2Jvil\n"), std::string::npos) << top("--once");
}

TEST_F(Top, ends_well_where_there_is_nothing_to_see) {
    set("CUDA_VISIBLE_DEVICES", "");
    EXPECT_NE(top("--once").find("no GPU can be used by this process: "), std::string::npos);
    set("GLINT_LEASE_DIR", (server / "not/there").string());
    EXPECT_NE(top("--once").find("not/there"), std::string::npos);
    EXPECT_NE(seen()["why_no_directory"], "");
}

TEST_F(Top, redraws_its_table_and_leaves_the_terminal_as_it_was) {
    gpus("4x8GiB");
    const std::string glint = (bin / "glint").string();
    winsize size{};
    size.ws_col = 40, size.ws_row = 6;
    int terminal = -1;
    const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, &size);
    if (pid == 0) {
        ::execl(glint.c_str(), "glint", "top", nullptr);
        ::_exit(127);
    }
    const std::string back = "\r\033[5A\033[J";  // to the first of five lines
    std::string shown;
    char buffer[4096];
    ssize_t n = 0;
    while (shown.find(back) == shown.npos && (n = ::read(terminal, buffer, sizeof buffer)) > 0)
        shown.append(buffer, std::size_t(n));
    ASSERT_EQ(::write(terminal, "\x03", 1), 1);
    while ((n = ::read(terminal, buffer, sizeof buffer)) > 0) shown.append(buffer, std::size_t(n));
    int status = 0;
    ::waitpid(pid, &status, 0);
    ::close(terminal);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    EXPECT_NE(shown.find("... 5 more lines"), std::string::npos) << shown;
    for (std::size_t at = 0; (at = shown.find(back)) != shown.npos;) shown.erase(at, back.size());
    EXPECT_EQ(shown.find('\033'), std::string::npos) << "nothing else was asked of the terminal: " << shown;
    std::istringstream lines(shown);
    for (std::string line; std::getline(lines, line, '\n');) EXPECT_LE(line.size(), 41u) << line;  // with its \r
}

}  // namespace
