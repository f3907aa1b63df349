// Simulates each user's jobs once more, alone, to compute slowdowns caused by other users.
// SPDX-License-Identifier: MIT
#include "bench/sharing/fairness.hpp"

#include "bench/sharing/makespan_bound.hpp"

namespace glint::sharing {
namespace {

double response_s(const Job& job, const JobRun& run) { return run.finishes_s - job.arrives_s; }

}  // namespace

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
        const Job& job = workload.jobs[k];
        if (outcome.runs[k].failed) continue;
        sums[std::size_t(job.user)] += response_s(job, outcome.runs[k]) / min_time_s(job);
        ++counts[std::size_t(job.user)];
    }
    for (std::size_t user = 0; user < sums.size(); ++user)
        if (counts[user] > 0) means.push_back(sums[user] / counts[user]);
    return means;
}

}  // namespace glint::sharing
