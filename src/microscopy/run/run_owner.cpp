// The owner file: one line, "HOST PROCESS START RUN BEAT". It is opened again for each read, because network file
// systems sync when a file is opened.
// SPDX-License-Identifier: MIT
#include "run/run_owner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>

#include "base/start_threads.hpp"
#include "glint/error.hpp"
#include "io/files/atomic_file.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

std::string this_host() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "localhost";
}

/// State and start time of a process, from /proc/PID/stat. The start time (ticks since boot) identifies a reused PID.
/// State 'Z': the process has ended but its parent has not waited for it, as in a container without init.
struct ProcessStat {
    char state = 0;
    std::uint64_t start = 0;
};

ProcessStat stat_of(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(") ");
    ProcessStat stat;
    if (name_end == text.npos) return stat;
    std::istringstream words(text.substr(name_end + 2));
    words >> stat.state;
    std::string skipped;
    for (int field = 4; field < 22; ++field) words >> skipped;
    words >> stat.start;
    return stat;
}

struct Sign {
    std::string host, run, all;
    pid_t process = 0;
    std::uint64_t start = 0;
    bool exists = false;
};

/// `process` is 0 if the line is not written yet.
Sign read_sign(const fs::path& path) {
    Sign sign;
    std::ifstream file(path);
    sign.exists = file.is_open();
    std::getline(file, sign.all);
    std::istringstream words(sign.all);
    words >> sign.host >> sign.process >> sign.start >> sign.run;
    return sign;
}

/// Returns true if there is no file, or if its process was on this host and has ended. A process that is stopped
/// (SIGSTOP) and shows no beat is alive.
bool surely_dead(const Sign& sign) {
    if (!sign.exists) return true;
    if (sign.process <= 0 || sign.host != this_host()) return false;
    if (::kill(sign.process, 0) != 0) return errno == ESRCH;
    const ProcessStat now = stat_of(sign.process);
    return now.state == 'Z' || now.start != sign.start;
}

bool surely_alive(const Sign& sign) { return sign.process > 0 && sign.host == this_host() && !surely_dead(sign); }

[[noreturn]] void refuse(const fs::path& folder, const Sign& sign) {
    throw OutputError(
        fmt::format("{} is in use: process {} on {} writes this output now; wait for it, or give another output",
                    folder.string(), sign.process, sign.host));
}

}  // namespace

RunOwner::RunOwner(const fs::path& folder, const std::string& run, const Warn& notice, const StopFlag* stop, Pace pace)
    : path_(folder / "owner"),
      name_(fmt::format("{} {} {} {}", this_host(), ::getpid(), stat_of(::getpid()).start, run)),
      pace_(pace) {
    await_silence(notice, stop);
    try {
        write(0);
        beating_ = start_thread([this] { keep_beating(); });
    } catch (const Error&) {
        ::unlink(path_.c_str());
        throw;
    }
}

RunOwner::~RunOwner() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    ended_.notify_all();
    beating_.join();
    if (!lost_) ::unlink(path_.c_str());
}

void RunOwner::await_silence(const Warn& notice, const StopFlag* stop) const {
    const Sign first = read_sign(path_);
    if (surely_dead(first)) return;
    if (surely_alive(first)) refuse(path_.parent_path(), first);
    if (notice)
        notice(fmt::format(
            "{} {}: waiting {} s to see whether a run still works on this output", path_.string(),
            first.process > 0 ? fmt::format("names process {} on {}", first.process, first.host) : "names no process",
            pace_.watch_s));
    const auto until = std::chrono::steady_clock::now() + Seconds(pace_.watch_s);
    while (std::chrono::steady_clock::now() < until) {
        if (stop && stop->load()) throw Cancelled("stopped while waiting for another run on the same output");
        std::this_thread::sleep_for(Seconds(pace_.beat_s / 10));
        const Sign now = read_sign(path_);
        if (now.all.empty() || now.all == first.all) continue;
        refuse(path_.parent_path(), now);
    }
}

// Writes over the old line without truncating it first: a concurrent reader must not find an empty file.
void RunOwner::write(std::uint64_t beat) const {
    const std::string line = fmt::format("{} {:020}\n", name_, beat);
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (file < 0) throw_output_error(path_, errno);
    const ssize_t written = ::pwrite(file, line.data(), line.size(), 0);
    int error = written == ssize_t(line.size()) ? 0 : written < 0 ? errno : ENOSPC;
    if (error == 0 && ::ftruncate(file, off_t(line.size())) != 0) error = errno;
    if (::close(file) != 0 && error == 0) error = errno;
    if (error != 0) throw_output_error(path_, error);
}

void RunOwner::keep_beating() {
    std::unique_lock lock(mutex_);
    for (std::uint64_t beat = 1; !ended_.wait_for(lock, Seconds(pace_.beat_s), [&] { return ending_; }); ++beat) {
        const Sign now = read_sign(path_);
        if (!now.all.empty() && now.all.rfind(name_, 0) != 0) {
            lost_ = true;
            return;
        }
        try {
            write(beat);
        } catch (const OutputError&) {  // for example a full disk: the run's own writes report it
        }
    }
}

void RunOwner::check() const {
    if (!lost_) return;
    throw OutputError(fmt::format("{}: another run has taken this output over; what was finished is kept for it",
                                  path_.parent_path().string()));
}

}  // namespace glint
