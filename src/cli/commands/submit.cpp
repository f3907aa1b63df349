// `glint submit -- CMD`: queues a command, which runs in the background when its turn comes.
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
  glint submit -- glint localize movie.tif -o locs.hdf5 --sigma 130nm --pixel-size 100nm --offset 100 --gain 0.5
  glint jobs wait $(for f in *.tif; do glint submit -- glint localize "$f" -o "${f%.tif}.hdf5" --sigma 130nm --camera camera.toml; done)
  id=$(glint submit -- sh -c 'glint localize movie.tif -o locs.hdf5 --sigma 130nm --camera camera.toml && glint render locs.hdf5 -o p.png')
  glint submit -- glint lease --memory 20GiB -- python train.py
  glint submit --short -- glint inspect new_movie.tif

Prints the number of the job and returns immediately. The command runs in the background, in this folder and with this environment,
also after you have logged out; its output goes to the job's log. `glint jobs` shows what became of it, `glint jobs log`, `wait`
and `cancel` do what they say. Your jobs start in their order, as many at once as the machine has GPUs (without a GPU one) or as
--at-once says; a glint command in one leases its GPU as it always does, other programs do under `glint lease`. With --short a job
waits for your earlier short jobs alone, as many of which run at once beside the others: for what takes up to half a minute, and needs
no result of a job that is queued.
Exit codes: 0 queued; 126 or 127 the program may not be executed or does not exist; 4 the job, or its number, could not be written.)";

int run(const std::vector<std::string>& words, JobTurn turn) {
    if (words.empty())
        throw OptionError(
            "which command should run? It follows the flags: glint submit -- glint localize movie.tif ...");
    if (const int code = tell_not_executable(words[0])) return code;
    std::error_code gone;
    const std::filesystem::path folder = std::filesystem::current_path(gone);
    if (gone) throw OptionError("the current folder, in which the job is to run, is gone: " + gone.message());
    close_from(3);  // so that the job keeps no pipe open and no file busy
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
        program.add_subcommand("submit", "Queue a command, to run in the background: glint submit -- CMD ...");
    app->add_flag("--short", turn->is_short, "Let it wait for your earlier short jobs only, not for the others");
    app->add_option("--at-once", turn->at_once,
                    "Start it when fewer of your earlier jobs run than this, with --short of the short ones (default: "
                    "the number of GPUs, or 1)")
        ->check(CLI::Range(1, 1024));
    app->footer(submit_footer);
    return {app, [turn, command] { return run(*command, *turn); }, command};
}

}  // namespace glint::cli
