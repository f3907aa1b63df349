// Computes the statistics of a simulation. For slowdowns by other users, simulates each user's jobs again, alone. The
// bound of the makespan is the maximum of two bounds: each job alone, and the total work from each arrival on.
// SPDX-License-Identifier: MIT
#include "bench/sharing/figures.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/sharing/context_costs.hpp"

namespace glint::sharing {
namespace {

double response_s(const SimulatedJob& job, const JobRun& run) { return run.finishes_s - job.arrives_s; }

constexpr double long_wait_s = 300;

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

/// Returns the 99th percentile.
double p99(std::vector<double> values) {
    const auto nth = values.begin() + std::ptrdiff_t(std::ceil(0.99 * double(values.size()))) - 1;
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
}

}  // namespace

double min_time_s(const SimulatedJob& job) { return job.gpus * min_creation_s() + job.compute_s; }

double min_makespan_s(const Workload& workload, std::span<const JobRun> runs) {
    double bound_s = 0, work_s = 0;  // for all GPUs, of jobs that arrive at this time or later
    for (std::size_t k = workload.jobs.size(); k-- > 0;) {
        const SimulatedJob& job = workload.jobs[k];
        if (runs[k].failed) continue;
        work_s += job.gpus * job.compute_s;
        const double all_busy_s = min_creation_s() + work_s / workload.gpus;
        bound_s = std::max(bound_s, job.arrives_s + std::max(min_time_s(job), all_busy_s));
    }
    return bound_s;
}

double jain_index(std::span<const double> values) {
    double sum = 0, squares = 0;
    for (const double x : values) sum += x, squares += x * x;
    return squares > 0 ? sum * sum / (double(values.size()) * squares) : 1;
}

std::vector<double> slowdowns_by_others(const Workload& workload, PolicyKind policy, std::uint64_t seed,
                                        const Outcome& outcome, double quantum_s) {
    Workload empty_server;
    empty_server.gpus = workload.gpus;
    empty_server.gpu_bytes = workload.gpu_bytes;
    std::vector<Workload> alone(workload.users.size(), empty_server);
    std::vector<std::vector<double>> shared_s(workload.users.size());
    for (std::size_t k = 0; k < workload.jobs.size(); ++k) {
        if (outcome.runs[k].failed) continue;
        const auto user = std::size_t(workload.jobs[k].user);
        alone[user].jobs.push_back(workload.jobs[k]);
        shared_s[user].push_back(response_s(workload.jobs[k], outcome.runs[k]));
    }
    std::vector<double> slowdowns;
    for (std::size_t user = 0; user < alone.size(); ++user) {
        const std::vector<JobRun> runs = simulate(alone[user], policy, seed, {}, quantum_s).runs;
        double with_others_s = 0, alone_s = 0;
        for (std::size_t k = 0; k < runs.size(); ++k)
            if (!runs[k].failed)
                with_others_s += shared_s[user][k], alone_s += response_s(alone[user].jobs[k], runs[k]);
        if (alone_s > 0) slowdowns.push_back(with_others_s / alone_s);
    }
    return slowdowns;
}

std::vector<double> mean_slowdowns(const Workload& workload, const Outcome& outcome) {
    std::vector<double> sums(workload.users.size()), counts(workload.users.size()), means;
    for (std::size_t k = 0; k < workload.jobs.size(); ++k) {
        const SimulatedJob& job = workload.jobs[k];
        if (outcome.runs[k].failed) continue;
        sums[std::size_t(job.user)] += response_s(job, outcome.runs[k]) / min_time_s(job);
        ++counts[std::size_t(job.user)];
    }
    for (std::size_t user = 0; user < sums.size(); ++user)
        if (counts[user] > 0) means.push_back(sums[user] / counts[user]);
    return means;
}

Figures figures(const Workload& workload, PolicyKind policy, std::uint64_t seed, const Outcome& outcome,
                double quantum_s) {
    Figures f;
    f.jobs = int(workload.jobs.size());
    f.refusals = outcome.refusals;
    f.idle_share = outcome.lasted_s > 0 ? outcome.idle_s / (workload.gpus * outcome.lasted_s) : 0;
    std::vector<double> waits_s, slowdowns;
    for (std::size_t k = 0; k < workload.jobs.size(); ++k) {
        const SimulatedJob& job = workload.jobs[k];
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
