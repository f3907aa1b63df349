// Starts gnuplot, and waits until it ends, a stop is requested or the timeout is over.
// SPDX-License-Identifier: MIT
#include "workflow/gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "glint/error.hpp"

namespace glint {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int not_started = 127;
constexpr double longest_s = 60;  // timeout for a plot of some thousand points

/// Runs in the child between fork and exec, where only async-signal-safe calls are allowed.
[[noreturn]] void become(char* const* words, const char* folder, int out) {
    ::setpgid(0, 0);
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0 || ::chdir(folder) != 0)
        ::_exit(not_started);
    ::execv(words[0], words);
    ::_exit(not_started);
}

/// Returns the last line of the output.
std::string last_words(std::string text) {
    constexpr std::size_t most = 300;
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    if (text.size() > most) text = "..." + text.substr(text.size() - most);
    for (char& c : text)
        if (c == '\n' || c == '\t') c = ' ';
    return text;
}

/// A child process whose process group ends with this object.
class Child {
  public:
    explicit Child(pid_t pid) : pid_(pid) {}
    ~Child() {
        if (pid_ <= 0) return;
        ::kill(-pid_, SIGKILL);
        ::kill(pid_, SIGKILL);  // it may not have created its group yet
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    bool has_ended(int& status) {
        if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
        ::kill(-pid_, SIGKILL);  // processes that it may have started
        pid_ = 0;
        return true;
    }

  private:
    pid_t pid_;
};

struct Pipe {
    int ends[2] = {-1, -1};
    Pipe() {
        if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
            throw OutputError(fmt::format("no program can be started: {}", std::strerror(errno)));
    }
    ~Pipe() {
        for (const int end : ends)
            if (end >= 0) ::close(end);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    /// Reads the available output, waiting a moment; keeps only the end.
    void drain(std::string& text) const {
        constexpr std::size_t most = 4096;
        constexpr int moment_ms = 5;
        char buffer[1024];
        pollfd wait{ends[0], POLLIN, 0};
        if (::poll(&wait, 1, moment_ms) > 0 && (wait.revents & POLLIN) == 0)
            ::usleep(1000 * moment_ms);  // closed by the child
        for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
            text.append(buffer, std::size_t(n));
            if (text.size() > 2 * most) {
                text.erase(0, text.size() - most);
                break;  // an endless output must not prevent the timeout
            }
        }
    }
};

/// gnuplot does not report if its output did not fit onto the disk.
bool is_whole(const std::filesystem::path& picture, const std::string& format) {
    std::ifstream in(picture, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const char* mark = format == "png" ? "IEND" : format == "svg" ? "</svg>" : "%%EOF";
    return !text.empty() && text.find(mark, text.size() - std::min<std::size_t>(text.size(), 64)) != text.npos;
}

}  // namespace

std::string find_gnuplot() {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string file = folder + "/gnuplot";
        std::error_code none;
        if (!folder.empty() && folder.front() == '/' && std::filesystem::is_regular_file(file, none) &&
            ::access(file.c_str(), X_OK) == 0)
            return file;
    }
    return "";
}

std::string run_quietly(const std::vector<std::string>& words, const std::filesystem::path& folder, double timeout_s,
                        const StopFlag& stop) {
    std::vector<std::string> copy = words;
    std::vector<char*> pointers;
    for (std::string& word : copy) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const std::string where = folder.string();
    Pipe pipe;
    const pid_t pid = ::fork();
    if (pid < 0) return fmt::format("no process can be started: {}", std::strerror(errno));
    if (pid == 0) become(pointers.data(), where.c_str(), pipe.ends[1]);
    Child child(pid);
    ::close(pipe.ends[1]);
    pipe.ends[1] = -1;
    const auto end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
    std::string said;
    for (int status = 0;;) {
        const bool ended = child.has_ended(status);
        pipe.drain(said);
        if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
        if (ended && WIFEXITED(status))
            return fmt::format("it failed with exit code {}: {}", WEXITSTATUS(status), last_words(said));
        if (ended) return fmt::format("it was ended by signal {}", WTERMSIG(status));
        if (stop.load()) throw Cancelled("stopped while figures were drawn");
        if (Clock::now() > end) return fmt::format("it did not end within {:g} s, and was killed", timeout_s);
    }
}

std::string script_of_plot(const std::string& name, int width_px, int height_px) {
    constexpr double px_per_cm = 50;
    return fmt::format(
        "if (!exists('format')) format = 'png'\n"
        "if (!exists('out')) out = '{0}.' . format\n"
        "set encoding utf8\n"
        "if (format eq 'svg') {{ set terminal svg size {1},{2} background 'white' }}\n"
        "if (format eq 'pdf') {{ set terminal pdfcairo size {3:g}cm,{4:g}cm }}\n"
        "if (format eq 'png') {{ set terminal pngcairo size {5},{6} fontscale 1.4 }}\n"
        "set output out\n",
        name, width_px, height_px, width_px / px_per_cm, height_px / px_per_cm, width_px * 3 / 2, height_px * 3 / 2);
}

std::string draw_plot(const std::string& gnuplot, const std::filesystem::path& folder, const std::string& script,
                      const std::string& picture, const std::string& format, const StopFlag& stop) {
    const std::string part = fmt::format(".{}.part", picture);
    std::error_code none, not_renamed;
    std::filesystem::remove(folder / part, none);
    std::string failed = run_quietly({gnuplot, "-d", "-e", fmt::format("format='{}'; out='{}'", format, part), script},
                                     folder, longest_s, stop);
    if (failed.empty() && !is_whole(folder / part, format)) failed = "its picture is not complete (is the disk full?)";
    if (failed.empty()) {
        std::filesystem::rename(folder / part, folder / picture, not_renamed);
        if (not_renamed) failed = not_renamed.message();
    }
    if (!failed.empty()) std::filesystem::remove(folder / part, none);
    return failed;
}

}  // namespace glint
