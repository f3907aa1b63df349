// Messages of the command line: notices, warnings and progress on stderr, results on stdout.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/print.hpp"
#include "glint/fit.hpp"
#include "glint/progress.hpp"
#include "glint/units.hpp"
#include "glint/workflow.hpp"

namespace glint::cli {

/// The flags of all subcommands.
struct ConsoleFlags {
    bool json = false;   ///< results as JSON
    bool quiet = false;  ///< no notices, no progress; warnings and errors remain
};
void add_console_flags(CLI::App& app, ConsoleFlags& flags);

/// Writes messages to stderr. On a terminal, progress is a bar that is redrawn; otherwise it is a line from time to
/// time. Thread-safe.
class Console {
  public:
    using Reword = std::function<std::string(const std::string&)>;
    /// `reword`, if given, can change the text of every warning.
    explicit Console(const ConsoleFlags& flags, Reword reword = {});
    ~Console();

    void notice(const std::string& text);   ///< one line, unless --quiet
    void warn(const std::string& message);  ///< `glint: warning: ...`
    void say(const std::string& text);      ///< one line that the user has asked for, even with --quiet
    Warn warner();                          ///< `warn` as a callback of the library

    /// Returns a callback that shows progress of `title` in `unit` ("frames"). Its first call gives earlier progress.
    Progress progress(std::string title, std::string unit);
    /// Returns a callback that reports a wait for a GPU, for Callbacks::on_wait.
    OnWait waiter();
    void end_progress();
    RunMessages messages();  ///< callbacks for notices, warnings and progress; the console must outlive them

  private:
    using Clock = std::chrono::steady_clock;
    void show(std::int64_t done, std::int64_t total, std::int64_t localizations);
    std::string bar(std::int64_t done, std::int64_t total, std::int64_t localizations, double rate) const;
    std::string line(std::int64_t done, std::int64_t total, std::int64_t localizations, double rate) const;
    void erase_bar();

    ConsoleFlags flags_;
    Reword reword_;
    bool terminal_ = false, bar_drawn_ = false, started_ = false;
    std::string title_, unit_;
    std::int64_t first_done_ = 0;
    Clock::time_point start_, last_shown_, last_waited_;
    std::mutex mutex_;
};

/// Prints results as one JSON value on stdout.
void print_json(const nlohmann::ordered_json& value);

/// Prints results as aligned "name  value" lines on stdout.
class Summary {
  public:
    Summary& add(std::string name, std::string value);
    void print() const;

  private:
    std::vector<std::pair<std::string, std::string>> lines_;
};

/// Returns "1:15" for 75 s, and "1:06:40" for 4000 s.
std::string clock_text(double seconds);

}  // namespace glint::cli
