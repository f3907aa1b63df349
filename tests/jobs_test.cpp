// `glint submit` and `glint jobs` as a user runs them: arguments, output, terminals, and the order in which jobs start.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <pty.h>

#include <fmt/format.h>

#include "tests/jobs.hpp"

namespace glint::test {

TEST_F(Jobs, keep_exit_code_and_output) {
    const int good = submit("-- sh -c 'echo out; echo err >&2; cat'");
    const int bad = submit("sh -c 'exit 3'");
    const int killed = submit("-- sh -c 'kill -9 $$'");
    EXPECT_EQ(good, 1);
    EXPECT_EQ(bad, 2);
    EXPECT_EQ(wait(good), 0);
    EXPECT_EQ(wait(bad), 3);
    EXPECT_EQ(wait(killed), 128 + SIGKILL);
    EXPECT_EQ(log(good), "out\nerr\n") << "stdin is empty";
    EXPECT_EQ(state(good), "done");
    EXPECT_EQ(state(bad), "failed");
    EXPECT_EQ(job(bad)["exit_code"], 3);
    const Ended all = shell("glint jobs wait 1 2 3");
    EXPECT_EQ(all.exit_code, 3);
    EXPECT_EQ(all.out, "1  done\n2  failed 3\n3  failed 137\n");
    EXPECT_NE(shell("glint jobs").out.find("sh -c 'exit 3'\n"), std::string::npos);
}

TEST_F(Jobs, that_fail_tell_why_by_the_last_line_of_their_log) {
    const int bad = submit("sh -c 'echo begins; echo \"the disk is full\" >&2; echo; exit 4'");
    EXPECT_EQ(shell(fmt::format("glint jobs wait {}", bad)).out, fmt::format("{}  failed 4: the disk is full\n", bad));
    const int silent = submit("sleep 60");
    ASSERT_TRUE(becomes(silent, "running"));
    const Ended shown = shell(fmt::format("glint jobs log {}", silent));
    EXPECT_EQ(shown.out, "");
    EXPECT_NE(shown.err.find("has written nothing yet"), std::string::npos) << shown.err;
    shell(fmt::format("glint jobs cancel {}", silent));
}

// Python buffers its output to a file.
TEST_F(Jobs, have_what_python_has_printed_in_their_log_while_they_run) {
    const int job = submit("python3 -c 'import time; print(\"half done\"); time.sleep(60)'");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (log(job).empty() && std::chrono::steady_clock::now() < end) ::usleep(20000);
    EXPECT_EQ(log(job), "half done\n");
    EXPECT_EQ(state(job), "running");
    shell(fmt::format("glint jobs cancel {}", job));
    const int own = submit("sh -c 'echo $PYTHONUNBUFFERED'", "PYTHONUNBUFFERED=mine ");
    EXPECT_EQ(wait(own), 0);
    EXPECT_EQ(log(own), "mine\n");
}

TEST_F(Jobs, get_words_variables_and_folder_unchanged) {
    fs::create_directory(folder_ / "a folder");
    const std::string print = R"text(-- sh -c 'printf "%s|" "$MINE" "$PWD" "$@"' sh --json 'a b' '' 'new
line' "$(printf '\377')")text";
    const int number = submit(print, "cd 'a folder'; MINE='my own' ");
    EXPECT_EQ(wait(number), 0);
    EXPECT_EQ(log(number), "my own|" + (folder_ / "a folder").string() + "|--json|a b||new\nline|\377|");
    const Ended table = shell("glint jobs");
    EXPECT_NE(table.out.find("--json 'a b' '' 'new?line'"), std::string::npos) << table.out;
}

TEST_F(Jobs, have_a_session_of_their_own_and_nothing_of_the_shell) {
    // The pipe would stay open as long as the job holds it.
    const Ended piped = shell("sh -c 'exec glint submit -- sh -c \"" + until_go_ + "\" 9>&1' | cat");
    EXPECT_EQ(piped.out, "1\n") << piped.err;
    ASSERT_TRUE(becomes(1, "running"));
    const int supervisor = job(1)["supervisor_pid"];
    EXPECT_EQ(::getsid(supervisor), supervisor);
    EXPECT_EQ(fs::read_symlink("/proc/" + std::to_string(supervisor) + "/fd/0"), "/dev/null");
    EXPECT_EQ(fs::read_symlink("/proc/" + std::to_string(supervisor) + "/cwd"), folder_.path());
    EXPECT_EQ(gpu::process_info(unsigned(supervisor))->name, "glint-job");
    ::kill(-supervisor, SIGHUP);  // as if the terminal of the jobs were closed: asks them to end
    EXPECT_EQ(wait(1), 128 + SIGTERM);
}

TEST_F(Jobs, go_on_when_the_terminal_is_closed) {
    const std::string line = variables_ + fs::read_symlink("/proc/self/exe").replace_filename("glint").string() +
                             " submit -- sh -c '" + until_go_ + "'; echo ready; cat";
    int terminal = -1;
    const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid == 0) {
        if (::chdir(folder_.path().c_str()) == 0) ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
        ::_exit(127);
    }
    std::string shown;
    char buffer[256];
    for (ssize_t n; shown.find("ready") == shown.npos && (n = ::read(terminal, buffer, sizeof buffer)) > 0;)
        shown.append(buffer, std::size_t(n));
    ASSERT_NE(shown.find("1\r\nready"), std::string::npos) << shown;
    ::close(terminal);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(WTERMSIG(status), SIGHUP) << "the shell has noticed";
    EXPECT_TRUE(becomes(1, "running"));
    go_on();
    EXPECT_EQ(wait(1), 0);
}

TEST_F(Jobs, have_logs_that_can_be_followed) {
    submit("-- sh -c 'echo first; " + until_go_ + "; echo last'");
    Program follower(folder_, variables_ + "exec glint jobs log --follow 1");
    ASSERT_TRUE(wait_until([&] { return read_bytes(folder_ / ".out") == "first\n"; }));
    EXPECT_TRUE(follower.running());
    go_on();
    const Ended end = follower.ended();
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_EQ(end.out, "first\nlast\n");
}

TEST_F(Jobs, run_in_order_and_one_at_once) {
    for (int k = 1; k <= 4; ++k)
        submit("-- sh -c 'echo begin " + std::to_string(k) + " >> all; " + until_go_ + "; echo end >> all'");
    ASSERT_TRUE(becomes(1, "running"));
    EXPECT_EQ(state(2), "queued");
    EXPECT_EQ(job(2)["took_s"], nullptr);
    go_on();
    EXPECT_EQ(shell("glint jobs wait").exit_code, 0);
    EXPECT_EQ(read_bytes(folder_ / "all"), "begin 1\nend\nbegin 2\nend\nbegin 3\nend\nbegin 4\nend\n");
}

TEST_F(Jobs, run_as_many_at_once_as_is_said) {
    for (int k = 0; k < 3; ++k) submit("--at-once 2 -- sh -c '" + until_go_ + "'");
    ASSERT_TRUE(becomes(2, "running"));
    EXPECT_EQ(state(1), "running");
    EXPECT_EQ(state(3), "queued");
    go_on();
    EXPECT_EQ(shell("glint jobs wait").exit_code, 0);
    EXPECT_EQ(shell("glint submit --at-once 0 -- true").exit_code, 2);
}

TEST_F(Jobs, that_are_short_wait_for_each_other_alone) {
    const std::string command = "-- sh -c '" + until_go_ + "'";
    const int running = submit(command), queued = submit(command);
    EXPECT_TRUE(becomes(submit("--short -- true"), "done")) << "it waits for none of these";
    const int short_one = submit("--short " + command), cancelled = submit("--short " + command),
              killed = submit("--short " + command), next = submit("--short -- true");
    ASSERT_TRUE(becomes(running, "running"));
    ASSERT_TRUE(becomes(short_one, "running"));
    EXPECT_EQ(state(queued), "queued");
    EXPECT_EQ(state(next), "queued");
    EXPECT_EQ(job(running)["short"], false);
    EXPECT_EQ(job(next)["short"], true);
    const std::string table = shell("glint jobs").out;
    EXPECT_NE(table.find("     1  running        "), std::string::npos) << table;
    EXPECT_NE(table.find("     4  running short  "), std::string::npos) << table;
    EXPECT_NE(table.find("     7  queued short   "), std::string::npos) << table;
    EXPECT_EQ(shell("glint jobs cancel " + std::to_string(cancelled)).out, "5  cancelled\n");
    ASSERT_EQ(::kill(job(killed)["supervisor_pid"], SIGKILL), 0);
    EXPECT_EQ(wait(killed), 128 + SIGKILL);
    EXPECT_EQ(state(next), "queued");
    EXPECT_EQ(shell("glint jobs cancel " + std::to_string(short_one)).out, "4  cancelled\n");
    EXPECT_TRUE(becomes(next, "done")) << "whatever became of those before it";
    EXPECT_EQ(state(queued), "queued");
    go_on();
    EXPECT_EQ(shell("glint jobs wait").exit_code, 0);
}

TEST_F(Jobs, do_not_wait_for_short_ones) {
    const std::string command = "-- sh -c '" + until_go_ + "'";
    const int short_one = submit("--short " + command), queued = submit("--short -- true");
    EXPECT_TRUE(becomes(submit("-- true"), "done"));
    ASSERT_TRUE(becomes(short_one, "running"));
    EXPECT_EQ(state(queued), "queued");
    const int running = submit(command), second = submit("--short --at-once 2 " + command);
    ASSERT_TRUE(becomes(running, "running"));
    EXPECT_EQ(state(second), "queued") << "behind the one that is queued";
    EXPECT_EQ(shell("glint jobs cancel " + std::to_string(queued)).exit_code, 0);
    EXPECT_TRUE(becomes(second, "running")) << "one other short one runs";
    go_on();
    EXPECT_EQ(shell("glint jobs wait").exit_code, 0);
    EXPECT_EQ(wait(submit("--short --at-once 3 -- true", "sleep 0; ")), 0) << "behind the one that is queued";
}

TEST_F(Jobs, run_as_many_at_once_as_there_are_gpus) {
    const fs::path server = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "simgpu";
    if (!fs::exists(server / "libcuda.so.1")) GTEST_SKIP() << "no simulated server in " << server;
    variables_ = "export XDG_STATE_HOME=$PWD/state SIMGPU_DEVICES=2x8GiB SIMGPU_STATE=$PWD/server LD_LIBRARY_PATH=" +
                 server.string() + "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; ";
    for (const std::string which : {"-- ", "--short -- "})
        for (int k = 0; k < 3; ++k) submit(which + "sh -c '" + until_go_ + "'");
    for (const int first : {1, 4}) {
        ASSERT_TRUE(becomes(first + 1, "running"));
        EXPECT_EQ(state(first), "running");
        EXPECT_EQ(state(first + 2), "queued");
    }
    go_on();
    EXPECT_EQ(shell("glint jobs wait").exit_code, 0);
}

}  // namespace glint::test
