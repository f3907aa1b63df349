// Computes the figures of merit of a simulation.
// SPDX-License-Identifier: MIT
#include "bench/sharing/figures.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/sharing/fairness.hpp"
#include "bench/sharing/makespan_bound.hpp"

namespace glint::sharing {
namespace {

constexpr double long_wait_s = 300;

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

/// The 99th percentile.
double p99(std::vector<double> values) {
    const auto nth = values.begin() + std::ptrdiff_t(std::ceil(0.99 * double(values.size()))) - 1;
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
}

}  // namespace

Figures figures(const Workload& workload, PolicyKind policy, std::uint64_t seed, const Outcome& outcome,
                double quantum_s) {
    Figures f;
    f.jobs = int(workload.jobs.size());
    f.refusals = outcome.refusals;
    f.idle_share = outcome.lasted_s > 0 ? outcome.idle_s / (workload.gpus * outcome.lasted_s) : 0;
    std::vector<double> waits_s, slowdowns;
    for (std::size_t k = 0; k < workload.jobs.size(); ++k) {
        const Job& job = workload.jobs[k];
        const JobRun& run = outcome.runs[k];
        if (run.failed) continue;
        waits_s.push_back(run.starts_s - job.arrives_s);
        slowdowns.push_back((run.finishes_s - job.arrives_s) / min_time_s(job));
        f.makespan_s = std::max(f.makespan_s, run.finishes_s);
    }
    f.failures = f.jobs - int(waits_s.size());
    if (waits_s.empty()) return f;
    f.bound_s = min_makespan_s(workload, outcome.runs);
    f.mean_wait_s = mean(waits_s), f.p99_wait_s = p99(waits_s);
    f.long_waits = int(std::count_if(waits_s.begin(), waits_s.end(), [](double s) { return s > long_wait_s; }));
    f.mean_slowdown = mean(slowdowns), f.p99_slowdown = p99(slowdowns);
    f.jain_index = jain_index(slowdowns_by_others(workload, policy, seed, outcome, quantum_s));
    f.jain_index_of_means = jain_index(mean_slowdowns(workload, outcome));
    return f;
}

}  // namespace glint::sharing
