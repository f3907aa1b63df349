// `glint gpu-worker`: the process that `--gpu-worker auto` starts. Users do not call it.
// SPDX-License-Identifier: MIT
#include "cli/command.hpp"

#include <memory>

#include "glint/error.hpp"
#include "warm_worker/warm_worker.hpp"

namespace glint::cli {
namespace {

int serve_clients(const warm_worker::ServerOptions& options) {
    if (!warm_worker::serve(options))
        throw OptionError(
            "glint gpu-worker is only started by glint itself: use --gpu-worker auto of glint fit or glint localize");
    return exit_ok;
}

}  // namespace

Command add_gpu_worker(CLI::App& program) {
    const auto options = std::make_shared<warm_worker::ServerOptions>();
    CLI::App* app = program.add_subcommand(warm_worker::worker_command,
                                           "Keeps a GPU open for other commands; started by glint itself");
    app->add_option("name", options->name)->required();
    app->add_option("--gpu-memory", options->settings.gpu_memory_bytes)->required();
    app->add_option("--batch-size", options->settings.batch_size);
    app->add_option("--idle", options->idle_s);
    return {app, [options] { return serve_clients(*options); }};
}

}  // namespace glint::cli
