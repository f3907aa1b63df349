// The progress bar, progress as plain lines, and aligned summaries.
// SPDX-License-Identifier: MIT
#include "cli/console.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/print.hpp"

namespace glint::cli {
namespace {

constexpr double bar_interval_s = 0.1, line_interval_s = 5;

int terminal_width() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string rate_text(double rate) { return rate < 10 ? fmt::format("{:.2g}", rate) : with_commas(std::int64_t(rate)); }

double percent(std::int64_t done, std::int64_t total) { return total > 0 ? 100.0 * double(done) / double(total) : 100; }

}  // namespace

void add_console_flags(CLI::App& app, ConsoleFlags& flags) {
    app.add_flag("--json", flags.json, "Print results as JSON on stdout (errors too)");
    app.add_flag("-q,--quiet", flags.quiet, "No notices and no progress; warnings and errors remain");
}

std::string clock_text(double seconds) {
    const auto s = std::int64_t(std::clamp(seconds, 0.0, 8.64e6) + 0.5);
    return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                    : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

Console::Console(const ConsoleFlags& flags, Reword reword)
    : flags_(flags), reword_(std::move(reword)), terminal_(isatty(STDERR_FILENO) == 1) {}
Console::~Console() { end_progress(); }

void Console::notice(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (flags_.quiet) return;
    erase_bar();
    tell("{}\n", text);
}

void Console::warn(const std::string& message) {
    const std::lock_guard lock(mutex_);
    erase_bar();
    tell("glint: warning: {}\n", reword_ ? reword_(message) : message);
}

void Console::say(const std::string& text) {
    const std::lock_guard lock(mutex_);
    erase_bar();
    tell("{}\n", text);
}

OnWait Console::waiter() {
    if (flags_.quiet) return {};
    return [this](double elapsed_s, std::uint64_t available_bytes, std::uint64_t required_bytes) {
        const std::lock_guard lock(mutex_);
        const auto now = Clock::now();
        if (!terminal_ && std::chrono::duration<double>(now - last_waited_).count() < line_interval_s) return;
        last_waited_ = now;
        constexpr double gib = 1 << 30;
        const std::string words =
            fmt::format("waiting for a GPU: {}, {:.1f} GiB free of {:.1f} GiB needed (glint top shows who uses it)",
                        clock_text(elapsed_s), double(available_bytes) / gib, double(required_bytes) / gib);
        if (!terminal_) return tell("{}\n", words);
        tell("\r\033[K{}", words.substr(0, std::size_t(terminal_width() - 1)));
        bar_drawn_ = true;
    };
}

Warn Console::warner() {
    return [this](const std::string& message) { warn(message); };
}

Progress Console::progress(std::string title, std::string unit) {
    end_progress();
    title_ = std::move(title);
    unit_ = std::move(unit);
    if (flags_.quiet) return {};
    return [this](std::int64_t done, std::int64_t total, std::int64_t localizations) {
        const std::lock_guard lock(mutex_);
        show(done, total, localizations);
    };
}

RunMessages Console::messages() {
    return {.notice = [this](const std::string& text) { notice(text); },
            .warn = warner(),
            .progress = [this](const std::string& title, const std::string& unit) { return progress(title, unit); },
            .end_progress = [this] { end_progress(); },
            .fitted = {},
            .done = {}};
}

void Console::end_progress() {
    const std::lock_guard lock(mutex_);
    erase_bar();
    started_ = false;
}

void Console::show(std::int64_t done, std::int64_t total, std::int64_t localizations) {
    const auto now = Clock::now();
    if (!started_) {
        started_ = true;
        first_done_ = done;
        start_ = last_shown_ = now;
        return;
    }
    const double interval = terminal_ ? bar_interval_s : line_interval_s;
    if (done < total && std::chrono::duration<double>(now - last_shown_).count() < interval) return;
    last_shown_ = now;
    const double elapsed = std::max(std::chrono::duration<double>(now - start_).count(), 1e-6);
    const double rate = double(done - first_done_) / elapsed;
    if (!terminal_) {
        tell("{}\n", line(done, total, localizations, rate));
        return;
    }
    tell("\r\033[K{}", bar(done, total, localizations, rate));
    bar_drawn_ = true;
}

std::string Console::line(std::int64_t done, std::int64_t total, std::int64_t localizations, double rate) const {
    std::string text = fmt::format("{}: {} of {} {} ({:.0f} %)", title_, with_commas(done), with_commas(total), unit_,
                                   percent(done, total));
    if (rate > 0) text += fmt::format(", {} {}/s", rate_text(rate), unit_);
    if (localizations >= 0) text += fmt::format(", {} localizations", with_commas(localizations));
    if (rate > 0) text += fmt::format(", {} left", clock_text(double(total - done) / rate));
    return text;
}

std::string Console::bar(std::int64_t done, std::int64_t total, std::int64_t localizations, double rate) const {
    std::string facts = fmt::format(" {:3.0f} %", percent(done, total));
    if (rate > 0) facts += fmt::format("  {} {}/s", rate_text(rate), unit_);
    if (localizations >= 0) facts += fmt::format("  {} localizations", with_commas(localizations));
    if (rate > 0) facts += fmt::format("  {} left", clock_text(double(total - done) / rate));
    const int columns = terminal_width() - 1;
    const std::string name = int(title_.size()) > columns / 3 ? title_.substr(0, std::size_t(columns / 3)) : title_;
    const int room = std::clamp(columns - int(name.size()) - int(facts.size()) - 3, 0, 40);
    if (room < 4) return facts.substr(0, std::size_t(columns));
    const int full = int(percent(done, total) / 100 * room);
    return fmt::format("{} [{}{}]{}", name, std::string(std::size_t(full), '#'),
                       std::string(std::size_t(room - full), '-'), facts);
}

void Console::erase_bar() {
    if (!bar_drawn_) return;
    tell("\r\033[K");
    bar_drawn_ = false;
}

void print_json(const nlohmann::ordered_json& value) {
    // A file name may contain bytes that are not UTF-8, which JSON cannot represent: they are replaced.
    put("{}\n", value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

Summary& Summary::add(std::string name, std::string value) {
    lines_.emplace_back(std::move(name), std::move(value));
    return *this;
}

void Summary::print() const {
    std::size_t width = 0;
    for (const auto& [name, value] : lines_) width = std::max(width, name.size());
    for (const auto& [name, value] : lines_) put("{:<{}}  {}\n", name, width, value);
}

}  // namespace glint::cli
