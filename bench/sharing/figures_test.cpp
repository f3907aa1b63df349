// Tests of the definitions against values computed by hand, of the bound for every policy, and of the documented
// statistics.
// SPDX-License-Identifier: MIT
#include "bench/sharing/figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sharing_fixture.hpp"

using namespace glint::sharing;
using namespace glint::sharing::test;

namespace {

double bound_s(const Workload& w) { return min_makespan_s(w, std::vector<JobRun>(w.jobs.size())); }

Figures figures_of(const Workload& w, PolicyKind policy) { return figures(w, policy, 1, simulate(w, policy, 1)); }

}  // namespace

TEST(SharingFigures, jains_index) {
    EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{3, 3, 3}), 1);
    EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{1, 0, 0, 0}), 0.25);
    EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{1, 2, 3}), 36.0 / (3 * 14));
    EXPECT_DOUBLE_EQ(jain_index({}), 1);
}

TEST(SharingFigures, the_bound_by_hand) {
    const double c = min_creation_s();
    EXPECT_DOUBLE_EQ(bound_s(server(2, std::vector<SimulatedJob>(4, job(0, 8, 10)))), c + 20) << "all GPUs busy";
    EXPECT_DOUBLE_EQ(bound_s(server(2, {job(0, 8, 10), job(3, 8, 30)})), 3 + c + 30) << "the longest job";
    EXPECT_DOUBLE_EQ(bound_s(server(2, {job(0, 8, 1), job(3, 8, 30, 2)})), 3 + 2 * c + 30) << "with its two contexts";
    EXPECT_DOUBLE_EQ(bound_s(server(2, {job(0, 8, 50), job(100, 8, 9), job(101, 8, 11), job(102, 8, 10)})),
                     100 + c + 15)
        << "what is left to do when the second comes";
    EXPECT_DOUBLE_EQ(bound_s(server(2, {job(0, 8, 10, 2), job(0, 8, 10)})), c + 15) << "10 s on two GPUs are 20";
    std::vector<JobRun> runs(2);
    runs[1].failed = true;
    EXPECT_DOUBLE_EQ(min_makespan_s(server(1, {job(0, 8, 10), job(0, 8, 90)}), runs), c + 10)
        << "what failed is no work";
}

TEST(SharingFigures, no_policy_undercuts_the_bound) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Workload w = random_workload(seed);
        for (const PolicyKind policy : all_policies) {
            const Figures f = figures(w, policy, seed, simulate(w, policy, seed));
            EXPECT_GE(f.makespan_s, f.bound_s * (1 - 1e-9)) << to_name(policy) << ' ' << seed;
            EXPECT_GT(f.bound_s, 0);
        }
    }
}

TEST(SharingFigures, by_hand) {
    // The second job waits for the first: 80 GiB and 80 GiB do not fit together.
    const Figures f = figures_of(server(1, {job(0, 80, 10), job(0, 80, 10)}), PolicyKind::leases);
    const double c = min_creation_s(), second_waits_s = 0.001 + c + 10 + 0.05 + 0.0002 + c;
    EXPECT_EQ(f.jobs, 2);
    EXPECT_EQ(f.failures, 0);
    EXPECT_NEAR(f.mean_wait_s, (0.001 + c + second_waits_s) / 2, 1e-9);
    EXPECT_NEAR(f.p99_wait_s, second_waits_s, 1e-9);
    EXPECT_NEAR(f.makespan_s, second_waits_s + 10, 1e-9);
    EXPECT_NEAR(f.bound_s, c + 20, 1e-9);
    EXPECT_NEAR(f.mean_slowdown, ((0.001 + c + 10) + (second_waits_s + 10)) / (2 * (c + 10)), 1e-9);
    EXPECT_NEAR(f.p99_slowdown, (second_waits_s + 10) / (c + 10), 1e-9);
    EXPECT_NEAR(f.idle_share, (second_waits_s - 10) / (second_waits_s + 10), 1e-9);
    EXPECT_DOUBLE_EQ(f.jain_index, 1) << "one user";
    EXPECT_EQ(f.long_waits, 0);
    EXPECT_EQ(figures_of(server(1, {job(0, 80, 301), job(0, 80, 10)}), PolicyKind::leases).long_waits, 1);
}

TEST(SharingFigures, one_in_a_hundred_may_wait_longer_than_the_99th_percentile) {
    for (const int late : {1, 2}) {  // the number of jobs, of 100, that wait for the end of a foreign process
        std::vector<SimulatedJob> jobs;
        for (int k = 0; k < 100; ++k) jobs.push_back(job(10 * k, k < late ? 139 : 1, 1));
        const Workload w = server(1, jobs, {{0, 5000, 0, 2 * gib, false}});
        EXPECT_EQ(figures_of(w, PolicyKind::leases).p99_wait_s > 1000, late > 1) << late;
    }
}

TEST(SharingFigures, failures_alone_are_no_reason_to_divide_by_nothing) {
    const Figures f = figures_of(server(1, {job(1, 139, 1)}, {{0, 10, 0, 139 * gib, false}}), PolicyKind::naive);
    EXPECT_EQ(f.failures, 1);
    EXPECT_EQ(f.makespan_s, 0);
    EXPECT_EQ(f.makespan_over_bound(), 1);
    EXPECT_EQ(f.jain_index, 1);
}

// Two jobs of user a share the GPU. User b's job arrives when both have ended. No user slows another down.
TEST(SharingFigures, who_is_in_his_own_way_is_not_treated_unfairly) {
    std::vector<SimulatedJob> jobs = {job(0, 8, 10), job(0, 8, 10), job(100, 8, 10, 1, 1)};
    const Workload w = server(1, jobs);
    const Outcome o = simulate(w, PolicyKind::leases, 1);
    for (const double slowdown : slowdowns_by_others(w, PolicyKind::leases, 1, o)) EXPECT_NEAR(slowdown, 1, 1e-9);
    const std::vector<double> means = mean_slowdowns(w, o);
    ASSERT_EQ(means.size(), 2u);
    EXPECT_NEAR(means[0], 1.96, 0.02) << "near 2, but for the contexts";
    EXPECT_NEAR(means[1], 1, 1e-3);
}

TEST(SharingFigures, who_is_in_anothers_way_slows_him_down) {
    // User b's job needs 10 s, and has half of the GPU: user a's job runs there for 100 s.
    const Workload w = server(1, {job(0, 8, 100), job(10, 8, 10, 1, 1)});
    const auto slowdowns = slowdowns_by_others(w, PolicyKind::leases, 1, simulate(w, PolicyKind::leases, 1));
    ASSERT_EQ(slowdowns.size(), 2u);
    EXPECT_NEAR(slowdowns[0], 1.1, 0.001);
    EXPECT_NEAR(slowdowns[1], 2.0, 0.02);
}

// The targets of docs/explanation/sharing-policies.md: 1,000 jobs on 8 GPUs, a day of a facility, and a burst of all
// users.
TEST(SharingFigures, targets) {
    const Workload day = draw_workload("day", 1), burst = draw_workload("burst", 1);
    for (const Workload* w : {&day, &burst}) {
        EXPECT_EQ(w->jobs.size(), 1000u);
        EXPECT_EQ(w->gpus, 8);
        const Figures ours = figures_of(*w, PolicyKind::leases), polling = figures_of(*w, PolicyKind::polling);
        EXPECT_EQ(ours.failures, 0);
        EXPECT_EQ(ours.refusals, 0);
        EXPECT_LE(ours.makespan_over_bound(), 1.1) << w->name;
        EXPECT_GT(ours.jain_index, 0.95) << w->name;
        EXPECT_LT(ours.mean_wait_s, polling.mean_wait_s) << w->name;
        EXPECT_LT(ours.mean_slowdown, polling.mean_slowdown) << w->name;
        // In the burst, the last job of any policy waits for nearly all of the other jobs' work.
        EXPECT_LE(ours.p99_wait_s, polling.p99_wait_s / (w == &day ? 2 : 1)) << w->name;
    }
}

// Large and small jobs share the computing time, although a large job has most of its GPU's memory. Uses the median of
// five draws, because one draw may have a busy hour.
TEST(SharingFigures, large_jobs_and_small_ones_are_slowed_down_alike) {
    std::vector<double> fairness;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const Workload w = draw_workload("large", seed);
        const Figures found = figures(w, PolicyKind::leases, seed, simulate(w, PolicyKind::leases, seed));
        EXPECT_LE(found.makespan_over_bound(), 1.06) << seed;
        fairness.push_back(found.jain_index);
    }
    std::sort(fairness.begin(), fairness.end());
    EXPECT_GT(fairness[2], 0.95);
}
