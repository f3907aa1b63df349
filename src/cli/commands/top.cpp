// `glint top`: lists the processes that hold, reserve or wait for this machine's GPUs, and unmanaged processes.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/command.hpp"
#include "cli/commands/lease_table.hpp"
#include "cli/console.hpp"
#include "cli/print.hpp"

namespace glint::cli {
namespace {

constexpr const char* top_footer = R"(
Examples:
  glint top
  glint top --once
  glint top --json | jq '.waiters'
  glint top --history

On a terminal, refreshes the table every second until Ctrl-C. Otherwise, and with --once or --json,
prints it once. Allocates no GPU memory. "available" is the memory that remains when all leases have
allocated what they reserved. An unmanaged process uses the GPU without a lease. A warm worker
(--gpu-worker auto of glint fit and localize) is listed with its clients. Process numbers are those
in the process's own container.

--history shows whose processes used which GPU for how long, from the records of leases: about the
last thousand leases of each user since the machine was started.)";

struct TopFlags {
    bool once = false, history = false;
    ConsoleFlags console;
};

/// Redraws the table. Changes no terminal mode, so that the terminal stays usable however the program ends.
class Screen {
  public:
    void draw(std::vector<std::string> lines) {
        winsize size{};
        if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size.ws_col = 80, size.ws_row = 24;
        const std::size_t columns = size.ws_col, rows = std::max<std::size_t>(size.ws_row, 4) - 1;
        if (lines.size() > rows) {
            const std::size_t hidden = lines.size() - rows + 1;
            lines.resize(rows - 1);
            lines.push_back(fmt::format("... {} more lines: --once prints all", hidden));
        }
        std::string frame = above(columns);
        for (std::string& line : lines) frame += (line = line.substr(0, columns)) + '\n';
        put_text(frame);
        require_results();  // ends the program when the terminal is gone
        drawn_ = std::move(lines);
    }

  private:
    /// Returns the escape sequence that erases the last table. A terminal that became narrower has wrapped its lines.
    std::string above(std::size_t columns) const {
        std::size_t rows = 0;
        for (const std::string& line : drawn_) rows += std::max<std::size_t>(1, (line.size() + columns - 1) / columns);
        return rows ? fmt::format("\r\033[{}A\033[J", rows) : "";
    }

    std::vector<std::string> drawn_;
};

int run(const TopFlags& flags) {
    if (flags.history) return print_history(flags.console.json), exit_ok;
    if (flags.console.json) return print_json(lease_json(see_leases())), exit_ok;
    if (flags.once || ::isatty(STDOUT_FILENO) != 1) {
        for (const std::string& line : lease_table(see_leases())) put("{}\n", line);
        return exit_ok;
    }
    for (Screen screen;; std::this_thread::sleep_for(std::chrono::seconds(1))) screen.draw(lease_table(see_leases()));
}

}  // namespace

Command add_top(CLI::App& program) {
    const auto flags = std::make_shared<TopFlags>();
    CLI::App* app = program.add_subcommand("top", "Shows who holds, reserves and waits for GPUs");
    app->add_flag("--once", flags->once, "Print the table once, also on a terminal");
    app->add_flag("--history", flags->history,
                  "Instead print the leases of the last 30 days, and each user's total time");
    add_console_flags(*app, flags->console);
    app->footer(top_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
