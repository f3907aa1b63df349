// `glint jobs`: what became of submitted commands; waits for them, cancels them, shows their logs.
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

Lists your jobs on this machine (glint submit), those that are queued or run and the last 20 others: queued, running, with "short" if
they were so submitted, done (exit code
0), failed, cancelled, lost, if the process that looked after it was killed or the machine went down, or damaged, if its record is. Jobs are
kept for 30 days after their end, at most 1,000. Nobody else can read them; `glint top` shows all users' leases.)";

constexpr const char* wait_footer = R"(
Examples:
  glint jobs wait 12 && glint render locs.hdf5 -o picture.png
  glint jobs wait

Returns when these jobs have ended (without a number: all that are queued or run), and prints how. The exit code is
that of the first command that failed: 128 + signal if it was killed, 143 if it was cancelled while queued, 137 if the job is lost.)";

constexpr const char* cancel_footer = R"(
Example:
  glint jobs cancel 12 13

A queued job goes. All processes of a running command's process group get SIGTERM, so that glint keeps what is finished, and
SIGKILL 30 s later, or when it is cancelled again. Returns when they have ended. A job that has ended is unchanged.)";

constexpr const char* log_footer = R"(
Examples:
  glint jobs log 12
  glint jobs log --follow 12

Prints what the command has written to stdout and stderr so far.)";

constexpr std::size_t ended_in_table = 20;
constexpr int exit_cancelled = 128 + SIGTERM, exit_lost = 128 + SIGKILL;

using Numbers = std::vector<std::int64_t>;

struct ListedJob {
    std::int64_t number = 0;
    JobState state{};
    JobRecord record;  ///< empty of a damaged one
};

struct JobsFlags {
    bool all = false, json = false, follow = false;
    Numbers to_wait_for, to_cancel;
    std::int64_t to_show = 0;
};

std::string damage(const JobFolder& folder, std::int64_t number) {
    const std::filesystem::path log = folder.log_of(number), place = log.parent_path();
    return fmt::format(
        "{}: cannot be read as the record of a job, and what became of job {} is not known; {} has what it wrote, and "
        "rm -r {} removes it",
        (place / "state").string(), number, log.string(), place.string());
}

std::vector<ListedJob> jobs_in(const JobFolder& folder) {
    std::vector<ListedJob> jobs;
    for (const std::int64_t number : folder.numbers()) {
        const std::optional<JobFile> file = folder.find(number, O_RDONLY);
        if (!file && !folder.has(number)) continue;  // removed since
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

/// A word as a shell would take it, on one line.
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

/// Of a command that has started: how long it has run. Of a lost one nobody knows.
std::optional<double> run_time_s(const ListedJob& job) {
    if (!job.record.started_ns || job.state == JobState::lost) return {};
    return seconds_between(job.record.started_ns, job.record.ended_ns ? job.record.ended_ns : system_clock_ns());
}

std::string outcome(const ListedJob& job) {
    if (job.state == JobState::failed) return fmt::format("failed {}", job.record.exit_code);
    return fmt::format("{}{}", name_of(job.state), is_unfinished(job.state) && job.record.is_short ? " short" : "");
}

void print_table(const JobFolder& folder, const std::vector<ListedJob>& jobs, bool all) {
    if (jobs.empty()) return tell("glint: no jobs; glint submit -- CMD ... makes one\n");
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
    if (hidden) tell("glint: {} older ones: glint jobs --all\n", hidden);
}

void print_list_json(const JobFolder& folder, const std::vector<ListedJob>& jobs) {
    using Json = nlohmann::ordered_json;
    Json all = Json::array();
    for (const ListedJob& job : jobs) {
        const JobCommand command = folder.command_of(job.number);
        const auto took = run_time_s(job);
        const bool has_code = job.record.ended_ns != 0, is_damaged = job.state == JobState::damaged;
        all.push_back({{"job", job.number},
                       {"state", name_of(job.state)},
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

/// The last line of a job's log that is not blank, where a command says why it failed; "" if there is none.
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

/// Whether this process is part of the job: its command has the session of its supervisor.
bool is_own(const ListedJob& job) {
    return is_unfinished(job.state) && job.record.supervisor == ::getsid(0) &&
           job.record.pid_namespace == gpu::pid_namespace();
}

/// Those that are asked for; by default all that are unfinished, and within a job those before it: later ones may wait for it.
Numbers to_wait_for(const JobFolder& folder, Numbers numbers) {
    const std::vector<ListedJob> jobs = jobs_in(folder);
    const auto own = std::find_if(jobs.begin(), jobs.end(), is_own);
    if (own != jobs.end() && std::find(numbers.begin(), numbers.end(), own->number) != numbers.end())
        throw OptionError(fmt::format("job {} is the one that waits: it would never end", own->number));
    if (!numbers.empty()) return numbers;
    for (const ListedJob& job : jobs)
        if (is_unfinished(job.state) && (own == jobs.end() || job.number < own->number)) numbers.push_back(job.number);
    return numbers;
}

int wait_for(Numbers numbers) {
    const JobFolder folder;
    numbers = to_wait_for(folder, std::move(numbers));
    std::vector<JobFile> files;  // all at first: a number that is wrong is told at once
    for (const std::int64_t number : numbers) files.push_back(job_named(folder, number, O_RDONLY));
    int code = exit_ok;
    for (std::size_t k = 0; k < files.size(); ++k) {
        files[k].wait_for_end();
        const int its = exit_code_for(told_end(folder, files[k], numbers[k]));
        if (code == exit_ok) code = its;
    }
    return code;
}

/// The last first, or it might start where an earlier one ends.
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
        const bool last = !follow || !is_unfinished(job.state(record));  // asked first: what was written then is there
        char buffer[1 << 16];
        ssize_t count = -1;
        while (log && (count = ::read(log.get(), buffer, sizeof buffer)) > 0) put_text({buffer, std::size_t(count)});
        if (count < 0) throw InputError(fmt::format("{} cannot be read: {}", path.string(), std::strerror(errno)));
        shown |= ::lseek(log.get(), 0, SEEK_CUR) > 0;
        if (!last) continue;
        if (!shown && is_unfinished(job.state(record)))
            tell(
                "glint: job {} has written nothing yet; `glint jobs log --follow {}` waits for it. Programs keep back "
                "what they "
                "print to a file: submitted as `stdbuf -oL COMMAND`, most programs write each line immediately\n",
                number, number);
        return exit_ok;
    }
}

}  // namespace

Command add_jobs(CLI::App& program) {
    const auto flags = std::make_shared<JobsFlags>();
    CLI::App* app = program.add_subcommand("jobs", "Your submitted jobs: list, log, wait, cancel");
    app->require_subcommand(0, 1);
    app->add_flag("--all", flags->all, "Also those that ended before the last 20");
    app->add_flag("--json", flags->json, "Print all jobs as JSON on stdout (errors too)");
    app->footer(jobs_footer);
    const CLI::Validator number_range = decimal_from(std::int64_t(1));
    CLI::App* log_app = app->add_subcommand("log", "What a job's command has written");
    log_app->add_option("job", flags->to_show, "Number of the job")->required()->check(number_range);
    log_app->add_flag("-f,--follow", flags->follow, "Continue until the job has ended");
    log_app->footer(log_footer);
    CLI::App* wait_app = app->add_subcommand("wait", "Wait until jobs have ended");
    wait_app
        ->add_option("jobs", flags->to_wait_for,
                     "Numbers of jobs (default: all that are queued or run; within a job those before it)")
        ->check(number_range);
    wait_app->footer(wait_footer);
    CLI::App* cancel_app = app->add_subcommand("cancel", "End jobs, or take them out of the queue");
    cancel_app->add_option("jobs", flags->to_cancel, "Numbers of jobs")->required()->check(number_range);
    cancel_app->footer(cancel_footer);
    return {app, [=] {
                if (log_app->parsed()) return show_log(flags->to_show, flags->follow);
                if (wait_app->parsed()) return wait_for(flags->to_wait_for);
                return cancel_app->parsed() ? cancel_all(flags->to_cancel) : list_jobs(*flags);
            }};
}

}  // namespace glint::cli
