// `glint bench offload`: whether decisions between CPU and GPU are right, and their overhead.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "arrays/samples.hpp"
#include "base/clock.hpp"
#include "bench/bench.hpp"
#include "bench/offload.hpp"
#include "cli/console.hpp"
#include "cli/print.hpp"
#include "glint/arrays/calibrate.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/gpu/limit.hpp"
#include "offload/decide.hpp"

namespace glint::cli {
namespace {

using arrays::Kind;
using arrays::Sample;
using offload::Decision;
using offload::Session;

constexpr const char* help_footer = R"(
Examples:
  glint bench offload
  glint bench offload --quick --json

Calibrates, then decides between CPU and GPU for every operation, size and place of the operands, and for a cold and a
warm GPU. Then measures both sides and reports:
- the share of right decisions among those that matter (one side at least 20 % faster);
- the total time, beside the times of always choosing right, always the CPU, always the GPU, and fixed rules.
A cold GPU's time is that of the warm GPU, plus the measured times to create its context and to load its library.
`later` is the same after the cost model has learned from all measurements.)";

constexpr double long_enough_s = 0.05, band = 1.2;

struct BenchOffloadFlags {
    bool quick = false, small = false;
    double max_fits = 1e7;
    std::string gpu_memory = "75%";
    ConsoleFlags console;

    std::int64_t max_numbers() const { return small ? 1 << 12 : std::numeric_limits<std::int64_t>::max(); }
    double largest_stack() const { return small ? 100 : quick ? 1e4 : max_fits; }
};

/// One operation on one size, and the times of both sides once they are measured.
struct Case {
    offload::Work work;
    bool resident = false, cold = false;
    Backend at_first = Backend::cpu, later = Backend::cpu, by_rules = Backend::cpu;
    double cpu_s = 0, gpu_s = 0;  ///< 0: the operation could not run on this side
    std::string why_not;
    double of(Backend side) const { return side == Backend::gpu ? gpu_s : cpu_s; }
    Backend faster() const { return gpu_s < cpu_s ? Backend::gpu : Backend::cpu; }
    bool matters() const { return std::max(cpu_s, gpu_s) >= band * std::min(cpu_s, gpu_s); }
};

template <class Run>
double best_seconds(const Run& run) {
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < 6; ++k) {
        const Clock::time_point began = Clock::now();
        run();
        const double seconds = seconds_since(began);
        if (k > 0 || seconds > long_enough_s) best = std::min(best, seconds);
        if (k > 0 && seconds > long_enough_s) break;
        if (seconds > 1) break;
    }
    return best;
}

std::vector<std::int64_t> sizes_of(Kind kind, const BenchOffloadFlags& flags) {
    const bool quick = flags.quick;
    const auto powers = [&](int from, int to, int step) {
        std::vector<std::int64_t> all;
        for (int k = from; k <= to; k += step) all.push_back(std::int64_t(1) << k);
        std::erase_if(all, [&](std::int64_t n) { return arrays::numbers_of(kind, n) > flags.max_numbers(); });
        return all;
    };
    switch (kind) {
        case Kind::matmul: return powers(6, quick ? 10 : 14, 1);
        case Kind::fft: return powers(10, quick ? 20 : 26, 2);
        case Kind::svd: return powers(6, quick ? 8 : 12, 1);
        default: return powers(8, quick ? 20 : 30, 2);  // 1 KB to 4 GB of float32
    }
}

/// Predictions of the cost model, for a GPU that is open or not.
class Model {
  public:
    explicit Model(std::shared_ptr<offload::Machine> machine) : machine_(std::move(machine)) {
        cold_.threshold_bytes = environment::offload_threshold_bytes();
        warm_ = cold_;
        warm_.context_open = warm_.library_loaded = true;
    }
    Backend decide(const Case& of) const { return offload::decide(*machine_, of.cold ? cold_ : warm_, of.work).choice; }
    Backend by_rules(const Case& of) const {
        static const offload::Machine nothing_known({}, "");
        return offload::decide(nothing_known, of.cold ? cold_ : warm_, of.work).choice;
    }
    /// Returns the additional time of a cold GPU.
    double to_start(const offload::Work& work) const {
        const offload::Machine::Estimate estimate = machine_->estimate(work);
        return estimate.context_s + estimate.library_s;
    }
    double seconds_of_a_decision(const offload::Work& work) const {
        constexpr int calls = 100'000;
        double sum = 0;
        const Clock::time_point began = Clock::now();
        for (int k = 0; k < calls; ++k) sum += offload::decide(*machine_, warm_, work).speedup;
        return seconds_since(began) / calls + 0 * sum;
    }

  private:
    std::shared_ptr<offload::Machine> machine_;
    offload::DecisionInputs warm_, cold_;
};

class Bench {
  public:
    Bench(const BenchOffloadFlags& flags, Console& console) : flags_(flags), console_(console), session_(options()) {
        console.notice("calibrating");
        const Clock::time_point began = Clock::now();
        rows_ = arrays::calibrate(session_, nullptr, flags.max_numbers());
        calibration_s_ = seconds_since(began);
        const auto lease_of = gpu::inventory();
        for (const gpu::Device& device : lease_of.devices)
            if (device.ordinal == session_.context().ordinal())
                machine_ = offload::machine_with(device.uuid, lease_of.driver_version);
        model_.emplace(machine_);
    }

    void run() {
        list_cases();
        for (Case& of : cases_) of.at_first = model_->decide(of), of.by_rules = model_->by_rules(of);
        measure();
        for (Case& of : cases_) of.later = model_->decide(of);
        console_.notice("calls beside those of the libraries");
        overheads_ = overheads(session_, flags_.max_numbers());
        decision_s_ = model_->seconds_of_a_decision(cases_.front().work);
    }

    void print() const;
    nlohmann::ordered_json json() const;

  private:
    offload::SessionOptions options() const {
        const gpu::Inventory inventory = gpu::inventory();
        if (!inventory.why_none.empty()) throw gpu::NoGpu(0, "there is nothing to decide: " + inventory.why_none);
        std::uint64_t total = 0;
        for (const gpu::Device& device : inventory.devices) total = std::max(total, device.total_bytes);
        offload::SessionOptions o;
        o.gpu_memory_bytes = gpu::parse_limit(flags_.gpu_memory, total, "--gpu-memory");
        o.gpu_timeout_s = 60;
        return o;
    }

    void add(const offload::Work& work, bool resident) {
        for (const bool cold : {false, true}) {
            if (cold && resident) continue;  // data on a GPU imply a context
            Case of;
            of.work = work, of.resident = resident, of.cold = cold;
            cases_.push_back(of);
        }
    }

    void list_cases() {
        session_.set_choice(Backend::gpu);
        for (const Kind kind : arrays::all_kinds)
            for (const std::int64_t n : sizes_of(kind, flags_))
                for (const bool resident : {false, true}) add(arrays::sample_work<float>(kind, n, resident), resident);
        for (const PsfModel model : psf_models())
            for (double n = 100; n <= flags_.largest_stack(); n *= 10)
                add(FitSample::work_of(model, std::int64_t(n)), false);
    }

    /// Measures only warm cases: a cold case differs by the time to start.
    void measure() {
        std::size_t k = 0;
        for (const Kind kind : arrays::all_kinds)
            for (const std::int64_t n : sizes_of(kind, flags_))
                for (const bool resident : {false, true}) {
                    measure_case(k, [&](Backend side) {
                        session_.set_choice(side);
                        const Sample sample = arrays::sample<float>(session_, kind, n, resident);
                        return best_seconds(sample.run);
                    });
                    k += resident ? 1 : 2;
                }
        FitSample sample;
        for (const PsfModel model : psf_models()) {
            sample.use(model);
            for (double n = 100; n <= flags_.largest_stack(); n *= 10, k += 2)
                measure_case(k, [&](Backend side) {
                    return best_seconds([&] { sample.run(side, std::int64_t(n), *machine_); });
                });
        }
    }

    template <class Measure>
    void measure_case(std::size_t k, const Measure& seconds_on) {
        Case& warm = cases_[k];
        console_.notice(fmt::format("{} {:.4g} {}", warm.work.operation->name, warm.work.size,
                                    warm.resident ? "on the GPU" : "on the host"));
        for (const Backend side : {Backend::cpu, Backend::gpu}) try {
                (side == Backend::cpu ? warm.cpu_s : warm.gpu_s) = seconds_on(side);
            } catch (const Error& error) {
                warm.why_not = error.what();
            }
        if (warm.resident) return;
        Case& cold = cases_[k + 1];
        cold.cpu_s = warm.cpu_s, cold.why_not = warm.why_not;
        cold.gpu_s = warm.gpu_s > 0 ? warm.gpu_s + model_->to_start(warm.work) : 0;
    }

    template <class Choose>
    double total(const Choose& choose) const {
        double sum = 0;
        for (const Case& of : cases_)
            if (of.cpu_s > 0 && of.gpu_s > 0) sum += of.of(choose(of));
        return sum;
    }
    template <class Choose>
    double right_share(const Choose& choose) const {
        int matter = 0, right = 0;
        for (const Case& of : cases_)
            if (of.cpu_s > 0 && of.gpu_s > 0 && of.matters()) ++matter, right += choose(of) == of.faster();
        return matter ? double(right) / matter : 1;
    }
    struct Policy {
        const char* name;
        double seconds, right;
    };
    std::vector<Policy> policies() const {
        const auto judge = [&](const char* name, const auto& choose) {
            return Policy{name, total(choose), right_share(choose)};
        };
        return {judge("always right", [](const Case& of) { return of.faster(); }),
                judge("glint, calibrated", [](const Case& of) { return of.at_first; }),
                judge("glint, later", [](const Case& of) { return of.later; }),
                judge("fixed rules", [](const Case& of) { return of.by_rules; }),
                judge("always the GPU", [](const Case&) { return Backend::gpu; }),
                judge("always the CPU", [](const Case&) { return Backend::cpu; })};
    }

    const BenchOffloadFlags& flags_;
    Console& console_;
    Session session_;
    std::shared_ptr<offload::Machine> machine_;
    std::optional<Model> model_;
    std::vector<arrays::CalibrationRow> rows_;
    std::vector<Case> cases_;
    std::vector<OverheadRow> overheads_;
    double calibration_s_ = 0, decision_s_ = 0;
};

const char* in_table(Backend side) { return side == Backend::gpu ? "GPU" : "CPU"; }

void Bench::print() const {
    put("{:<26} {:>10} {:<9} {:<5} {:>10} {:>10}  {:<6} {:<7} {:<6} {:<6}\n", "operation", "size", "operands", "GPU",
        "CPU s", "GPU s", "faster", "decided", "later", "rules");
    for (const Case& of : cases_) {
        const auto mark = [&](Backend side) {
            return fmt::format("{}{}", in_table(side), of.matters() && side != of.faster() ? " !" : "");
        };
        put("{:<26} {:>10.4g} {:<9} {:<5} {:>10.3g} {:>10.3g}  {:<6} {:<7} {:<6} {:<6} {}\n", of.work.operation->name,
            of.work.size, of.resident ? "resident" : "host", of.cold ? "cold" : "warm", of.cpu_s, of.gpu_s,
            of.matters() ? in_table(of.faster()) : "=", mark(of.at_first), mark(of.later), mark(of.by_rules),
            of.why_not);
    }
    put("\n{:<20} {:>10} {:>14} {:>8}\n", "policy", "seconds", "x always right", "right");
    const double best = policies().front().seconds;
    for (const Policy& policy : policies())
        put("{:<20} {:>10.4g} {:>14.3f} {:>7.1f}%\n", policy.name, policy.seconds, policy.seconds / best,
            100 * policy.right);
    put("\n{:<16} {:<4} {:>10} {:>12} {:>12} {:>8}\n", "operation", "on", "size", "call us", "library us", "ratio");
    for (const OverheadRow& row : overheads_)
        put("{:<16} {:<4} {:>10.4g} {:>12.2f} {:>12.2f} {:>8.3f}\n", row.operation, row.side, row.size,
            row.ours_s * 1e6, row.library_s * 1e6, row.ours_s / row.library_s);
    put("\ncalibration {:.2f} s, a decision {:.0f} ns\n", calibration_s_, decision_s_ * 1e9);
}

nlohmann::ordered_json Bench::json() const {
    nlohmann::ordered_json cases = nlohmann::ordered_json::array(), all = cases, calls = cases;
    for (const OverheadRow& row : overheads_)
        calls.push_back({{"operation", row.operation},
                         {"side", row.side},
                         {"size", row.size},
                         {"call_s", row.ours_s},
                         {"library_s", row.library_s}});
    for (const Case& of : cases_)
        cases.push_back({{"operation", of.work.operation->name},
                         {"size", of.work.size},
                         {"unit", of.work.operation->unit},
                         {"operands", of.resident ? "resident" : "host"},
                         {"gpu", of.cold ? "cold" : "warm"},
                         {"cpu_s", of.cpu_s},
                         {"gpu_s", of.gpu_s},
                         {"decided", in_table(of.at_first)},
                         {"later", in_table(of.later)},
                         {"rules", in_table(of.by_rules)},
                         {"why_not", of.why_not}});
    for (const Policy& policy : policies())
        all.push_back({{"policy", policy.name}, {"seconds", policy.seconds}, {"right_share", policy.right}});
    return {{"calibration_s", calibration_s_},
            {"decision_s", decision_s_},
            {"policies", all},
            {"cases", cases},
            {"calls", calls}};
}

int run(const BenchOffloadFlags& flags) {
    Console console(flags.console);
    Bench bench(flags, console);
    bench.run();
    if (flags.console.json)
        print_json(bench.json());
    else
        bench.print();
    return exit_ok;
}

}  // namespace

Command add_bench_offload(CLI::App& bench) {
    const auto flags = std::make_shared<BenchOffloadFlags>();
    CLI::App* app = bench.add_subcommand("offload", "Decisions between CPU and GPU: whether they are right");
    app->add_flag("--quick", flags->quick, "Small sizes only");
    app->add_flag("--small", flags->small, "Tiny sizes only, as for the simulated server");
    app->add_option("--most-fits", flags->max_fits, "The largest stack of ROIs")->capture_default_str();
    app->add_option("--gpu-memory", flags->gpu_memory, "Most to take of the GPU")->capture_default_str();
    add_console_flags(*app, flags->console);
    app->footer(help_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
