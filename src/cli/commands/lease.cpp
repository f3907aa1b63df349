// `glint lease -- CMD`: runs any program on leased GPUs, and releases them when it ends.
// SPDX-License-Identifier: MIT
#include "glint/gpu/lease.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/print.hpp"
#include "cli/run_command.hpp"
#include "glint/error.hpp"
#include "glint/gpu/device.hpp"
#include "glint/gpu/limit.hpp"
#include "glint/units.hpp"
#include "gpu/process.hpp"

namespace glint::cli {
namespace {

constexpr const char* lease_footer = R"(
Examples:
  glint lease -- python train.py --epochs 10
  glint lease python train.py
  glint lease --memory 20GiB --gpus 2 --timeout 10min -- ./fitter movie.tif
  glint lease --memory 6GiB -- sh -c 'for f in *.tif; do
      glint localize "$f" -o out --sigma 130nm --camera camera.toml; done'

Waits until GPUs have that much memory that is neither allocated nor promised to others. Then runs
the program. Other programs that use glint do not use this memory until the program ends, even if it
is killed.

The program finds the UUIDs of its GPUs in CUDA_VISIBLE_DEVICES, and the amount of memory in
GLINT_GPU_MEMORY_LIMIT, in bytes. Only glint obeys this limit automatically. If the program starts
glint, that glint uses the same lease. Signals are forwarded to the program. If this process is
killed, the program keeps the lease.

The exit code is that of the program, or:
  128 + signal  the program was killed
  126, 127      the program cannot be run
  5             no GPU was free in time; with --or-without, the program then runs without a GPU)";

struct LeaseFlags {
    std::string memory, timeout = "inf";
    int gpus = 1;
    bool or_without = false;
    ConsoleFlags console;
};

constexpr double gib = 1024.0 * 1024 * 1024;

/// Returns 8 GiB, or on smaller GPUs the memory that remains beside the context and the driver.
std::uint64_t default_bytes() {
    std::uint64_t largest = 0;
    for (const gpu::Device& device : gpu::inventory().devices) largest = std::max(largest, device.total_bytes);
    const std::uint64_t most = std::uint64_t(8) << 30, share = largest / 100 * 85;
    return largest ? std::min(most, share) : most;
}

std::uint64_t num_bytes(const std::string& memory) {
    if (memory.empty()) return default_bytes();
    if (memory.find('%') != memory.npos)
        throw OptionError("--memory=" + memory +
                          ": a percentage is not possible, since the GPU is not known yet; give bytes, as in 8GiB");
    const std::uint64_t bytes = gpu::parse_limit(memory, 0, "--memory");
    constexpr std::uint64_t least = 1 << 20;
    if (bytes < least)
        throw OptionError(fmt::format("--memory {}: that is {} bytes; give a unit, as in {}GiB", memory, bytes,
                                      memory.substr(0, memory.find_first_not_of("0123456789."))));
    return bytes;
}

void require_executable(const std::vector<std::string>& command) {
    if (command.empty())
        throw OptionError(
            "the program to run is missing. Give it after the flags: glint lease --memory 8GiB python train.py");
}

std::string describe(const gpu::Lease& lease) {
    std::string names;
    for (const gpu::LeasedDevice& device : lease.devices())
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", device.name, device.uuid);
    return fmt::format("leased {:.1f} GiB beyond the context on {}{}", double(lease.bytes()) / gib, names,
                       lease.waited_s() < 1 ? "" : ", after " + clock_text(lease.waited_s()));
}

/// Waits for GPUs. Signals that arrive meanwhile are for this process.
class Queueing {
  public:
    Queueing(const LeaseFlags& flags, const HeldSignals& signals, Console& console)
        : signals_(signals), console_(console) {
        request_.bytes = num_bytes(flags.memory);
        request_.gpus = flags.gpus;
        request_.timeout_s = parse_seconds(flags.timeout, "--timeout");
        request_.for_child = true;
        request_.stop = &stop_;
        request_.log = [this](const std::string& words) { console_.notice("glint: " + words); };
        request_.on_wait = [this, show = console.waiter()](double elapsed_s, std::uint64_t available,
                                                           std::uint64_t required) {
            look_for_signals();
            if (show) show(elapsed_s, available, required);
        };
    }

    gpu::Lease acquire() const {
        gpu::Lease lease = gpu::acquire(request_);
        console_.end_progress();
        return lease;
    }

    /// Returns the signal that asked this process to end; 0 if there was none so far.
    int look_for_signals() {
        if (!stop_) stop_ = (stopped_by_ = signals_.to_end()) != 0;
        return stopped_by_;
    }

  private:
    const HeldSignals& signals_;
    Console& console_;
    gpu::LeaseRequest request_;
    StopFlag stop_{false};
    int stopped_by_ = 0;
};

int run_under(gpu::Lease& lease, const std::vector<std::string>& command, const HeldSignals& signals, Queueing& queue) {
    lease.keep_for_child();
    const Variables variables = lease.child_environment();
    if (const int signal = queue.look_for_signals()) return 128 + signal;
    const pid_t child = start_command(command, variables, signals);
    // Periods differ: two processes that check a GPU in step might count each other's memory as their own.
    const double period_s = 0.9 + 0.2 * double(::getpid() % 64) / 64;
    const int code = wait_for_command(child, signals, period_s, [&] { lease.publish_held_by_child(child); });
    for (const unsigned pid : lease.kept_by()) {
        const auto info = gpu::process_info(pid);
        tell("glint: process {}{}, which the program has left running, keeps the lease until it ends\n", pid,
             info ? fmt::format(" ({})", printable(info->name)) : "");
    }
    return code;
}

/// Runs the program without a lease and without a GPU, so that it uses no memory that others have leased.
int run_without(const std::vector<std::string>& command, const HeldSignals& signals, Queueing& queue) {
    if (const int signal = queue.look_for_signals()) return 128 + signal;
    const pid_t child = start_command(command, {{"CUDA_VISIBLE_DEVICES", ""}}, signals);
    constexpr double period_s = 1;
    return wait_for_command(child, signals, period_s, [] {});
}

int run(const LeaseFlags& flags, const std::vector<std::string>& command) {
    require_executable(command);
    if (const int code = tell_not_executable(command[0])) return code;  // before the wait, which can be long
    const HeldSignals signals;
    Console console(flags.console);
    Queueing queue(flags, signals, console);
    try {
        gpu::Lease lease = queue.acquire();
        console.notice("glint: " + describe(lease));
        if (!lease.visible())
            console.warn("others do not see this lease and may fill the GPU; `glint doctor` names the remedy");
        return run_under(lease, command, signals, queue);
    } catch (const Cancelled&) {
        console.end_progress();
        tell("glint: stopped while waiting for a GPU\n");
        return 128 + queue.look_for_signals();
    } catch (const gpu::GpuError& error) {
        if (!flags.or_without) throw;
        console.end_progress();
        console.warn(fmt::format("{}; the program runs without a GPU", error.what()));
        return run_without(command, signals, queue);
    }
}

}  // namespace

Command add_lease(CLI::App& program) {
    const auto flags = std::make_shared<LeaseFlags>();
    const auto command = std::make_shared<std::vector<std::string>>();
    CLI::App* app = program.add_subcommand("lease", "Runs any program on leased GPUs: glint lease -- CMD ...");
    app->add_option("--memory", flags->memory,
                    "Memory on each GPU, beyond the context: 6GiB, 500MB (default: 8GiB, or 85 % of a smaller GPU)");
    app->add_option("--gpus", flags->gpus, "Number of different GPUs, leased together (default: 1)")
        ->check(CLI::Range(1, 32));
    app->add_option("--timeout", flags->timeout, "How long to wait: 60s, 5min, 2h; 0 does not wait")
        ->capture_default_str();
    app->add_flag("--or-without", flags->or_without,
                  "Run the program without a GPU if none can be used, or none has room within --timeout");
    app->add_flag("-q,--quiet", flags->console.quiet, "No notices; warnings and errors remain");
    app->footer(lease_footer);
    return {app, [flags, command] { return run(*flags, *command); }, command};
}

}  // namespace glint::cli
