// `glint bench sharing`: simulates a workload under policies of sharing GPUs.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "bench/bench.hpp"
#include "bench/sharing/figures.hpp"
#include "bench/sharing/workload.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/print.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu/limit.hpp"

namespace glint::cli {
namespace {

using namespace glint::sharing;

constexpr const char* help_footer = R"(
Examples:
  glint bench sharing --simulate
  glint bench sharing --simulate day burst --policy polling --policy leases
  glint bench sharing --simulate my_jobs.toml --gpus 4 --gpu-memory 80GiB --json

No GPU is touched: jobs arrive, wait, create contexts at the costs measured on an H200, share the GPUs' time and leave.
Policies: naive uses random GPUs immediately; polling is that of GaussMLE.jl as documented; first-fit is polling without
its test whether a GPU is busy; leases is what glint does, by the broker's own code.
Workloads that are built in: )";

struct BenchSharingFlags {
    std::vector<std::string> workloads, policies;
    std::optional<int> gpus;
    std::string gpu_memory;
    std::uint64_t seed = 1;
    std::optional<double> quantum_s;
    ConsoleFlags console;
};

std::vector<std::string> names_of_builtin() {
    std::vector<std::string> names;
    for (const BuiltinWorkload& w : builtin_workloads()) names.emplace_back(w.name);
    return names;
}

std::vector<Workload> workloads_of(const BenchSharingFlags& flags) {
    ServerOptions server{flags.gpus, std::nullopt};
    if (!flags.gpu_memory.empty()) {
        if (flags.gpu_memory.find('%') != std::string::npos)
            throw OptionError(fmt::format("--gpu-memory {}: bytes are expected, as in 80GiB", flags.gpu_memory));
        server.gpu_bytes = gpu::parse_limit(flags.gpu_memory, 0, "--gpu-memory");
    }
    const bool all = flags.workloads == std::vector<std::string>{""};  // --simulate without a name
    std::vector<Workload> workloads;
    for (const std::string& name : all ? names_of_builtin() : flags.workloads)
        workloads.push_back(draw_workload(name, flags.seed, server));
    return workloads;
}

std::vector<PolicyKind> policies_of(const BenchSharingFlags& flags) {
    if (flags.policies.empty()) return {std::begin(all_policies), std::end(all_policies)};
    std::vector<PolicyKind> policies;
    for (const std::string& name : flags.policies) policies.push_back(parse_policy(name));
    return policies;
}

std::string words_of(const Workload& w) {
    const std::string strangers =
        w.foreign_processes.empty() ? "" : fmt::format(", strangers {}", w.foreign_processes.size());
    return fmt::format("{}{}{} (jobs {}, users {}{}, GPUs {} of {:.4g} GiB)", w.name, w.about.empty() ? "" : ": ",
                       w.about, with_commas(std::int64_t(w.jobs.size())), w.users.size(), strangers, w.gpus,
                       double(w.gpu_bytes) / (1 << 30));
}

nlohmann::ordered_json as_json(const Workload& w, PolicyKind policy, std::uint64_t seed, const Figures& f) {
    return {{"workload", w.name},
            {"policy", to_name(policy)},
            {"gpus", w.gpus},
            {"gpu_bytes", w.gpu_bytes},
            {"users", w.users.size()},
            {"strangers", w.foreign_processes.size()},
            {"seed", seed},
            {"jobs", f.jobs},
            {"failures", f.failures},
            {"refusals", f.refusals},
            {"makespan_s", f.makespan_s},
            {"lower_bound_s", f.bound_s},
            {"makespan_over_bound", f.makespan_over_bound()},
            {"mean_wait_s", f.mean_wait_s},
            {"p99_wait_s", f.p99_wait_s},
            {"waits_over_300_s", f.long_waits},
            {"mean_slowdown", f.mean_slowdown},
            {"p99_slowdown", f.p99_slowdown},
            {"jain_index", f.jain_index},
            {"jain_index_of_mean_slowdowns", f.jain_index_of_means},
            {"idle_share", f.idle_share}};
}

void print_header() {
    put("{:<10} {:<9} {:>6} {:>6} {:>8} {:>10} {:>10} {:>7} {:>9} {:>9} {:>7} {:>9} {:>9} {:>6} {:>6}\n", "workload",
        "policy", "jobs", "failed", "refused", "makespan/s", "bound/s", "ratio", "wait/s", "p99/s", ">300 s",
        "slowdown", "p99", "Jain", "idle");
}

void print_row(const Workload& w, PolicyKind policy, const Figures& f) {
    put("{:<10} {:<9} {:>6} {:>6} {:>8} {:>10.1f} {:>10.1f} {:>7.3f} {:>9.2f} {:>9.2f} {:>7} {:>9.2f} {:>9.2f} "
        "{:>6.3f} {:>5.1f}%\n",
        w.name, to_name(policy), f.jobs, f.failures, f.refusals, f.makespan_s, f.bound_s, f.makespan_over_bound(),
        f.mean_wait_s, f.p99_wait_s, f.long_waits, f.mean_slowdown, f.p99_slowdown, f.jain_index, 100 * f.idle_share);
}

int run(const BenchSharingFlags& flags) {
    const std::vector<PolicyKind> policies = policies_of(flags);
    const std::vector<Workload> workloads = workloads_of(flags);  // all are read before the first is simulated
    const double quantum_s = flags.quantum_s ? *flags.quantum_s : environment::gpu_quantum_s();
    std::int64_t done = 0, total = 0;
    for (const Workload& w : workloads) total += std::int64_t(w.jobs.size() * policies.size());
    Console console(flags.console);
    const Progress progress = console.progress("simulating", "jobs");
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    if (!flags.console.json) print_header();
    for (const Workload& workload : workloads) {
        console.notice(words_of(workload));
        for (const PolicyKind policy : policies) {
            const auto tell = [&](auto finished, auto, auto) {
                if (progress) progress(done + finished, total, -1);
            };
            const Outcome outcome = simulate(workload, policy, flags.seed, tell, quantum_s);
            const Figures f = figures(workload, policy, flags.seed, outcome, quantum_s);
            done += f.jobs;
            rows.push_back(as_json(workload, policy, flags.seed, f));
            console.end_progress();  // or the row would be printed into the progress bar
            if (!flags.console.json) print_row(workload, policy, f);
            require_results();
        }
    }
    if (flags.console.json) print_json(rows);
    return exit_ok;
}

}  // namespace

Command add_bench_sharing(CLI::App& bench) {
    const auto flags = std::make_shared<BenchSharingFlags>();
    CLI::App* app = bench.add_subcommand("sharing", "Policies of sharing GPUs, simulated: waits, makespan, fairness");
    app->add_option("--simulate", flags->workloads, "Workloads: names of those built in (none: all), or files")
        ->expected(0, -1)
        ->required();
    offer_words(app->add_option("--policy", flags->policies, "naive, first-fit, polling or leases (default: all)"),
                {"naive", "first-fit", "polling", "leases"});
    app->add_option("--gpus", flags->gpus, "GPUs of the server, in place of the workload's own")
        ->check(CLI::Range(1, max_gpus));
    app->add_option("--gpu-memory", flags->gpu_memory, "Memory of each GPU, likewise: 80GiB");
    app->add_option("--seed", flags->seed, "Random seed: another draw of the same workload")
        ->check(any_seed())
        ->capture_default_str();
    app->add_option("--quantum", flags->quantum_s,
                    "Seconds after which a fit gives its GPU back for a shorter one that waits (leases; default: "
                    "GLINT_GPU_QUANTUM, or 30); inf: never")
        ->check(CLI::Range(1.0, std::numeric_limits<double>::infinity()));
    add_console_flags(*app, flags->console);
    app->footer(help_footer +
                fmt::format("{}.\ndocs/explanation/sharing-policies.md explains the model, the columns and the format.",
                            fmt::join(names_of_builtin(), ", ")));
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
