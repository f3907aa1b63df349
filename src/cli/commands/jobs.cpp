// `glint jobs`: lists submitted commands, waits for them, cancels them, prints their logs.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/clock.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/jobs/supervisor.hpp"
#include "cli/print.hpp"
#include "glint/error.hpp"
#include "gpu/process.hpp"

namespace glint::cli {
namespace {

constexpr const char* jobs_footer = R"(
Examples:
  glint jobs
  glint jobs log 12
  glint jobs wait 12 && glint render locs.hdf5 -o picture.png
  glint jobs cancel 12 13
  glint jobs --json | jq '.[] | select(.state == "failed")'

Lists your jobs on this machine (glint submit): all that are queued or running, and the last 20
others. The states are:
  queued, running  with "short" for jobs of --short
  done             the exit code is 0
  failed           with the exit code
  cancelled        by `glint jobs cancel`
  lost             the process that supervises the job was killed, or the machine went down
  damaged          the record of the job cannot be read

Jobs are kept for 30 days after their end, at most 1,000. Only you can read them. `glint top` shows
the leases of all users.)";

constexpr const char* wait_footer = R"(
Examples:
  glint jobs wait 12 && glint render locs.hdf5 -o picture.png
  glint jobs wait

Waits until these jobs have ended, and prints how they ended. Without a number, waits for all jobs
that are queued or running. The exit code is that of the first command that failed. It is 128 +
signal if the command was killed, 143 if the job was cancelled while queued, and 137 if it is lost.)";

constexpr const char* cancel_footer = R"(
Example:
  glint jobs cancel 12 13

Removes a queued job from the queue. If the command is running, all processes of its process group
get SIGTERM, so that glint keeps what is finished. They get SIGKILL after 30 s, or when the job is
cancelled again. Returns when the processes have ended. A job that has ended is unchanged.)";

constexpr const char* log_footer = R"(
Examples:
  glint jobs log 12
  glint jobs log --follow 12

Prints everything that the command has written to stdout and stderr so far.)";

constexpr std::size_t ended_in_table = 20;
constexpr int exit_cancelled = 128 + SIGTERM, exit_lost = 128 + SIGKILL;

using Numbers = std::vector<std::int64_t>;

struct ListedJob {
    std::int64_t number = 0;
    JobState state{};
    JobRecord record;  ///< empty if the job is damaged
};

struct JobsFlags {
    bool all = false, json = false, follow = false;
    Numbers to_wait_for, to_cancel;
    std::int64_t to_show = 0;
};

std::string damage(const JobFolder& folder, std::int64_t number) {
    const std::filesystem::path log = folder.log_of(number), place = log.parent_path();
    return fmt::format(
        "{}: cannot be read as the record of a job, so the state of job {} is unknown; {} contains its output, and "
        "rm -r {} removes it",
        (place / "state").string(), number, log.string(), place.string());
}

std::vector<ListedJob> jobs_in(const JobFolder& folder) {
    std::vector<ListedJob> jobs;
    for (const std::int64_t number : folder.numbers()) {
        const std::optional<JobFile> file = folder.find(number, O_RDONLY);
        if (!file && !folder.has(number)) continue;  // was removed meanwhile
        ListedJob job;
        job.number = number, job.state = file ? file->state(job.record) : JobState::damaged;
        jobs.push_back(job);
    }
    return jobs;
}

JobFile job_named(const JobFolder& folder, std::int64_t number, int flags) {
    std::optional<JobFile> file = folder.find(number, flags);
    if (!file && folder.has(number)) throw InputError(damage(folder, number));
    if (!file) throw InputError(fmt::format("there is no job {}: glint jobs lists them", number));
    return std::move(*file);
}

/// Returns the word as a shell needs it, on one line.
std::string shell_word(const std::string& word) {
    constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
    if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return printable(quoted + "'");
}

double seconds_between(std::int64_t from_ns, std::int64_t to_ns) {
    return double(std::max<std::int64_t>(to_ns - from_ns, 0)) / 1e9;
}

/// Returns how long the command has run. Empty if it has not started, and if the job is lost.
std::optional<double> run_time_s(const ListedJob& job) {
    if (!job.record.started_ns || job.state == JobState::lost) return {};
    return seconds_between(job.record.started_ns, job.record.ended_ns ? job.record.ended_ns : system_clock_ns());
}

std::string outcome(const ListedJob& job) {
    if (job.state == JobState::failed) return fmt::format("failed {}", job.record.exit_code);
    return fmt::format("{}{}", to_name(job.state), is_unfinished(job.state) && job.record.is_short ? " short" : "");
}

void print_table(const JobFolder& folder, const std::vector<ListedJob>& jobs, bool all) {
    if (jobs.empty()) return tell("glint: no jobs; glint submit -- CMD ... submits one\n");
    std::size_t ended = 0, hidden = 0;
    for (const ListedJob& job : jobs) ended += !is_unfinished(job.state);
    put("{:>6}  {:<13}  {:<15}  {:>8}  {}\n", "job", "state", "submitted", "took", "command");
    for (const ListedJob& job : jobs) {
        if (!is_unfinished(job.state) && ended-- > ended_in_table && !all) {
            ++hidden;
            continue;
        }
        std::string command;
        for (const std::string& word : folder.command_of(job.number).words) command += shell_word(word) + ' ';
        if (!command.empty()) command.pop_back();
        const auto took = run_time_s(job);
        const std::string submitted =
            job.state == JobState::damaged
                ? "-"
                : fmt::format("{:%d %b %H:%M:%S}",
                              fmt::localtime(std::time_t(job.record.submitted_ns / 1'000'000'000)));
        put("{:>6}  {:<13}  {:<15}  {:>8}  {}\n", job.number, outcome(job), submitted, took ? clock_text(*took) : "-",
            command);
    }
    for (const ListedJob& job : jobs)
        if (job.state == JobState::damaged) tell("glint: {}\n", damage(folder, job.number));
    if (hidden) tell("glint: {} older jobs: glint jobs --all\n", hidden);
}

void print_list_json(const JobFolder& folder, const std::vector<ListedJob>& jobs) {
    using Json = nlohmann::ordered_json;
    Json all = Json::array();
    for (const ListedJob& job : jobs) {
        const JobCommand command = folder.command_of(job.number);
        const auto took = run_time_s(job);
        const bool has_code = job.record.ended_ns != 0, is_damaged = job.state == JobState::damaged;
        all.push_back({{"job", job.number},
                       {"state", to_name(job.state)},
                       {"short", is_damaged ? Json() : Json(job.record.is_short != 0)},
                       {"exit_code", has_code ? Json(job.record.exit_code) : Json()},
                       {"submitted_s", is_damaged ? Json() : Json(double(job.record.submitted_ns) / 1e9)},
                       {"took_s", took ? Json(*took) : Json()},
                       {"command", command.words},
                       {"supervisor_pid", is_damaged ? Json() : Json(job.record.supervisor)},
                       {"folder", command.folder.string()},
                       {"log", folder.log_of(job.number).string()}});
    }
    print_json(all);
}

int list_jobs(const JobsFlags& flags) {
    const JobFolder folder;
    const std::vector<ListedJob> jobs = jobs_in(folder);
    flags.json ? print_list_json(folder, jobs) : print_table(folder, jobs, flags.all);
    return exit_ok;
}

/// Returns the last line of a job's log that is not blank; a failed command names its reason there. Empty if there is
/// none.
std::string last_words(const std::filesystem::path& path) {
    constexpr off_t enough = 4096;
    const Descriptor log(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const off_t end = log ? ::lseek(log.get(), 0, SEEK_END) : 0;
    std::string text(std::size_t(std::clamp<off_t>(end, 0, enough)), '\0');
    if (::pread(log.get(), text.data(), text.size(), end - off_t(text.size())) != ssize_t(text.size())) return "";
    text.erase(text.find_last_not_of(" \n\r\t") + 1);
    return printable(text.substr(text.find_last_of("\n\r") + 1));
}

/// Waits for the job's end and prints it, with the last line of its log if the job failed.
ListedJob told_end(const JobFolder& folder, const JobFile& file, std::int64_t number) {
    ListedJob job;
    job.number = number, job.state = file.state(job.record);
    const std::string why = job.state == JobState::failed ? last_words(folder.log_of(number)) : "";
    put("{}  {}{}{}\n", number, outcome(job), why.empty() ? "" : ": ", why);
    return job;
}

int exit_code_for(const ListedJob& job) {
    if (job.state == JobState::lost) return exit_lost;
    return job.record.ended_ns ? job.record.exit_code : exit_cancelled;
}

/// Returns whether this process is part of the job: the command is in the session of its supervisor.
bool is_own(const ListedJob& job) {
    return is_unfinished(job.state) && job.record.supervisor == ::getsid(0) &&
           job.record.pid_namespace == gpu::pid_namespace();
}

/// Returns the jobs to wait for: those of `numbers`, or all unfinished jobs if it is empty. Within a job, only earlier
/// jobs, since later jobs may wait for this one.
Numbers to_wait_for(const JobFolder& folder, Numbers numbers) {
    const std::vector<ListedJob> jobs = jobs_in(folder);
    const auto own = std::find_if(jobs.begin(), jobs.end(), is_own);
    if (own != jobs.end() && std::find(numbers.begin(), numbers.end(), own->number) != numbers.end())
        throw OptionError(fmt::format("job {} cannot wait for itself: leave its number out", own->number));
    if (!numbers.empty()) return numbers;
    for (const ListedJob& job : jobs)
        if (is_unfinished(job.state) && (own == jobs.end() || job.number < own->number)) numbers.push_back(job.number);
    return numbers;
}

int wait_for(Numbers numbers) {
    const JobFolder folder;
    numbers = to_wait_for(folder, std::move(numbers));
    std::vector<JobFile> files;  // all before the first wait: a wrong number is an immediate error
    for (const std::int64_t number : numbers) files.push_back(job_named(folder, number, O_RDONLY));
    int code = exit_ok;
    for (std::size_t k = 0; k < files.size(); ++k) {
        files[k].wait_for_end();
        const int its = exit_code_for(told_end(folder, files[k], numbers[k]));
        if (code == exit_ok) code = its;
    }
    return code;
}

/// Cancels the last job first: otherwise it might start when an earlier job ends.
int cancel_all(Numbers numbers) {
    std::sort(numbers.begin(), numbers.end());
    const JobFolder folder;
    std::vector<JobFile> files;
    for (const std::int64_t number : numbers) files.push_back(job_named(folder, number, O_RDWR));
    for (auto file = files.rbegin(); file != files.rend(); ++file) cancel(*file);
    for (std::size_t k = 0; k < files.size(); ++k) files[k].wait_for_end(), told_end(folder, files[k], numbers[k]);
    return exit_ok;
}

int show_log(std::int64_t number, bool follow) {
    const JobFolder folder;
    const JobFile job = job_named(folder, number, O_RDONLY);
    const std::filesystem::path path = folder.log_of(number);
    const Descriptor log(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    bool shown = false;
    for (JobRecord record;; std::this_thread::sleep_for(std::chrono::milliseconds(200))) {
        const bool last =
            !follow || !is_unfinished(job.state(record));  // before the log is read, so that nothing is missed
        char buffer[1 << 16];
        ssize_t count = -1;
        while (log && (count = ::read(log.get(), buffer, sizeof buffer)) > 0) put_text({buffer, std::size_t(count)});
        if (count < 0) throw InputError(fmt::format("{} cannot be read: {}", path.string(), std::strerror(errno)));
        shown |= ::lseek(log.get(), 0, SEEK_CUR) > 0;
        if (!last) continue;
        if (!shown && is_unfinished(job.state(record)))
            tell(
                "glint: job {} has written nothing yet; `glint jobs log --follow {}` waits for it. Programs buffer "
                "output to a file: submit `stdbuf -oL COMMAND` to make most programs write each line immediately\n",
                number, number);
        return exit_ok;
    }
}

}  // namespace

Command add_jobs(CLI::App& program) {
    const auto flags = std::make_shared<JobsFlags>();
    CLI::App* app = program.add_subcommand("jobs", "Lists submitted jobs, prints their logs, waits, cancels");
    app->require_subcommand(0, 1);
    app->add_flag("--all", flags->all, "Also list the jobs that ended before the last 20");
    app->add_flag("--json", flags->json, "Print all jobs as JSON on stdout (errors too)");
    app->footer(jobs_footer);
    const CLI::Validator number_range = decimal_from(std::int64_t(1));
    CLI::App* log_app = app->add_subcommand("log", "Prints the output of a job");
    log_app->add_option("job", flags->to_show, "Number of the job")->required()->check(number_range);
    log_app->add_flag("-f,--follow", flags->follow, "Continue printing until the job has ended");
    log_app->footer(log_footer);
    CLI::App* wait_app = app->add_subcommand("wait", "Waits until jobs have ended");
    wait_app
        ->add_option("jobs", flags->to_wait_for,
                     "Numbers of jobs (default: all that are queued or running; within a job, those before it)")
        ->check(number_range);
    wait_app->footer(wait_footer);
    CLI::App* cancel_app = app->add_subcommand("cancel", "Stops jobs, or removes them from the queue");
    cancel_app->add_option("jobs", flags->to_cancel, "Numbers of jobs")->required()->check(number_range);
    cancel_app->footer(cancel_footer);
    return {app, [=] {
                if (log_app->parsed()) return show_log(flags->to_show, flags->follow);
                if (wait_app->parsed()) return wait_for(flags->to_wait_for);
                return cancel_app->parsed() ? cancel_all(flags->to_cancel) : list_jobs(*flags);
            }};
}

}  // namespace glint::cli
