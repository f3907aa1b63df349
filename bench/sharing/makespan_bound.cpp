// The maximum of two bounds: each job alone, and the total work from each arrival on.
// SPDX-License-Identifier: MIT
#include "bench/sharing/makespan_bound.hpp"

#include <algorithm>

#include "bench/sharing/context_costs.hpp"

namespace glint::sharing {

double min_time_s(const Job& job) { return job.gpus * min_creation_s() + job.compute_s; }

double min_makespan_s(const Workload& workload, std::span<const JobRun> runs) {
    double bound_s = 0, work_s = 0;  // of all GPUs, by jobs that come at this time or later
    for (std::size_t k = workload.jobs.size(); k-- > 0;) {
        const Job& job = workload.jobs[k];
        if (runs[k].failed) continue;
        work_s += job.gpus * job.compute_s;
        const double all_busy_s = min_creation_s() + work_s / workload.gpus;
        bound_s = std::max(bound_s, job.arrives_s + std::max(min_time_s(job), all_busy_s));
    }
    return bound_s;
}

}  // namespace glint::sharing
