// Starts the supervisor, which waits for its turn, runs the command, and ends it when the job is cancelled.
// SPDX-License-Identifier: MIT
#include "cli/jobs/supervisor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/clock.hpp"
#include "cli/print.hpp"
#include "cli/run_command.hpp"
#include "glint/error.hpp"
#include "glint/gpu/device.hpp"
#include "gpu/process.hpp"

namespace glint::cli {
namespace {

constexpr int cannot_run = 126;  // as in a shell
constexpr double turn_period_s = 0.05, group_period_s = 0.1;
constexpr char refusal = '!';  // first character of an answer that is an error instead of a number

/// Detaches this process from the terminal, the session and the streams.
void detach(int log) {
    ::setsid();
    ::signal(SIGTERM, SIG_DFL);  // before the command has started, it ends this process
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null || ::dup2(null.get(), STDIN_FILENO) < 0 || ::dup2(log, STDOUT_FILENO) < 0 ||
        ::dup2(log, STDERR_FILENO) < 0 || ::chdir("/") != 0)
        throw OutputError(fmt::format("the job cannot be started: {}", std::strerror(errno)));
    ::prctl(PR_SET_NAME, "glint-job");
}

bool asks_to_end(const std::optional<siginfo_t>& signal) {
    return signal && (signal->si_signo == SIGTERM || signal->si_signo == SIGINT || signal->si_signo == SIGQUIT ||
                      signal->si_signo == SIGHUP);
}

std::size_t usable_gpus() {
    const std::vector<gpu::Device> devices = gpu::inventory().devices;
    return std::size_t(std::count_if(devices.begin(), devices.end(),
                                     [](const gpu::Device& gpu) { return gpu.why_not.empty() || gpu.occupied; }));
}

/// Waits until no earlier job of the same queue is queued. Returns the earlier jobs that are running.
std::vector<JobFile> wait_for_those_before(const JobFolder& jobs, std::int64_t number, bool is_short) {
    std::vector<JobFile> running;
    const std::vector<std::int64_t> all = jobs.numbers();
    for (auto other = all.rbegin(); other != all.rend(); ++other) {
        if (*other >= number) continue;
        std::optional<JobFile> job = jobs.find(*other, O_RDONLY);
        if (!job || bool(job->read().is_short) != is_short) continue;
        job->wait_while_queued();
        if (job->has_supervisor()) running.push_back(std::move(*job));
    }
    return running;
}

/// Waits until fewer than `at_once` jobs run. Returns false if this job was cancelled meanwhile.
bool wait_for_room(std::vector<JobFile> running, int at_once, const HeldSignals& signals) {
    std::optional<std::size_t> most;
    for (;;) {
        std::erase_if(running, [](const JobFile& job) { return !job.has_supervisor(); });
        if (running.empty()) return signals.to_end() == 0;
        if (!most) most = at_once ? std::size_t(at_once) : std::max<std::size_t>(usable_gpus(), 1);
        if (running.size() < *most) return signals.to_end() == 0;
        if (asks_to_end(signals.next(turn_period_s))) return false;
    }
}

/// Returns whether a process of the group is left. Orphans of the group are children of this process
/// (PR_SET_CHILD_SUBREAPER).
bool has_members(pid_t group) {
    siginfo_t info{};
    return ::waitid(P_PGID, id_t(group), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Returns the exit code of the command that leads this process group. If it is cancelled, ends all processes of the
/// group.
int wait_for_group(pid_t leader, const HeldSignals& signals) {
    using Steady = std::chrono::steady_clock;
    std::optional<int> code;
    std::optional<Steady::time_point> kill_at;
    for (;;) {
        int status = 0;
        for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
            if (pid == leader) code = exit_code_of(status);
        if (code && (!kill_at || !has_members(leader))) return *code;
        if (kill_at && Steady::now() >= *kill_at) ::kill(-leader, SIGKILL);
        constexpr double long_s = 3600;
        if (!asks_to_end(signals.next(kill_at ? group_period_s : long_s))) continue;
        if (!kill_at) ::kill(-leader, SIGTERM), ::kill(-leader, SIGCONT);
        kill_at = Steady::now() + std::chrono::seconds(kill_at ? 0 : job_grace_s);
    }
}

int run_to_the_end(const JobCommand& command, const HeldSignals& signals) try {
    if (::chdir(command.folder.c_str()) != 0) {
        tell("glint: the folder of the job, {}: {}\n", command.folder.string(), std::strerror(errno));
        return cannot_run;
    }
    if (const int code = tell_not_executable(command.words[0])) return code;
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const GroupGuard guard;
    const pid_t supervisor = ::getpid();
    // Python buffers output to a file: without this variable, the log would be empty for a long time.
    Variables variables;
    if (!std::getenv("PYTHONUNBUFFERED")) variables.emplace_back("PYTHONUNBUFFERED", "1");
    const pid_t leader = start_command(command.words, variables, signals, [supervisor] {
        ::setpgid(0, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // in case the guard is killed with the supervisor
        if (::getppid() != supervisor) ::_exit(cannot_run);
    });
    ::setpgid(leader, leader);  // parent and child both set it, since either can be first
    guard.watch(leader);
    return wait_for_group(leader, signals);
} catch (const Error& error) {  // for example, no process could be started
    tell("glint: {}\n", error.what());
    return cannot_run;
}

void answer(Descriptor to, const std::string& words) {
    if (::write(to.get(), words.data(), words.size()) < 0) return;  // the submit was killed: the job continues
}

/// The main function of the supervisor.
void supervise(const JobFolder& jobs, const JobFolder::New& job, const JobCommand& command, JobTurn turn,
               Descriptor answers) {
    JobRecord record = job.state.read();
    std::int64_t number = 0;
    try {
        detach(job.log.get());
        record.supervisor = ::getpid(), record.pid_namespace = gpu::pid_namespace();
        record.is_short = turn.is_short;
        job.state.write(record);
        number = jobs.publish(job);
    } catch (const Error& error) {
        return answer(std::move(answers), refusal + std::string(error.what()));
    }
    answer(std::move(answers), std::to_string(number));
    jobs.expire();
    std::vector<JobFile> running = wait_for_those_before(jobs, number, turn.is_short);
    const HeldSignals signals;
    if (!wait_for_room(std::move(running), turn.at_once, signals)) return;
    record.started_ns = system_clock_ns();
    job.state.write(record);
    job.state.leave_queue();
    record.exit_code = std::int16_t(run_to_the_end(command, signals));
    record.ended_ns = system_clock_ns();
    job.state.write(record);
    job.state.flush();
}

[[noreturn]] void throw_no_process() {
    throw OutputError(fmt::format("no process can be started for the job: {}", std::strerror(errno)));
}

std::string read_all(int descriptor) {
    std::string all;
    char buffer[1024];
    for (ssize_t count; (count = ::read(descriptor, buffer, sizeof buffer)) != 0;) {
        if (count > 0) all.append(buffer, std::size_t(count));
        if (count < 0 && errno != EINTR) break;
    }
    return all;
}

/// Returns the number of the job from the supervisor's answer. Throws OutputError if the answer is an error.
std::int64_t number_from(const std::string& words) {
    if (words.empty()) throw OutputError("the process that supervises the job was killed: submit the job again");
    if (words[0] == refusal) throw OutputError(words.substr(1));
    return std::stoll(words);
}

}  // namespace

std::int64_t submit(const JobFolder& jobs, const JobCommand& command, JobTurn turn) {
    const JobFolder::New job = jobs.prepare(command);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw_no_process();
    Descriptor answers(ends[0]), to_answer(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) throw_no_process();
    if (child == 0) {
        answers = Descriptor();
        try {
            supervise(jobs, job, command, turn, std::move(to_answer));
        } catch (const std::exception& error) {
            tell("glint: {}\n", error.what());  // to the log
        }
        ::_exit(0);
    }
    to_answer = Descriptor();  // otherwise the read would not end
    return number_from(read_all(answers.get()));
}

void cancel(const JobFile& job) {
    JobRecord record;
    if (!is_unfinished(job.state(record))) return;
    if (record.pid_namespace != gpu::pid_namespace())
        throw InputError(fmt::format("the job of {} runs in another container: cancel it there", job.path().string()));
    job.write_cancelled();
    const Descriptor process(int(::syscall(SYS_pidfd_open, record.supervisor, 0)));  // Linux 5.3
    // Without a descriptor the process has ended. If the supervisor is running, it has run since it wrote its number,
    // so the descriptor refers to no other process.
    if ((!process && errno != ENOSYS) || !job.has_supervisor()) return;
    for (const int signal : {SIGTERM, SIGCONT})
        if (process)
            ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
        else
            ::kill(record.supervisor, signal);
}

}  // namespace glint::cli
