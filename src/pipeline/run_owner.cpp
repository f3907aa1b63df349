// One line, "HOST PID RUN BEAT", opened and closed at each look: that is what network file systems keep in step.
// SPDX-License-Identifier: MIT
#include "pipeline/run_owner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>

#include "glint/error.hpp"
#include "io/atomic_file.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

std::string this_host() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "localhost";
}

struct Sign {
    std::string host, run, all;
    pid_t process = 0;
};

/// Empty where there is none, or one that is being written.
Sign read_sign(const fs::path& path) {
    Sign sign;
    std::ifstream file(path);
    std::getline(file, sign.all);
    std::istringstream words(sign.all);
    words >> sign.host >> sign.process >> sign.run;
    return sign;
}

/// Also one that has ended, and that nobody has taken notice of, as in a container without init: "8857 (glint-mpi) Z".
bool has_ended(pid_t process) {
    if (::kill(process, 0) != 0) return errno == ESRCH;
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text;
    std::getline(file, text);
    const std::size_t state = text.rfind(") ");
    return state != text.npos && text.compare(state + 2, 1, "Z") == 0;
}

bool surely_dead(const Sign& sign) {
    return sign.process <= 0 || (sign.host == this_host() && has_ended(sign.process));
}

}  // namespace

RunOwner::RunOwner(const fs::path& folder, const std::string& run, const Warn& notice, const StopFlag* stop, Pace pace)
    : path_(folder / "owner"), name_(fmt::format("{} {} {}", this_host(), ::getpid(), run)), pace_(pace) {
    await_silence(notice, stop);
    write(0);
    beating_ = std::thread([this] { keep_beating(); });
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
    if (notice)
        notice(fmt::format("{} names process {} on {}: waiting {} s to see whether it still works on this output",
                           path_.string(), first.process, first.host, pace_.watch_s));
    const auto until = std::chrono::steady_clock::now() + Seconds(pace_.watch_s);
    while (std::chrono::steady_clock::now() < until) {
        if (stop && stop->load()) throw Cancelled("stopped while waiting for another run on the same output");
        std::this_thread::sleep_for(Seconds(pace_.beat_s / 10));
        const Sign now = read_sign(path_);
        if (now.all.empty() || now.all == first.all) continue;
        throw OutputError(
            fmt::format("{} is in use: process {} on {} writes this output now; wait for it, or give another output",
                        path_.parent_path().string(), now.process, now.host));
    }
}

void RunOwner::write(std::uint64_t beat) const {
    std::ofstream file(path_);
    file << name_ << ' ' << beat << '\n';
    errno = 0;
    if (!file.flush()) throw_output_error(path_, errno);
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
        } catch (const OutputError&) {  // a full disk; what this run writes itself will say so
        }
    }
}

void RunOwner::check() const {
    if (!lost_) return;
    throw OutputError(fmt::format("{}: another run has taken this output over; what was finished is kept for it",
                                  path_.parent_path().string()));
}

}  // namespace glint
