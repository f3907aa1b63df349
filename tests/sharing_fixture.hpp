// Helpers for tests of simulated sharing: compact construction of servers and jobs.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/sharing/context_costs.hpp"
#include "bench/sharing/random_numbers.hpp"
#include "bench/sharing/simulation.hpp"

namespace glint::sharing::test {

constexpr std::uint64_t gib = std::uint64_t(1) << 30;

inline SimulatedJob job(double arrives_s, std::uint64_t gibibytes, double compute_s, int gpus = 1, int user = 0) {
    return {user, arrives_s, gpus, gibibytes * gib, compute_s};
}

/// Returns a server with GPUs of 140 GiB and two users.
inline Workload server(int gpus, std::vector<SimulatedJob> jobs, std::vector<ForeignProcess> foreign_processes = {}) {
    Workload w;
    w.name = "test";
    w.gpus = gpus;
    w.gpu_bytes = 140 * gib;
    w.users = {"a", "b"};
    w.jobs = std::move(jobs);
    w.foreign_processes = std::move(foreign_processes);
    return w;
}

/// Returns jobs that arrive at random times, `mean_s` apart on average.
inline std::vector<SimulatedJob> arrivals(RandomNumbers& random, int count, double mean_s) {
    std::vector<SimulatedJob> jobs(static_cast<std::size_t>(count));
    double now_s = 0;
    for (SimulatedJob& j : jobs) j.arrives_s = now_s += -mean_s * std::log1p(-random.uniform());
    return jobs;
}

/// Returns a random mix of jobs on one or several GPUs, with foreign processes.
inline Workload random_workload(std::uint64_t seed) {
    RandomNumbers random(seed);
    const int gpus = 1 + int(random.uniform(0, 8));
    Workload w = server(gpus, arrivals(random, 150, random.log_uniform(0.1, 60)));
    for (SimulatedJob& j : w.jobs) {
        j.user = int(random.uniform(0, 2));
        j.gpus = random.uniform() < 0.8 ? 1 : 1 + int(random.uniform(0, gpus));
        j.bytes = std::uint64_t(random.log_uniform(0.1, 139) * double(gib));
        j.compute_s = random.log_uniform(0.1, 300);
    }
    for (int k = 0; k < 10; ++k) {
        const double comes_s = random.uniform(0, w.jobs.back().arrives_s);
        w.foreign_processes.push_back({comes_s, comes_s + random.log_uniform(1, 1000), int(random.uniform(0, gpus)),
                                       std::uint64_t(random.uniform(0, 140) * double(gib)), random.uniform() < 0.5});
    }
    return w;
}

}  // namespace glint::sharing::test
