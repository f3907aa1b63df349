// Simulates rules for the queue of `glint submit`: their effect on short jobs and on all other jobs
// (docs/decisions/0122-short-jobs.md). Prints the statistics; with TEST_THOROUGH=1, those of 100 draws.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "bench/sharing/sharing_policy.hpp"
#include "glint/environment.hpp"
#include "tests/sharing_fixture.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thorough.hpp"

using namespace glint::sharing;
using namespace glint::sharing::test;
using glint::test::sample;
using glint::test::TemporaryFolder;

namespace {

/// As many jobs of a user run as the server has GPUs, in the order of their numbers. The members are exceptions:
struct Rule {
    const char* name;
    int overtakes = 0;  ///< how often a job may be overtaken by short ones
    int reserved = 0;   ///< slots that only short jobs may use
    int own = 0;        ///< additional slots for short jobs, at most the number of GPUs
};
constexpr int any_number = 1'000'000;
constexpr Rule in_order{"in order"}, short_first{"short first", any_number}, eight_overtakes{"eight overtakes", 8},
    one_reserved{"one slot reserved", any_number, 1}, one_more{"one slot more", 0, 0, 1},
    own_queue{"own queue", 0, 0, max_gpus};
constexpr Rule all_rules[] = {in_order, short_first, eight_overtakes, one_reserved, one_more, own_queue};

/// Which jobs are declared short.
using Said = std::vector<bool>;

/// A queue per user: only jobs that the queue lets run wait for leases.
class JobQueues final : public SharingPolicy {
  public:
    JobQueues(Stage& stage, const Rule& rule, const Said& said)
        : stage_(stage),
          rule_(rule),
          said_(said),
          leases_(lease_policy(stage, glint::environment::gpu_quantum_s())),
          overtaken_(said.size()) {}

    bool creates_contexts_one_at_a_time() const override { return leases_->creates_contexts_one_at_a_time(); }
    void arrived(int job) override {
        queue_of(job).waiting.push_back(job);
        start(queue_of(job));
    }
    void lost(int job) override { leases_->lost(job); }
    void computed(int job) override { leases_->computed(job); }
    void released(int job) override {
        --queue_of(job).running[said_[std::size_t(job)]];
        leases_->released(job);
        start(queue_of(job));
    }
    void foreign_processes_changed() override { leases_->foreign_processes_changed(); }
    void woken(int token) override { leases_->woken(token); }

  private:
    struct Queue {
        std::vector<int> waiting;  // in the order of numbers
        int running[2] = {};       // other jobs, short jobs
    };
    using Place = std::vector<int>::iterator;

    Queue& queue_of(int job) { return queues_[stage_.job(job).user]; }
    int slots() const { return int(stage_.gpus().size()); }

    void start(Queue& queue) {
        for (Place next; (next = next_of(queue)) != queue.waiting.end();) {
            const int job = *next;
            for (Place before = queue.waiting.begin(); before != next; ++before) ++overtaken_[std::size_t(*before)];
            queue.waiting.erase(next);
            ++queue.running[said_[std::size_t(job)]];
            leases_->arrived(job);
        }
    }

    Place next_of(Queue& queue) {
        const auto first = [&](bool is_short) {
            return std::find_if(queue.waiting.begin(), queue.waiting.end(),
                                [&](int job) { return said_[std::size_t(job)] == is_short; });
        };
        const auto [others, short_ones] = queue.running;
        const Place other = first(false), short_one = first(true), none = queue.waiting.end();
        if (rule_.own) {
            if (short_one != none && short_ones < std::min(rule_.own, slots())) return short_one;
            return others < slots() ? other : none;
        }
        if (others + short_ones >= slots()) return none;
        if (short_one < other) return short_one;
        if (short_one != none && overtaken_[std::size_t(*other)] < rule_.overtakes) return short_one;
        return others < std::max(slots() - rule_.reserved, 1) ? other : none;
    }

    Stage& stage_;
    const Rule rule_;
    const Said& said_;
    const std::unique_ptr<SharingPolicy> leases_;
    std::vector<int> overtaken_;   // how often each job was overtaken
    std::map<int, Queue> queues_;  // by user
};

Outcome simulate_rule(const Workload& workload, const Rule& rule, const Said& said) {
    return simulate(
        workload, [&](Stage& stage) { return std::make_unique<JobQueues>(stage, rule, said); }, 1);
}

bool is_short(const SimulatedJob& job) { return job.compute_s < 30; }

/// Declares all short jobs short, and some other jobs at random.
Said said_of(const Workload& workload, double wrongly, std::uint64_t seed) {
    RandomNumbers random(seed + 1000);  // independent of the draw of the workload
    Said said;
    for (const SimulatedJob& job : workload.jobs) said.push_back(random.uniform() < wrongly || is_short(job));
    return said;
}

double quantile(std::vector<double> values, double q) {
    const auto nth =
        values.begin() + std::max<std::ptrdiff_t>(std::ptrdiff_t(std::ceil(q * double(values.size()))) - 1, 0);
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
}

/// Statistics of one simulation, or their medians over several simulations. Jobs count by their true length, not by
/// their declaration.
struct JobFigures {
    double short_median_s = 0, short_p95_s = 0, short_longest_s = 0;  ///< from arrival until it computes
    double other_mean_s = 0;                                          ///< from arrival to result
    double other_longest_s = 0;                                       ///< from arrival until it computes
};

JobFigures figures_of(const Workload& workload, const Outcome& outcome) {
    std::vector<double> short_waits_s, other_waits_s, other_times_s;
    for (std::size_t k = 0; k < workload.jobs.size(); ++k) {
        const SimulatedJob& job = workload.jobs[k];
        const JobRun& run = outcome.runs[k];
        (is_short(job) ? short_waits_s : other_waits_s).push_back(run.starts_s - job.arrives_s);
        if (!is_short(job)) other_times_s.push_back(run.finishes_s - job.arrives_s);
    }
    return {quantile(short_waits_s, 0.5), quantile(short_waits_s, 0.95), quantile(short_waits_s, 1),
            std::accumulate(other_times_s.begin(), other_times_s.end(), 0.0) / double(other_times_s.size()),
            quantile(other_waits_s, 1)};
}

// The jobs of one account of `glint submit`: the movies of a day, folder by folder, and short jobs in between. The jobs
// use 74 % of the GPU's time.
constexpr const char* workstation = R"(
gpus = 1
memory_gib = 24
jobs = [
  {count = 30, at_s = [0, 60], memory_gib = [1, 4], compute_s = [60, 600], gives_way = true},
  {count = 30, at_s = [18000, 18060], memory_gib = [1, 4], compute_s = [60, 600], gives_way = true},
  {count = 3, at_s = [0, 30000], memory_gib = [2, 8], compute_s = [1800, 5400], gives_way = true},
  {count = 100, at_s = [0, 36000], memory_gib = [1, 2], compute_s = [1, 20], gives_way = true},
]
)";

/// "full": a short job does not fit beside another job. "kept": in addition, the other jobs do not give way.
Workload drawn(const std::string& name, std::uint64_t seed) {
    if (name != "workstation" && name != "full" && name != "kept") return draw_workload(name, seed);
    const TemporaryFolder folder;
    Workload w = draw_workload(folder.write(name + ".toml", workstation).string(), seed);
    for (SimulatedJob& job : w.jobs) {
        if (name != "workstation") job.bytes = (is_short(job) ? 8 : 18) * gib;
        job.gives_way = name != "kept" || is_short(job);
    }
    return w;
}

/// Prints a row of the table.
JobFigures medians(const std::string& workload, const Rule& rule, double wrongly = 0) {
    std::vector<JobFigures> draws;
    for (std::uint64_t seed = 1; seed <= std::uint64_t(sample(100)); ++seed) {
        const Workload w = drawn(workload, seed);
        draws.push_back(figures_of(w, simulate_rule(w, rule, said_of(w, wrongly, seed))));
    }
    const auto median = [&](double JobFigures::*figure) {
        std::vector<double> values;
        for (const JobFigures& f : draws) values.push_back(f.*figure);
        return quantile(values, 0.5);
    };
    const JobFigures f{median(&JobFigures::short_median_s), median(&JobFigures::short_p95_s),
                       median(&JobFigures::short_longest_s), median(&JobFigures::other_mean_s),
                       median(&JobFigures::other_longest_s)};
    std::printf(
        "%-11s, %2.0f %% said wrongly, %-17s: short: median %7.2f s, p95 %7.2f, longest %5.0f; "
        "others: mean %5.0f, longest wait %5.0f\n",
        workload.c_str(), 100 * wrongly, rule.name, f.short_median_s, f.short_p95_s, f.short_longest_s, f.other_mean_s,
        f.other_longest_s);
    return f;
}

std::vector<double> starts_of(const Workload& workload, const Rule& rule, const Said& said) {
    std::vector<double> starts_s;
    for (const JobRun& run : simulate_rule(workload, rule, said).runs) starts_s.push_back(run.starts_s);
    return starts_s;
}

}  // namespace

// Two GPUs, three jobs of 100, 200 and 300 s, and two short jobs that arrive later.
TEST(JobQueues, by_hand) {
    const Workload w = server(2, {job(0, 8, 100), job(0, 8, 200), job(1, 8, 300), job(2, 8, 10), job(3, 8, 10)});
    const Said said = {false, false, false, true, true};
    constexpr double near_s = 1.5;  // margin for creating contexts
    const auto expect_starts = [&](const Rule& rule, const std::vector<double>& expected_s) {
        const std::vector<double> starts_s = starts_of(w, rule, said);
        for (std::size_t k = 0; k < expected_s.size(); ++k)
            EXPECT_NEAR(starts_s[k], expected_s[k], near_s) << rule.name << ", job " << k;
    };
    expect_starts(in_order, {0, 0, 100, 200, 210});
    expect_starts(short_first, {0, 0, 120, 100, 110});
    expect_starts({"one overtake", 1}, {0, 0, 110, 100, 200});
    expect_starts(one_reserved, {0, 100, 300, 2, 12});
    expect_starts(own_queue, {0, 0, 110, 2, 3});  // each shares a GPU with another job for 20 s
    expect_starts(one_more, {0, 0, 120, 2, 22});  // both beside the same job, one after the other
}

TEST(JobQueues, users_have_each_their_own) {
    const Workload w = server(1, {job(0, 8, 100), job(1, 8, 10, 1, 1), job(2, 8, 10)});
    const std::vector<double> starts_s = starts_of(w, in_order, Said(3));
    EXPECT_LT(starts_s[1], 2);
    EXPECT_GT(starts_s[2], 100);
}

TEST(JobQueues, who_says_short_of_all_gains_nothing) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Workload w = random_workload(seed);
        const Said all(w.jobs.size(), true), none(w.jobs.size());
        for (const Rule& rule : {short_first, eight_overtakes, one_reserved, own_queue})
            EXPECT_EQ(starts_of(w, rule, all), starts_of(w, in_order, none)) << rule.name << ' ' << seed;
        EXPECT_EQ(starts_of(w, short_first, none), starts_of(w, own_queue, none)) << seed;
    }
}

// The cost of the queue for short jobs, and the waits under the other rules, agree with docs/benchmarks.md.
TEST(JobQueues, a_queue_of_their_own_is_what_short_jobs_need) {
    for (const char* workload : {"workstation", "day", "crowded"}) {
        std::map<std::string, JobFigures> of;
        for (const Rule& rule : all_rules) of[rule.name] = medians(workload, rule);
        const JobFigures before = of[in_order.name], now = of[own_queue.name];
        EXPECT_GT(before.short_p95_s, 300) << workload;
        EXPECT_LT(now.short_p95_s, 1) << workload;
        EXPECT_LT(now.other_mean_s, 1.05 * before.other_mean_s) << workload;
        EXPECT_LT(now.other_longest_s, 1.1 * before.other_longest_s) << workload;
        for (const Rule& rule : {short_first, eight_overtakes, one_reserved})
            EXPECT_GT(of[rule.name].short_p95_s, 30 * now.short_p95_s) << workload << ", " << rule.name;
        const JobFigures mistaken = medians(workload, own_queue, 0.05);
        EXPECT_LT(mistaken.short_p95_s, 0.1 * before.short_p95_s) << workload;
        EXPECT_LT(mistaken.other_longest_s, 1.2 * before.other_longest_s) << workload;
        EXPECT_LT(medians(workload, own_queue, 0.5).other_longest_s, 1.2 * before.other_longest_s) << workload;
    }
}

// In this case leases decide: a fit gives way after its quantum, most of which has passed. Other programs keep the GPU.
TEST(JobQueues, where_memory_has_no_room_for_both_fits_give_way) {
    const double before_s = medians("full", in_order).short_p95_s;
    const double now_s = medians("full", own_queue).short_p95_s, kept_s = medians("kept", own_queue).short_p95_s;
    EXPECT_LT(now_s, glint::environment::gpu_quantum_s());
    EXPECT_GT(kept_s, 100 * now_s);
    EXPECT_LT(kept_s, before_s);
}

// A simultaneous burst of a hundred jobs of each user: short jobs wait only for short jobs.
TEST(JobQueues, a_burst_is_sorted) {
    const JobFigures before = medians("burst", in_order), now = medians("burst", own_queue);
    EXPECT_LT(now.short_p95_s, 0.3 * before.short_p95_s);
    EXPECT_LT(now.other_mean_s, 1.1 * before.other_mean_s);
}
