// Creates, lists and removes the folders of jobs.
// SPDX-License-Identifier: MIT
#include "cli/jobs/job_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>

#include "base/clock.hpp"
#include "glint/error.hpp"
#include "gpu/process.hpp"
#include "io/files/atomic_file.hpp"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* prepared_prefix = "new.";

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 && *name ? name : "localhost";
}

fs::path state_home() {
    const char* given = std::getenv("XDG_STATE_HOME");
    if (given && *given == '/') return given;  // the specification ignores relative paths
    const char* home = std::getenv("HOME");
    const passwd* user = home && *home == '/' ? nullptr : ::getpwuid(::geteuid());
    if (user) home = user->pw_dir;
    if (!home || *home != '/')
        throw OutputError("there is no folder for jobs, since HOME is not set: set XDG_STATE_HOME to a folder");
    return fs::path(home) / ".local/state";
}

void make_private_folders(const fs::path& path) {
    if (fs::is_directory(path)) return;
    if (path.has_parent_path()) make_private_folders(path.parent_path());
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) throw_output_error(path, errno);
}

/// Returns the number of a job; 0 if the name is none.
std::int64_t number_in(const std::string& name) {
    std::int64_t number = 0;
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data(), end, number);
    constexpr std::int64_t most = 1'000'000'000'000'000;  // leaves room for later numbers
    const bool is_one = error == std::errc() && rest == end && std::to_string(number) == name;
    return is_one && number > 0 && number < most ? number : 0;
}

/// Returns whether nothing was created in the folder for this time.
bool is_older_than(std::chrono::hours age, const fs::path& folder) {
    std::error_code gone;
    const auto changed = fs::last_write_time(folder, gone);
    return !gone && fs::file_time_type::clock::now() - changed > age;
}

}  // namespace

TemporaryJobFolder::~TemporaryJobFolder() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
}

JobFolder::JobFolder() : path_(state_home() / "glint/jobs" / host_name()) { require_private(); }

void JobFolder::require_private() const {
    struct stat status {};
    if (::stat(path_.c_str(), &status) != 0) {
        if (errno == ENOENT) return;
        throw_output_error(path_, errno);
    }
    if (status.st_uid != ::geteuid() || (status.st_mode & 0077) != 0)
        throw OutputError(fmt::format(
            "{} belongs to user {} and has mode {:o}: jobs need a folder that only user {} can enter; chmod 700 "
            "it, or set XDG_STATE_HOME to another folder",
            path_.string(), status.st_uid, status.st_mode & 07777, ::geteuid()));
}

std::vector<std::int64_t> JobFolder::numbers() const {
    std::vector<std::int64_t> found;
    std::error_code missing;
    for (fs::directory_iterator at(path_, missing), end; !missing && at != end; at.increment(missing))
        if (const std::int64_t number = number_in(at->path().filename().string())) found.push_back(number);
    if (missing && missing != std::errc::no_such_file_or_directory) throw_output_error(path_, missing.value());
    std::sort(found.begin(), found.end());
    return found;
}

bool JobFolder::has(std::int64_t number) const {
    std::error_code none;
    return fs::is_directory(path_ / std::to_string(number), none);
}

std::optional<JobFile> JobFolder::find(std::int64_t number, int flags) const {
    return JobFile::open(path_ / std::to_string(number) / "state", flags);
}

JobCommand JobFolder::command_of(std::int64_t number) const {
    const std::string all = gpu::content_of(path_ / std::to_string(number) / "command");
    std::vector<std::string> parts;
    for (std::size_t at = 0, end; (end = all.find('\0', at)) != all.npos; at = end + 1)
        parts.push_back(all.substr(at, end - at));
    if (parts.empty()) return {};
    return {parts.front(), {parts.begin() + 1, parts.end()}};
}

JobFolder::New JobFolder::prepare(const JobCommand& command) const {
    make_private_folders(path_);
    require_private();
    std::string name = path_ / (std::string(prepared_prefix) + "XXXXXX");
    if (!::mkdtemp(name.data())) throw_output_error(path_, errno);
    TemporaryJobFolder folder(name);
    std::string text = command.folder.string() + '\0';
    for (const std::string& word : command.words) text += word + '\0';
    AtomicFile file(folder.path / "command");
    file.write(text);
    file.commit();
    const fs::path log_path = folder.path / "log";
    Descriptor log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!log) throw_output_error(log_path, errno);
    JobRecord record;
    record.submitted_ns = system_clock_ns();
    JobFile state(folder.path / "state", record);
    return {std::move(folder), std::move(state), std::move(log)};
}

// rename(2) replaces only an empty folder, and the folder of a job is never empty.
std::int64_t JobFolder::publish(const New& job) const {
    const std::vector<std::int64_t> before = numbers();
    for (std::int64_t number = before.empty() ? 1 : before.back() + 1;; ++number) {
        const fs::path folder = path_ / std::to_string(number);
        if (::rename(job.folder.path.c_str(), folder.c_str()) == 0) return number;
        if (errno != ENOTEMPTY && errno != EEXIST) throw_output_error(folder, errno);
    }
}

void JobFolder::expire() const noexcept try {
    std::vector<std::int64_t> all = numbers();
    if (!all.empty()) all.pop_back();
    std::size_t ended = 0;
    const std::int64_t oldest_ns = system_clock_ns() - std::int64_t(job_days) * 86400 * 1'000'000'000;
    for (auto number = all.rbegin(); number != all.rend(); ++number) {
        const std::optional<JobFile> file = find(*number, O_RDONLY);
        JobRecord record;
        const fs::path folder = path_ / std::to_string(*number);
        if (file ? is_unfinished(file->state(record)) : !is_older_than(std::chrono::hours(24 * job_days), folder))
            continue;
        const std::int64_t last_ns = record.ended_ns ? record.ended_ns : record.submitted_ns;
        if (file && ++ended <= max_jobs && last_ns > oldest_ns) continue;
        std::error_code ignored;  // another submit may remove it simultaneously
        fs::remove_all(folder, ignored);
    }
    std::vector<fs::path> left;
    for (const auto& entry : fs::directory_iterator(path_))
        if (entry.path().filename().string().starts_with(prepared_prefix) &&
            is_older_than(std::chrono::hours(1), entry))
            left.push_back(entry);
    for (const fs::path& folder : left) fs::remove_all(folder);
} catch (...) {
    // The next job tries again to remove the rest.
}

}  // namespace glint::cli
