// glint-mpi: `glint localize` on several nodes. Rank 0 parses the flags, prints and coordinates. The other ranks only
// compute.
// SPDX-License-Identifier: MIT
#include <sys/resource.h>

#include "base/start_threads.hpp"
#include "cli/command.hpp"
#include "cli/parsing/parse_errors.hpp"
#include "cli/print.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "glint/environment.hpp"
#include "glint/version.hpp"
#include "mpi/localize.hpp"

namespace glint::mpi {
namespace {

constexpr const char* help_footer = R"(
Examples:
  mpirun -n 8 --bind-to none glint-mpi localize movie.tif -o locs.hdf5 --sigma 130nm --pixel-size 100nm \\
      --offset 100 --gain 0.5
  srun --ntasks 16 --cpus-per-task 8 --kill-on-bad-exit=1 glint-mpi localize day1/*.tif -o results \\
      --sigma 130nm --camera camera.toml --resume

Flags, results and exit codes are those of glint localize (glint-mpi localize --help), byte for byte. All ranks
need the movies and the output on a shared file system. Frames are balanced dynamically; each rank leases
its GPU. Finished frames are kept in OUT.journal.parts. After any kill, the same command with --resume continues, with
any number of ranks; glint localize --resume continues, too. Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 also keep finished
frames.)";

/// Raises the limit of open files. Every rank of this run and of earlier runs has written a part, and all parts are
/// open while they are merged.
void allow_many_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int lead(const World& world, CLI::App& program, const cli::LocalizeFlags& flags, const StopFlag& interrupted, int argc,
         char** argv) {
    allow_many_files();
    try {
        program.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
        return cli::print_help(program, success);
    } catch (const CLI::ParseError& error) {
        const std::string message = cli::explain(error, program);
        return cli::report(message.c_str(), "options", cli::exit_options, cli::wants_json(argc, argv));
    }
    if (const std::string message = cli::explain_wrong_value(program); !message.empty())
        return cli::report(message.c_str(), "options", cli::exit_options, cli::wants_json(argc, argv));
    environment::check();
    return lead_localize(world, flags, interrupted);
}

void follow(const World& world, CLI::App& program, const cli::LocalizeFlags& flags, const StopFlag& interrupted,
            int argc, char** argv) {
    try {
        program.parse(argc, argv);
    } catch (const CLI::ParseError&) {  // rank 0 has the same error, reports it and ends all ranks
    }
    follow_localize(world, flags, interrupted);
}

int run(int argc, char** argv) {
    const World world(argc, argv);
    const StopFlag& interrupted = cli::stop_on_launcher_signals(world.rank() == 0);
    CLI::App program("glint-mpi localizes movies on several nodes, by MPI.", "glint-mpi");
    program.set_version_flag("--version", "glint-mpi " + version());
    program.footer(help_footer);
    program.require_subcommand(1);
    cli::LocalizeFlags flags;
    cli::add_localize_flags(program, flags)->footer(help_footer);
    if (world.rank() > 0) {
        follow(world, program, flags, interrupted, argc, argv);
        return cli::exit_ok;  // rank 0's exit code is the job's; launchers print every other nonzero code
    }
    const int code = cli::report_errors([&] { return lead(world, program, flags, interrupted, argc, argv); },
                                        cli::wants_json(argc, argv));
    send_home(world);
    return code;
}

}  // namespace
}  // namespace glint::mpi

int main(int argc, char** argv) {
    glint::cli::prepare_streams();  // before MPI opens its sockets
    glint::cli::open_few_connections();
    return glint::run_on_deep_stack([&] {
        return glint::cli::report_errors([&] { return glint::mpi::run(argc, argv); },
                                         glint::cli::wants_json(argc, argv));
    });
}
