// `glint submit -- CMD`: queues a command, which runs in the background when earlier jobs allow it.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <system_error>

#include "base/system.hpp"
#include "cli/command.hpp"
#include "cli/jobs/supervisor.hpp"
#include "cli/print.hpp"
#include "cli/run_command.hpp"
#include "glint/error.hpp"

namespace glint::cli {
namespace {

constexpr const char* submit_footer = R"(
Examples:
  glint submit -- glint localize movie.tif -o locs.hdf5 --sigma 130nm --camera camera.toml
  glint jobs wait $(for f in *.tif; do glint submit -- \
      glint localize "$f" -o "${f%.tif}.hdf5" --sigma 130nm --camera camera.toml; done)
  id=$(glint submit -- sh -c 'glint localize movie.tif -o locs.hdf5 --sigma 130nm \
      --camera camera.toml && glint render locs.hdf5 -o p.png')
  glint submit -- glint lease --memory 20GiB -- python train.py
  glint submit --short -- glint inspect new_movie.tif

Prints the number of the job and returns immediately. The command runs in the background, in this
folder and with this environment, even after you log out. Its output goes to the log of the job.
`glint jobs` lists the jobs and their states; `glint jobs log`, `wait` and `cancel` act on one job.

Your jobs start in their order. By default as many run simultaneously as the machine has GPUs, or
one without a GPU; --at-once sets another number. A glint command in a job leases its GPU as always;
start other programs with `glint lease`.

With --short, a job waits only for your earlier short jobs. As many short jobs run simultaneously,
beside the other jobs. Use it for commands of at most half a minute that need no result of a queued
job.

Exit codes:
  0         queued
  126, 127  the program may not be executed, or does not exist
  4         the job, or its number, could not be written)";

int run(const std::vector<std::string>& words, JobTurn turn) {
    if (words.empty())
        throw OptionError(
            "the command to run is missing. Give it after the flags: glint submit -- glint localize movie.tif ...");
    if (const int code = tell_not_executable(words[0])) return code;
    std::error_code gone;
    const std::filesystem::path folder = std::filesystem::current_path(gone);
    if (gone)
        throw OptionError("the current folder, in which the job would run, does not exist any more: " + gone.message());
    close_from(3);  // so that the job keeps no inherited pipe or file open
    const std::int64_t number = submit(JobFolder(), {folder, words}, turn);
    put("{}\n", number);
    try {
        require_results();
    } catch (const OutputError& error) {
        throw OutputError(fmt::format("job {} is queued, but {}", number, error.what()));
    }
    return exit_ok;
}

}  // namespace

Command add_submit(CLI::App& program) {
    const auto turn = std::make_shared<JobTurn>();
    const auto command = std::make_shared<std::vector<std::string>>();
    CLI::App* app =
        program.add_subcommand("submit", "Queues a command to run in the background: glint submit -- CMD ...");
    app->add_flag("--short", turn->is_short, "Wait only for your earlier short jobs");
    app->add_option(
           "--at-once", turn->at_once,
           "Start when fewer than this number of your earlier jobs run; with --short, of the short jobs (default: "
           "the number of GPUs, or 1)")
        ->check(CLI::Range(1, 1024));
    app->footer(submit_footer);
    return {app, [turn, command] { return run(*command, *turn); }, command};
}

}  // namespace glint::cli
