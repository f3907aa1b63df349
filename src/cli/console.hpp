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

/// Flags of every subcommand.
struct ConsoleFlags {
    bool json = false;   ///< results as JSON
    bool quiet = false;  ///< no notices, no progress; warnings and errors remain
};
void add_console_flags(CLI::App& app, ConsoleFlags& flags);

/// Writes messages to stderr. On a terminal progress is one bar that is redrawn; otherwise a line now and
/// then. Thread-safe.
class Console {
  public:
    using Reword = std::function<std::string(const std::string&)>;
    /// `reword`, if there is one, gets every warning before it is written.
    explicit Console(const ConsoleFlags& flags, Reword reword = {});
    ~Console();

    void notice(const std::string& text);   ///< one line, unless --quiet
    void warn(const std::string& message);  ///< `glint: warning: ...`
    void say(const std::string& text);      ///< one line that was asked for, --quiet or not
    Warn warner();                          ///< `warn` as the library wants it

    /// Progress of `title` in `unit` ("frames"); the first call gives what was done before.
    Progress progress(std::string title, std::string unit);
    /// Announces that a GPU is waited for: Callbacks::on_wait.
    OnWait waiter();
    void end_progress();
    RunMessages messages();  ///< notices, warnings and progress; the console must outlive them

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

/// Results: one JSON value on stdout.
void print_json(const nlohmann::ordered_json& value);

/// Results as "name  value" lines on stdout, aligned.
class Summary {
  public:
    Summary& add(std::string name, std::string value);
    void print() const;

  private:
    std::vector<std::pair<std::string, std::string>> lines_;
};

/// 75 s as "1:15", 4000 s as "1:06:40".
std::string clock_text(double seconds);

}  // namespace glint::cli
