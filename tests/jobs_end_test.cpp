// Ends of jobs: cancelled, killed, lost, expired, many simultaneously, and with each write failing once.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "cli/jobs/job_file.hpp"
#include "tests/jobs.hpp"
#include "tests/thorough.hpp"

namespace glint::test {

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
    // The shell ends immediately. Its child is in the same process group and ends a moment later.
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
    TemporaryFolder other;  // for the streams of the second job
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

// Each call that changes a file fails once, and once the process is killed there.
TEST_F(Jobs, survive_calls_that_fail) {
    const fs::path library = fs::read_symlink("/proc/self/exe").replace_filename("libio_faults.so");
    ASSERT_TRUE(fs::exists(library)) << library;
    TemporaryFolder elsewhere;
    const std::string count_file = (elsewhere / "count").string();
    const auto submit_with = [&](int at, const std::string& kind) {
        return shell("export GLINT_FAULT_FOLDER=$PWD GLINT_FAULT_COUNT=" + count_file +
                     " GLINT_FAULT_AT=" + std::to_string(at) + " GLINT_FAULT_KIND=" + kind +
                     " ASAN_OPTIONS=verify_asan_link_order=0; exec env LD_PRELOAD=" + library.string() +
                     " glint submit -- env -u LD_PRELOAD true");  // the job's own calls must not count
    };
    ASSERT_EQ(submit_with(0, "fail").exit_code, 0);
    constexpr int of_supervisor = 10;  // more calls than the supervisor makes
    const int calls = std::stoi(read_bytes(count_file)) + of_supervisor;
    ASSERT_GT(calls, 5 + of_supervisor) << "the calls are not seen";
    int refused = 0, lost = 0;
    for (const std::string kind : {"fail", "kill"})
        for (int at = 1; at <= calls; ++at) {
            if (!has_turn(at, 3)) continue;
            const std::string where = kind + " at call " + std::to_string(at);
            const std::size_t before = jobs().size();
            const Ended end = submit_with(at, kind);
            ASSERT_TRUE(wait_until([&] {  // in any case, no job may seem to run forever
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
    for (const auto& entry : fs::directory_iterator(place()))  // of killed submit commands
        if (entry.path().filename().string().starts_with("new.")) fs::remove_all(entry);
    EXPECT_EQ(wait(submit("-- true")), 0);
}

}  // namespace glint::test
