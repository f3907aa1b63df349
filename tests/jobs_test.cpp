// `glint submit` and `glint jobs` as a user runs them: real processes, killed, cancelled, in crowds, and with each call that writes
// failing once.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/jobs/job_file.hpp"
#include "gpu/process.hpp"
#include "tests/run_program.hpp"
#include "tests/thorough.hpp"

namespace glint::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Jobs : public ::testing::Test {
  protected:
    // What still runs when a test has failed must not outlive its folder.
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
    /// The number of the new job.
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
            return !info || info->state == 'Z';  // where nobody is there to reap it
        });
    }
    /// The number in a file that a job writes.
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

}  // namespace

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
    // The pipe would stay open as long as the job had it.
    const Ended piped = shell("sh -c 'exec glint submit -- sh -c \"" + until_go_ + "\" 9>&1' | cat");
    EXPECT_EQ(piped.out, "1\n") << piped.err;
    ASSERT_TRUE(becomes(1, "running"));
    const int supervisor = job(1)["supervisor_pid"];
    EXPECT_EQ(::getsid(supervisor), supervisor);
    EXPECT_EQ(fs::read_symlink("/proc/" + std::to_string(supervisor) + "/fd/0"), "/dev/null");
    EXPECT_EQ(fs::read_symlink("/proc/" + std::to_string(supervisor) + "/cwd"), folder_.path());
    EXPECT_EQ(gpu::process_info(unsigned(supervisor))->name, "glint-job");
    ::kill(-supervisor, SIGHUP);  // as the end of a terminal would, if it were theirs: asks to end
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

TEST_F(Jobs, can_be_cancelled_in_the_queue) {
    for (int k = 0; k < 4; ++k) submit("-- sh -c '" + until_go_ + "; echo $GLINT_TEST >> all'", "GLINT_TEST=x ");
    ASSERT_TRUE(becomes(1, "running"));
    const Ended end = shell("glint jobs cancel 3 2");
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_EQ(end.out, "2  cancelled\n3  cancelled\n");
    go_on();
    EXPECT_EQ(wait(4), 0);
    EXPECT_EQ(wait(2), 128 + SIGTERM);
    EXPECT_EQ(read_bytes(folder_ / "all"), "x\nx\n") << "those that were cancelled have not run";
    EXPECT_EQ(shell("glint jobs cancel 1").out, "1  done\n") << "it had ended";
}

TEST_F(Jobs, that_are_cancelled_may_save_what_they_have) {
    // The shell ends at once; its child is of the same group, and needs a moment.
    const int number = submit(
        "-- sh -c '(trap \"sleep 0.5; echo saved > saved; exit\" TERM; echo ready > ready; while :; do sleep 0.02; "
        "done) & wait'");
    ASSERT_TRUE(wait_until([&] { return fs::exists(folder_ / "ready"); }));
    EXPECT_EQ(shell("glint jobs cancel 1").out, "1  cancelled\n");
    EXPECT_EQ(read_bytes(folder_ / "saved"), "saved\n");
    EXPECT_EQ(wait(number), 128 + SIGTERM);
}

TEST_F(Jobs, are_killed_when_they_are_cancelled_twice) {
    submit("-- sh -c 'trap \"\" TERM; sh -c \"echo \\$\\$ > child; while :; do sleep 0.02; done\" & wait; wait'");
    const int child = number_in("child");
    Program first(folder_, variables_ + "exec glint jobs cancel 1");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_TRUE(first.running()) << "it has 30 s";
    EXPECT_EQ(state(1), "running");
    TemporaryFolder other;  // for the streams of the second
    const Ended second = run(other, "export XDG_STATE_HOME=" + (folder_ / "state").string() + "; glint jobs cancel 1");
    EXPECT_EQ(second.out, "1  cancelled\n") << second.err;
    EXPECT_EQ(first.ended().exit_code, 0);
    EXPECT_TRUE(ends(child));
    EXPECT_EQ(job(1)["exit_code"], 128 + SIGKILL);
}

TEST_F(Jobs, without_a_supervisor_are_lost) {
    submit("-- sh -c 'echo $$ > leader; " + until_go_ + "'");
    submit("-- true"), submit("-- true");
    const int leader = number_in("leader");
    ASSERT_EQ(::kill(job(2)["supervisor_pid"], SIGKILL), 0);  // in the queue
    ASSERT_EQ(::kill(job(1)["supervisor_pid"], SIGKILL), 0);
    EXPECT_EQ(wait(1), 128 + SIGKILL);
    EXPECT_EQ(state(1), "lost");
    EXPECT_EQ(state(2), "lost");
    EXPECT_EQ(wait(3), 0) << "the others go on";
    EXPECT_TRUE(ends(leader)) << "what nobody looks after does not run on";
    EXPECT_EQ(shell("glint jobs cancel 1").out, "1  lost\n");
}

TEST_F(Jobs, whose_supervisor_is_killed_end_with_all_their_processes) {
    submit("-- sh -c 'sh -c \"echo \\$\\$ > child; " + until_go_ + "\" & sh -c \"echo \\$\\$ > other; " + until_go_ +
           "\"'");
    const int child = number_in("child"), other = number_in("other");
    ASSERT_EQ(::kill(job(1)["supervisor_pid"], SIGKILL), 0);
    EXPECT_TRUE(ends(child));
    EXPECT_TRUE(ends(other));
    EXPECT_EQ(state(1), "lost");
}

TEST_F(Jobs, that_have_ended_leave_their_processes_alone) {
    submit("-- sh -c 'sh -c \"echo \\$\\$ > child; " + until_go_ + "; echo > end\" &'");
    const int child = number_in("child");
    EXPECT_EQ(wait(1), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_FALSE(fs::exists(folder_ / "end"));
    go_on();
    EXPECT_TRUE(ends(child));
    EXPECT_TRUE(fs::exists(folder_ / "end")) << "the command's own affair";
}

TEST_F(Jobs, fail_where_they_cannot_run) {
    EXPECT_EQ(shell("glint submit -- no_such_program").exit_code, 127);
    EXPECT_EQ(shell("glint submit").exit_code, 2);
    EXPECT_FALSE(fs::exists(folder_ / "state")) << "nothing was queued";
    folder_.write("tool", "#!/bin/sh\n");
    fs::create_directory(folder_ / "gone");
    folder_.write("script", "#!/no/such/interpreter\n");
    for (const char* name : {"tool", "script"}) fs::permissions(folder_ / name, fs::perms::owner_all);
    submit("-- sh -c '" + until_go_ + "'");
    submit("-- true", "cd gone; ");
    submit("-- ./tool");
    fs::remove(folder_ / "gone"), fs::remove(folder_ / "tool");
    go_on();
    EXPECT_EQ(wait(2), 126);
    EXPECT_NE(log(2).find((folder_ / "gone").string() + ": No such file or directory"), std::string::npos) << log(2);
    EXPECT_EQ(wait(3), 127);
    EXPECT_EQ(log(3), "glint: ./tool: no such command\n");
    EXPECT_EQ(wait(submit("-- ./script")), 127);
    EXPECT_NE(log(4).find("glint: ./script: No such file or directory"), std::string::npos) << log(4);
    EXPECT_NE(log(4).find("#!"), std::string::npos) << log(4);
}

TEST_F(Jobs, have_numbers_of_their_own) {
    const int count = thorough() ? 60 : 20;
    const Ended end =
        shell("for k in $(seq " + std::to_string(count) +
              "); do glint submit $([ $((k % 2)) = 0 ] || echo --short) -- sh -c \"echo $k >> all\" & done; wait");
    EXPECT_EQ(end.exit_code, 0) << end.err;
    std::set<int> numbers;
    std::istringstream lines(end.out);
    for (int number; lines >> number;) numbers.insert(number);
    EXPECT_EQ(int(numbers.size()), count);
    EXPECT_EQ(*numbers.rbegin(), count);
    EXPECT_EQ(shell("glint jobs wait").exit_code, 0);
    EXPECT_EQ(shell("sort -nu all | wc -l; wc -l < all").out,
              std::to_string(count) + "\n" + std::to_string(count) + "\n");
}

TEST_F(Jobs, that_nobody_knows_are_refused) {
    for (const std::string what : {"log", "wait", "cancel"}) {
        const Ended end = shell("glint jobs " + what + " 7");
        EXPECT_EQ(end.exit_code, 3) << what;
        EXPECT_EQ(end.err, "glint: there is no job 7: glint jobs lists them\n");
        for (const std::string wrong : {"seven", "0x1", "99999999999999999999", "-1"}) {
            const Ended refused = shell("glint jobs " + what + " " + wrong);
            EXPECT_EQ(refused.exit_code, 2) << what << " " << wrong;
            EXPECT_NE(refused.err.find(wrong + ": expected a whole number from 1 to 9223372036854775807"),
                      std::string::npos)
                << refused.err;
        }
    }
    EXPECT_EQ(shell("glint jobs --json").out, "[]\n");
    EXPECT_EQ(shell("glint jobs wait").exit_code, 0);
}

TEST_F(Jobs, with_a_damaged_record_are_told) {
    EXPECT_EQ(wait(submit("-- true")), 0);
    EXPECT_EQ(wait(submit("-- echo words")), 0);
    const fs::path folder = place() / "2";
    fs::resize_file(folder / "state", 20);
    for (const std::string what : {"log", "wait", "cancel"}) {
        const Ended end = shell("glint jobs " + what + " 2");
        EXPECT_EQ(end.exit_code, 3) << what;
        for (const std::string& part : {(folder / "state").string() + ": ", "rm -r " + folder.string()})
            EXPECT_NE(end.err.find(part), std::string::npos) << end.err;
    }
    const Ended table = shell("glint jobs");
    EXPECT_EQ(table.exit_code, 0);
    EXPECT_NE(table.out.find("     2  damaged "), std::string::npos) << table.out;
    EXPECT_NE(table.out.find("  echo words\n"), std::string::npos) << table.out;
    EXPECT_NE(table.err.find("rm -r " + folder.string()), std::string::npos) << table.err;
    EXPECT_EQ(state(1), "done");
    EXPECT_EQ(state(2), "damaged");
    EXPECT_TRUE(job(2)["submitted_s"].is_null());
    EXPECT_EQ(shell("glint jobs wait").exit_code, 0);
    fs::remove_all(folder);
    EXPECT_EQ(shell("glint jobs").err, "");
}

TEST_F(Jobs, are_their_users_alone) {
    EXPECT_EQ(wait(submit("-- true", "umask 0; ")), 0);
    EXPECT_EQ(fs::status(place()).permissions(), fs::perms::owner_all);
    fs::permissions(place(), fs::perms::owner_all | fs::perms::others_exec);
    const Ended end = shell("glint submit -- true");
    EXPECT_EQ(end.exit_code, 4);
    EXPECT_NE(end.err.find("chmod 700"), std::string::npos) << end.err;
    fs::permissions(place(), fs::perms::owner_all);
}

TEST_F(Jobs, expire_but_the_last) {
    for (int k = 0; k < 3; ++k) submit("-- true");
    EXPECT_EQ(shell("glint jobs wait 1 2 3").exit_code, 0);
    const auto age = [&](int number, int days) {
        const auto file = cli::JobFile::open(place() / std::to_string(number) / "state", O_RDWR);
        cli::JobRecord record = file->read();
        record.ended_ns -= std::int64_t(days) * 86400 * 1'000'000'000;
        file->write(record);
    };
    age(1, 31), age(2, 29), age(3, 31);
    fs::create_directory(place() / "new.left"), fs::create_directory(place() / "new.begun");
    fs::last_write_time(place() / "new.left", fs::file_time_type::clock::now() - std::chrono::hours(2));
    EXPECT_EQ(wait(submit("-- true")), 0);
    EXPECT_EQ(state(1), "none");
    EXPECT_EQ(state(2), "done");
    EXPECT_EQ(state(3), "none");
    EXPECT_FALSE(fs::exists(place() / "new.left"));
    EXPECT_TRUE(fs::exists(place() / "new.begun"));
    age(4, 31);
    EXPECT_EQ(submit("-- true"), 5) << "a number is not used again";
    EXPECT_EQ(wait(5), 0);
}

TEST_F(Jobs, do_not_wait_for_themselves) {
    EXPECT_EQ(wait(submit("-- sh -c 'glint jobs wait 1; test $? = 2'")), 0) << "its own number is refused";
    EXPECT_EQ(submit("-- glint jobs wait"), 2);
    EXPECT_EQ(submit("-- true"), 3) << "it waits in the queue, for the one that would wait for it";
    EXPECT_EQ(wait(2), 0);
    EXPECT_EQ(wait(3), 0);
}

TEST_F(Jobs, whose_number_cannot_be_printed_are_told) {
    const Ended end = shell("glint submit -- true >/dev/full");
    EXPECT_EQ(end.exit_code, 4);
    EXPECT_NE(end.err.find("job 1 is queued, but"), std::string::npos) << end.err;
    EXPECT_EQ(wait(1), 0);
}

// Of calls that change a file each fails once, and is the last of its process once.
TEST_F(Jobs, survive_calls_that_fail) {
    const fs::path library = fs::read_symlink("/proc/self/exe").replace_filename("libio_faults.so");
    ASSERT_TRUE(fs::exists(library)) << library;
    TemporaryFolder elsewhere;
    const std::string count_file = (elsewhere / "count").string();
    const auto submit_with = [&](int at, const std::string& kind) {
        return shell("export GLINT_FAULT_FOLDER=$PWD GLINT_FAULT_COUNT=" + count_file +
                     " GLINT_FAULT_AT=" + std::to_string(at) + " GLINT_FAULT_KIND=" + kind +
                     " ASAN_OPTIONS=verify_asan_link_order=0; exec env LD_PRELOAD=" + library.string() +
                     " glint submit -- env -u LD_PRELOAD true");  // which has calls of its own
    };
    ASSERT_EQ(submit_with(0, "fail").exit_code, 0);
    constexpr int of_supervisor = 10;  // more than it has
    const int calls = std::stoi(read_bytes(count_file)) + of_supervisor;
    ASSERT_GT(calls, 5 + of_supervisor) << "the calls are not seen";
    int refused = 0, lost = 0;
    for (const std::string kind : {"fail", "kill"})
        for (int at = 1; at <= calls; ++at) {
            if (!has_turn(at, 3)) continue;
            const std::string where = kind + " at call " + std::to_string(at);
            const std::size_t before = jobs().size();
            const Ended end = submit_with(at, kind);
            ASSERT_TRUE(wait_until([&] {  // whatever became of it, nothing seems to run for ever
                for (const json& one : jobs())
                    if (is_unfinished(one)) return false;
                return true;
            })) << where;
            const json now = jobs();
            if (end.exit_code == 0) {
                ASSERT_EQ(now.size(), before + 1) << where;
                EXPECT_EQ(now.back()["job"], std::stoi(end.out)) << where;
                const std::string state = now.back()["state"];
                EXPECT_TRUE(state == "done" || state == "lost") << where << state;
                lost += state == "lost";
                if (state == "lost" && kind == "fail") {
                    EXPECT_NE(log(std::stoi(end.out)).find("glint: cannot write"), std::string::npos) << where;
                }
            } else {
                ++refused;
                if (kind == "kill" && end.exit_code == 128 + SIGKILL) continue;
                EXPECT_EQ(end.exit_code, 4) << where << end.err;
                EXPECT_NE(end.err.find("glint: "), std::string::npos) << where;
                if (kind == "kill") continue;
                EXPECT_EQ(now.size(), before) << where;
                for (const auto& entry : fs::directory_iterator(place()))
                    EXPECT_FALSE(entry.path().filename().string().starts_with("new.")) << where;
            }
        }
    std::printf("%d refused, %d lost\n", refused, lost);
    for (const auto& entry : fs::directory_iterator(place()))  // of submits that were killed
        if (entry.path().filename().string().starts_with("new.")) fs::remove_all(entry);
    EXPECT_EQ(wait(submit("-- true")), 0);
}

}  // namespace glint::test
