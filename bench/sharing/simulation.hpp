// A discrete-event simulation of a workload under a policy.
//
// workload.cpp draws jobs from a file of bench/workloads. A job arrives, waits, creates its contexts, computes and
// leaves, event by event, on shared_gpus.cpp, which accounts for memory and divides computing time. Its policy decides
// when and where it begins: lease_policy.cpp uses gpu/lease/policy.cpp, as the broker does; uncoordinated_policies.cpp
// contains the policies to compare with. figures.cpp computes the statistics (docs/explanation/sharing-policies.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "bench/sharing/workload.hpp"
#include "glint/environment.hpp"
#include "glint/progress.hpp"

namespace glint::sharing {

enum class PolicyKind { naive, first_fit, polling, leases };
constexpr PolicyKind all_policies[] = {PolicyKind::naive, PolicyKind::first_fit, PolicyKind::polling,
                                       PolicyKind::leases};
std::string_view to_name(PolicyKind policy);
/// Parses the name of a policy. Throws OptionError, which lists the names.
PolicyKind parse_policy(std::string_view name);

/// The result of one job.
struct JobRun {
    bool failed = false;  ///< it ended without a result
    double starts_s = 0;  ///< when it starts to compute, after it has waited and created its contexts
    double finishes_s = 0;
};

struct Outcome {
    std::vector<JobRun> runs;  ///< of Workload::jobs
    int refusals = 0;          ///< contexts and allocations that failed
    int interruptions = 0;     ///< how often jobs gave up their GPUs after a quantum
    double lasted_s = 0;       ///< time until the last job had finished or failed
    double idle_s = 0;         ///< time until then without any computation, summed over GPUs
};

/// Simulates a workload under a policy. Deterministic: `seed` determines the jitter of polls and random choices of
/// GPUs. `progress` counts jobs. `quantum_s` is the quantum of fits under leases; with infinity, fits do not give way.
/// Throws OptionError for a job that does not fit on the server.
Outcome simulate(const Workload& workload, PolicyKind policy, std::uint64_t seed, const Progress& progress = {},
                 double quantum_s = environment::gpu_quantum_s());

class SharingPolicy;
class Stage;
using PolicyMaker = std::function<std::unique_ptr<SharingPolicy>(Stage&)>;

/// Like simulate() above, with a user-defined policy.
Outcome simulate(const Workload& workload, const PolicyMaker& policy_of, std::uint64_t seed,
                 const Progress& progress = {});

}  // namespace glint::sharing
