// Tests against schedules computed by hand, and against queues with theoretically known waits.
// SPDX-License-Identifier: MIT
#include "bench/sharing/simulation.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "glint/error.hpp"
#include "tests/expect_error.hpp"
#include "tests/sharing_fixture.hpp"

using namespace glint::sharing;
using namespace glint::sharing::test;
using glint::test::expect_error;

namespace {

constexpr PolicyKind patient_policies[] = {PolicyKind::first_fit, PolicyKind::polling, PolicyKind::leases};
// Delays of the lease policy: from the call to the first evaluation, and from a release to the next evaluation. For all
// policies: the time to create a context and to end it.
constexpr double first_look_s = 0.001, wake_s = 0.0002, end_s = 0.05, creation_s = 0.165;
constexpr double near_s = 1e-9;

int failures(const Outcome& outcome) {
    int count = 0;
    for (const JobRun& run : outcome.runs) count += run.failed;
    return count;
}

/// The mean, with a bound of its error: four standard errors, from means of batches, which are nearly independent.
struct Mean {
    double value = 0, error = 0;
    explicit Mean(const std::vector<double>& values) {
        constexpr std::size_t batches = 20;
        const std::size_t each = values.size() / batches;
        double squares = 0;
        for (std::size_t b = 0; b < batches; ++b) {
            const auto begin = values.begin() + std::ptrdiff_t(b * each);
            const double mean = std::accumulate(begin, begin + std::ptrdiff_t(each), 0.0) / double(each);
            value += mean / batches, squares += mean * mean / batches;
        }
        error = 4 * std::sqrt((squares - value * value) / (batches - 1));
    }
};

}  // namespace

// Computed by hand: the second job arrives at 10 s; evaluations follow from 11 s on. At 31 s the first job has computed
// for 30.834 s.
TEST(SharingSimulation, a_long_fit_gives_way_to_a_short_one_and_does_the_rest_later) {
    Workload w = server(1, {job(0, 100, 100), job(10, 100, 5)});
    for (SimulatedJob& j : w.jobs) j.gives_way = true;
    const Outcome o = simulate(w, PolicyKind::leases, 1, {}, 30);
    const double began_s = first_look_s + creation_s, done_s = 31 + end_s + wake_s + creation_s + 5;
    EXPECT_EQ(o.interruptions, 1);
    EXPECT_NEAR(o.runs[0].starts_s, began_s, near_s);
    EXPECT_NEAR(o.runs[1].finishes_s, done_s, near_s);
    EXPECT_NEAR(o.runs[0].finishes_s, done_s + end_s + wake_s + creation_s + 100 - (31 - began_s), near_s);
    EXPECT_EQ(o.refusals, 0);

    w.jobs[1].compute_s = 30;  // as long as the quantum
    EXPECT_EQ(simulate(w, PolicyKind::leases, 1, {}, 30).interruptions, 0);
    w.jobs[1].compute_s = 5, w.jobs[0].gives_way = false;
    EXPECT_EQ(simulate(w, PolicyKind::leases, 1, {}, 30).interruptions, 0);
}

TEST(SharingSimulation, one_job_alone) {
    for (const PolicyKind policy : all_policies) {
        const Outcome o = simulate(server(1, {job(5, 8, 10)}), policy, 1);
        const double began_s = 5 + (policy == PolicyKind::leases ? first_look_s : 0);
        EXPECT_NEAR(o.runs[0].starts_s, began_s + creation_s, near_s) << to_name(policy);
        EXPECT_NEAR(o.runs[0].finishes_s, began_s + creation_s + 10, near_s);
        EXPECT_NEAR(o.lasted_s, o.runs[0].finishes_s, near_s);
        EXPECT_NEAR(o.idle_s, began_s + creation_s, near_s);
        EXPECT_EQ(o.refusals, 0);
    }
}

TEST(SharingSimulation, naive_jobs_fail_where_memory_ends) {
    // 140 GiB are enough for 16 jobs of 8 GiB with a context. On the H200, 19 of 32 succeeded, because failed jobs left
    // room.
    const Outcome o = simulate(server(1, std::vector<SimulatedJob>(32, job(0, 8, 10))), PolicyKind::naive, 1);
    EXPECT_EQ(failures(o), 16);
    EXPECT_EQ(o.refusals, 16);
    EXPECT_NEAR(o.runs[0].starts_s, 5.0, near_s) << "32 contexts at once";
    EXPECT_NEAR(o.runs[15].finishes_s, 5.0 + 16 * 10, 1e-6) << "16 share the GPU";
    const Outcome tiny = simulate(server(1, std::vector<SimulatedJob>(128, job(0, 0, 10))), PolicyKind::naive, 1);
    EXPECT_EQ(failures(tiny), 128 - max_contexts);
    EXPECT_EQ(failures(simulate(server(1, std::vector<SimulatedJob>(32, job(0, 8, 10))), PolicyKind::leases, 1)), 0);
}

TEST(SharingSimulation, leases_create_contexts_one_by_one_and_share_the_gpu) {
    const Outcome o = simulate(server(1, {job(0, 8, 10), job(0, 8, 10)}), PolicyKind::leases, 1);
    const double first_s = first_look_s + creation_s;
    const double second_s = first_s + context_creation_s(1, 1);
    EXPECT_NEAR(o.runs[0].starts_s, first_s, near_s);
    EXPECT_NEAR(o.runs[1].starts_s, second_s, near_s);
    // Each job has half of the GPU until the first one ends. The second job then still has to do the work that the
    // first job did alone at the start.
    EXPECT_NEAR(o.runs[0].finishes_s, second_s + 2 * (10 - (second_s - first_s)), near_s);
    EXPECT_NEAR(o.runs[1].finishes_s, first_s + 20, near_s);
}

TEST(SharingSimulation, polling_jobs_that_come_together_create_contexts_together) {
    const Outcome o = simulate(server(2, {job(0, 8, 10), job(0, 8, 10)}), PolicyKind::polling, 1);
    for (const JobRun& run : o.runs) EXPECT_NEAR(run.starts_s, context_creation_s(0, 2), near_s) << "both on GPU 0";
    EXPECT_NEAR(o.runs[1].finishes_s, context_creation_s(0, 2) + 20, near_s);
}

TEST(SharingSimulation, a_polling_job_that_loses_the_race_tries_again) {
    for (const PolicyKind policy : {PolicyKind::polling, PolicyKind::first_fit}) {
        const Outcome o = simulate(server(1, {job(0, 80, 10), job(0, 80, 10)}), policy, 1);
        EXPECT_EQ(failures(o), 0);
        EXPECT_EQ(o.refusals, 1);
        const double first_ends_s = o.runs[0].finishes_s + end_s;
        EXPECT_GE(o.runs[1].starts_s, first_ends_s + creation_s - near_s);
        EXPECT_LE(o.runs[1].starts_s, first_ends_s + 1.25 * 0.5 + creation_s + near_s) << "the longest pause";
    }
}

TEST(SharingSimulation, polling_keeps_off_a_busy_gpu_and_first_fit_does_not) {
    const Workload w = server(1, {job(0, 8, 10), job(1, 8, 10)});
    EXPECT_GE(simulate(w, PolicyKind::polling, 1).runs[1].starts_s, creation_s + 10);
    EXPECT_NEAR(simulate(w, PolicyKind::first_fit, 1).runs[1].starts_s, 1 + context_creation_s(1, 1), near_s);
}

TEST(SharingSimulation, all_gpus_of_a_job_at_once) {
    const std::vector<SimulatedJob> jobs = {job(0, 100, 10, 3), job(0, 100, 5, 3), job(0, 8, 1)};
    const Outcome o = simulate(server(4, jobs), PolicyKind::leases, 1);
    const double began_s = first_look_s + 3 * creation_s;  // one context after the other
    EXPECT_NEAR(o.runs[0].starts_s, began_s, near_s);
    EXPECT_NEAR(o.runs[0].finishes_s, began_s + 10, near_s);
    EXPECT_NEAR(o.runs[1].starts_s, o.runs[0].finishes_s + end_s + wake_s + 3 * creation_s, near_s);
    EXPECT_NEAR(o.runs[2].finishes_s, first_look_s + creation_s + 1, near_s) << "on the fourth GPU";
}

TEST(SharingSimulation, a_faster_foreign_process_makes_a_lease_wait_for_its_end) {
    const Workload w = server(1, {job(0, 100, 5)}, {{0.1, 10, 0, 60 * gib, false}});
    const Outcome o = simulate(w, PolicyKind::leases, 1);
    EXPECT_EQ(failures(o), 0);
    EXPECT_EQ(o.refusals, 1);
    EXPECT_GE(o.runs[0].starts_s, 10 + creation_s - near_s);
    EXPECT_LE(o.runs[0].starts_s, 10 + 0.5 + creation_s + near_s) << "the head of the queue polls every half second";
    EXPECT_EQ(failures(simulate(w, PolicyKind::naive, 1)), 1);
}

TEST(SharingSimulation, a_foreign_process_takes_at_most_the_free_memory) {
    const std::vector<ForeignProcess> foreign_processes = {
        {0, 50, 0, 100 * gib, true}, {1, 60, 0, 100 * gib, true}, {2, 70, 0, gib, true}};
    const Outcome o = simulate(server(1, {job(3, 100, 5)}, foreign_processes), PolicyKind::leases, 1);
    EXPECT_GE(o.runs[0].starts_s, 60) << "the third found no room, and went";
    EXPECT_NEAR(o.runs[0].finishes_s - o.runs[0].starts_s, 5, near_s);
}

// Jobs that each need more than half of the memory run one at a time, first come, first served: Lindley's recursion.
TEST(SharingSimulation, one_at_a_time_is_lindleys_queue) {
    RandomNumbers random(1);
    std::vector<SimulatedJob> jobs = arrivals(random, 3000, 10);
    for (SimulatedJob& j : jobs) j.bytes = 80 * gib, j.compute_s = random.uniform(1, 14);
    const Outcome o = simulate(server(1, jobs), PolicyKind::leases, 1);
    double free_s = 0;
    for (std::size_t k = 0; k < jobs.size(); ++k) {
        const double look_s = jobs[k].arrives_s + first_look_s;
        double leased_s = look_s;
        if (look_s < free_s) leased_s = free_s + wake_s;
        if (look_s >= free_s && jobs[k].arrives_s <= free_s) leased_s = std::min(look_s, free_s + wake_s);
        const double starts_s = leased_s + creation_s;
        ASSERT_NEAR(o.runs[k].starts_s, starts_s, 1e-6) << k;
        ASSERT_NEAR(o.runs[k].finishes_s, starts_s + jobs[k].compute_s, 1e-6) << k;
        free_s = starts_s + jobs[k].compute_s + end_s;
    }
}

// M/D/1: the mean wait is rho S / (2 (1 - rho)) (Pollaczek and Khinchine).
TEST(SharingSimulation, the_mean_wait_of_one_at_a_time_is_that_of_m_d_1) {
    RandomNumbers random(2);
    std::vector<SimulatedJob> jobs = arrivals(random, 20000, 20);
    for (SimulatedJob& j : jobs) j.bytes = 80 * gib, j.compute_s = 12;
    const Outcome o = simulate(server(1, jobs), PolicyKind::leases, 1);
    std::vector<double> waits_s;
    for (std::size_t k = 0; k < jobs.size(); ++k)
        waits_s.push_back(o.runs[k].starts_s - creation_s - first_look_s - jobs[k].arrives_s);
    const double service_s = creation_s + 12 + end_s, rho = service_s / 20;
    const Mean wait_s(waits_s);
    EXPECT_NEAR(wait_s.value, rho * service_s / (2 * (1 - rho)), wait_s.error + wake_s);
}

// M/G/1 with processor sharing: for any distribution, the mean time of a job on the GPU is compute_s / (1 - rho).
TEST(SharingSimulation, jobs_that_share_are_slowed_down_as_in_m_g_1_ps) {
    RandomNumbers random(3);
    std::vector<SimulatedJob> jobs = arrivals(random, 20000, 200);
    double work_s = 0;
    for (SimulatedJob& j : jobs) j.compute_s = random.log_uniform(5, 600), work_s += j.compute_s;
    const Outcome o = simulate(server(1, jobs), PolicyKind::leases, 1);
    std::vector<double> on_gpu_s;
    for (const JobRun& run : o.runs) on_gpu_s.push_back(run.finishes_s - run.starts_s);
    const double mean_s = (600 - 5) / std::log(600.0 / 5), rho = mean_s / 200;
    const Mean measured_s(on_gpu_s);
    EXPECT_NEAR(measured_s.value, mean_s / (1 - rho), measured_s.error);
    EXPECT_NEAR(o.idle_s + work_s, o.lasted_s, 1e-6 * o.lasted_s) << "no time is lost or made";
}

TEST(SharingSimulation, no_time_is_lost_or_made) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Workload w = random_workload(seed);
        w.foreign_processes.clear();
        double work_s = 0;
        for (SimulatedJob& j : w.jobs) j.gpus = 1, work_s += j.compute_s;
        for (const PolicyKind policy : patient_policies) {
            const Outcome o = simulate(w, policy, seed);
            EXPECT_NEAR(o.idle_s + work_s, w.gpus * o.lasted_s, 1e-6 * w.gpus * o.lasted_s) << seed;
        }
    }
}

TEST(SharingSimulation, everybody_has_a_result_in_the_end_unless_naive) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Workload w = random_workload(seed);
        for (const PolicyKind policy : patient_policies) {
            const Outcome o = simulate(w, policy, seed);
            EXPECT_EQ(failures(o), 0) << seed;
            for (std::size_t k = 0; k < w.jobs.size(); ++k) {
                EXPECT_GE(o.runs[k].starts_s, w.jobs[k].arrives_s + w.jobs[k].gpus * creation_s - near_s);
                EXPECT_GE(o.runs[k].finishes_s, o.runs[k].starts_s + w.jobs[k].compute_s - near_s);
            }
        }
    }
}

// Small jobs keep the GPU full for hours. Eight of them, one every 20 s, overtake the large job. Then it waits at most
// for the jobs on the GPU, 17 times 20 s.
TEST(SharingSimulation, a_large_job_does_not_starve_beside_leases) {
    std::vector<SimulatedJob> jobs;
    for (int k = 0; k < 1000; ++k) jobs.push_back(job(k, 8, 20, 1, 1));
    jobs.insert(jobs.begin() + 10, job(9.5, 139, 1));
    const Outcome o = simulate(server(1, jobs), PolicyKind::leases, 1);
    EXPECT_LE(o.runs[10].starts_s, 9.5 + (8 + 17) * 20 + 30);
    EXPECT_GE(o.lasted_s, 20000);
}

TEST(SharingSimulation, is_the_same_for_the_same_seed) {
    const Workload w = random_workload(7);
    for (const PolicyKind policy : all_policies) {
        const Outcome a = simulate(w, policy, 1), b = simulate(w, policy, 1), c = simulate(w, policy, 2);
        double apart_s = 0;
        for (std::size_t k = 0; k < w.jobs.size(); ++k) {
            EXPECT_EQ(a.runs[k].finishes_s, b.runs[k].finishes_s);
            apart_s += std::abs(a.runs[k].finishes_s - c.runs[k].finishes_s);
        }
        if (policy != PolicyKind::leases) {  // random only in the time at which it notices the end of foreign processes
            EXPECT_GT(apart_s, 0) << to_name(policy);
        }
    }
}

TEST(SharingSimulation, tells_how_far_it_is) {
    std::vector<std::int64_t> told;
    simulate(server(1, {job(0, 80, 1), job(0, 80, 1), job(0, 80, 1)}), PolicyKind::naive, 1,
             [&](std::int64_t done, std::int64_t total, std::int64_t) {
                 EXPECT_EQ(total, 3);
                 told.push_back(done);
             });
    EXPECT_EQ(told, (std::vector<std::int64_t>{1, 2, 3})) << "those that fail count too";
}

TEST(SharingSimulation, refuses_what_can_never_run) {
    for (const SimulatedJob& j : {job(0, 140, 1), job(0, 1, 1, 2), job(0, 1, 1, 0)})
        expect_error<glint::OptionError>([&] { simulate(server(1, {j}), PolicyKind::polling, 1); },
                                         {"test: ", "needs"});
    expect_error<glint::OptionError>([] { parse_policy("fair"); }, {"fair", "first-fit", "leases"});
    for (const PolicyKind policy : all_policies) EXPECT_EQ(parse_policy(to_name(policy)), policy);
}
