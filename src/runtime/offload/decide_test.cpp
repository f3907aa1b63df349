// Decisions for simulated machines, and the corrections that curves store.
// SPDX-License-Identifier: MIT
#include "offload/decide.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "offload/gpu_forecast.hpp"

namespace glint::offload {
namespace {

constexpr Operation product{"test product", "rows", 3, 2, 1000};
constexpr Operation sum{"test sum", "elements", 1, 1, 0};
constexpr double gigabyte = 1e9;

Work product_of(double n) {
    Work work;
    work.operation = &product, work.size = n, work.flops = 2 * n * n * n, work.bytes = 12 * n * n;
    work.bytes_to_gpu = std::uint64_t(8 * n * n), work.bytes_from_gpu = std::uint64_t(4 * n * n);
    return work;
}

Work on_gpu(Work work) {
    std::swap(work.bytes_to_gpu, work.bytes_to_host), std::swap(work.bytes_from_gpu, work.bytes_to_return);
    return work;
}

/// A GPU a hundred times as fast as the CPU, behind a link of 10 GB/s.
Constants typical() {
    Constants c;
    c.up_pinned = c.down_pinned = 10 * gigabyte, c.up_pageable = c.down_pageable = 5 * gigabyte;
    c.transfer_s = 10e-6, c.launch_s = 5e-6, c.context_s = 0.2;
    c.cpu_flops = 1e11, c.cpu_bytes = 50 * gigabyte, c.gpu_flops = 1e13, c.gpu_bytes = 2000 * gigabyte;
    c.library_s["blas"] = 0.1;
    return c;
}

struct OffloadDecision : ::testing::Test {
    OffloadDecision() : machine({"GPU-1", "580", "a CPU", 8, "1"}, "") {
        machine.set(typical());
        warm.context_open = warm.library_loaded = true;
    }
    Machine machine;
    DecisionInputs warm, cold;
};

// Operands of exactly min_bytes go to the faster side; bytes of the result or of memory traffic do not count.
TEST_F(OffloadDecision, the_least_size_is_one_of_operands) {
    const Work work = product_of(4096);
    warm.min_bytes = work.bytes_to_gpu + 1;
    const Decision below = decide(machine, warm, work);
    EXPECT_EQ(below.choice, Backend::cpu);
    EXPECT_EQ(below.basis, Basis::forced);
    EXPECT_GT(work.bytes, double(warm.min_bytes));
    warm.min_bytes = work.bytes_to_gpu;
    EXPECT_EQ(decide(machine, warm, work).choice, Backend::gpu);
    EXPECT_EQ(decide(machine, warm, on_gpu(product_of(64))).basis == Basis::forced, false) << "operands are there";
    Work without_operands = work;
    without_operands.bytes_to_gpu = 0;
    EXPECT_EQ(decide(machine, warm, without_operands).choice, Backend::cpu) << "the result has half as many bytes";
}

TEST_F(OffloadDecision, a_preferred_gpu_is_used_where_one_can_be) {
    warm.choice = Backend::prefer_gpu;
    EXPECT_EQ(decide(machine, warm, product_of(2)).choice, Backend::gpu);
    EXPECT_EQ(decide(machine, warm, product_of(2)).basis, Basis::forced);
    warm.min_bytes = 1000;
    EXPECT_EQ(decide(machine, warm, product_of(2)).choice, Backend::cpu) << "a limit that the user sets";
    warm.min_bytes = 0, warm.why_no_gpu = "there is none";
    EXPECT_EQ(decide(machine, warm, product_of(8192)).choice, Backend::cpu);
}

TEST_F(OffloadDecision, large_products_go_to_the_gpu_and_small_ones_do_not) {
    EXPECT_EQ(decide(machine, warm, product_of(64)).choice, Backend::cpu);
    const Decision large = decide(machine, warm, product_of(8192));
    EXPECT_EQ(large.choice, Backend::gpu);
    // 2 n^3 / 1e11 against 2 n^3 / 1e13 and 12 n^2 / 5e9, and latencies
    const double n = 8192, by_cpu = 2 * n * n * n / 1e11, by_gpu = 2 * n * n * n / 1e13 + 12 * n * n / 5e9;
    EXPECT_NEAR(large.speedup, by_cpu / by_gpu, 0.01 * by_cpu / by_gpu);
    EXPECT_NEAR(large.cpu.total(), by_cpu, 1e-9);
}

TEST_F(OffloadDecision, a_cold_context_and_library_count_until_they_have_paid_off) {
    Work work = product_of(1024);  // 21 ms on the CPU
    work.library = "blas";
    EXPECT_EQ(decide(machine, warm, work).choice, Backend::gpu);
    const Decision at_first = decide(machine, cold, work);
    EXPECT_EQ(at_first.choice, Backend::cpu);
    EXPECT_DOUBLE_EQ(at_first.gpu.context_s, 0.2);
    EXPECT_DOUBLE_EQ(at_first.gpu.library_s, 0.1);
    cold.forgone_s = 0.3;
    EXPECT_EQ(decide(machine, cold, work).choice, Backend::gpu);
}

TEST_F(OffloadDecision, what_lies_on_the_gpu_stays_there) {
    const Work work = product_of(100);
    EXPECT_EQ(decide(machine, warm, work).choice, Backend::cpu);
    EXPECT_EQ(decide(machine, warm, on_gpu(work)).choice, Backend::gpu);
}

TEST_F(OffloadDecision, an_upload_is_shared_among_those_who_use_it) {
    Work work = product_of(512);
    const double once = decide(machine, warm, work).gpu.upload_s;
    work.expected_reuse = 10;
    EXPECT_NEAR(decide(machine, warm, work).gpu.upload_s, once / 10, 1e-9);
}

TEST_F(OffloadDecision, waiting_and_contention_are_terms) {
    const Work work = product_of(4096);  // 1.4 s on the CPU
    cold.wait_s = 0.5;
    EXPECT_EQ(decide(machine, cold, work).choice, Backend::gpu);
    cold.wait_s = 5;
    EXPECT_EQ(decide(machine, cold, work).choice, Backend::cpu);
    cold.wait_s = 0, cold.contention = 1000;
    EXPECT_EQ(decide(machine, cold, work).choice, Backend::cpu);
}

TEST_F(OffloadDecision, the_size_at_which_it_flips_is_where_both_take_as_long) {
    for (const double n : {64.0, 8192.0}) {
        const double at = break_even_size(machine, warm, product_of(n));
        ASSERT_GT(at, 0);
        const Decision there = decide(machine, warm, scaled(product_of(n), at / n));
        EXPECT_NEAR(there.speedup, 1, 0.02) << "from " << n << " rows, at " << at;
    }
    warm.choice = Backend::cpu;
    EXPECT_EQ(break_even_size(machine, warm, product_of(64)), 0);
}

TEST_F(OffloadDecision, without_measurements_it_goes_by_fixed_rules) {
    const Machine unknown({"GPU-1", "580", "a CPU", 8, "1"}, "");
    cold.threshold_bytes = 10'000'000;
    EXPECT_EQ(decide(unknown, cold, product_of(1000)).choice, Backend::cpu);
    EXPECT_EQ(decide(unknown, cold, product_of(1001)).choice, Backend::gpu);
    Work work;
    work.operation = &sum, work.size = 1e6, work.bytes_to_gpu = 10'000'000;
    EXPECT_EQ(decide(unknown, cold, work).choice, Backend::cpu);
    work.bytes_to_gpu += 1;
    const Decision large = decide(unknown, cold, work);
    EXPECT_EQ(large.choice, Backend::gpu);
    EXPECT_EQ(large.basis, Basis::rules);
    EXPECT_NE(large.reason().find("by a fixed rule"), std::string::npos) << large.reason();
}

TEST_F(OffloadDecision, a_wait_beyond_what_is_allowed_leaves_the_cpu) {
    cold.wait_s = 2, cold.timeout_s = 1;
    const Decision late = decide(machine, cold, product_of(16384));
    EXPECT_EQ(late.choice, Backend::cpu);
    EXPECT_EQ(late.basis, Basis::forced);
    EXPECT_NE(late.reason().find("gpu_timeout"), std::string::npos) << late.reason();
    cold.timeout_s = 2;
    EXPECT_EQ(decide(machine, cold, product_of(16384)).choice, Backend::gpu);
    cold.timeout_s = 1, cold.choice = Backend::gpu;
    EXPECT_EQ(decide(machine, cold, product_of(16384)).choice, Backend::gpu) << "it was asked for";
    warm.wait_s = 2, warm.timeout_s = 1;
    EXPECT_EQ(decide(machine, warm, product_of(16384)).choice, Backend::gpu) << "nothing is waited for";
}

TEST_F(OffloadDecision, without_measurements_a_wait_can_be_ruled_out) {
    const Machine unknown({"GPU-1", "580", "a CPU", 8, "1"}, "");
    cold.unmeasured_timeout_s = 0;
    EXPECT_EQ(decide(unknown, cold, product_of(1001)).choice, Backend::gpu);
    cold.wait_s = 0.1;
    EXPECT_EQ(decide(machine, cold, product_of(16384)).choice, Backend::gpu);
    const Decision taken = decide(unknown, cold, product_of(1001));
    EXPECT_EQ(taken.choice, Backend::cpu);
    EXPECT_NE(taken.reason().find("no GPU has room now"), std::string::npos) << taken.reason();
}

TEST_F(OffloadDecision, what_is_asked_for_is_done_and_said) {
    warm.choice = Backend::gpu;
    EXPECT_EQ(decide(machine, warm, product_of(2)).choice, Backend::gpu);
    warm.why_no_gpu = "it is away";  // a GPU or an error
    const Decision asked = decide(machine, warm, product_of(2));
    EXPECT_EQ(asked.choice, Backend::gpu);
    EXPECT_NE(asked.reason().find("it is away"), std::string::npos) << asked.reason();
    warm.choice = Backend::prefer_gpu;
    EXPECT_EQ(decide(machine, warm, product_of(8192)).choice, Backend::cpu);
    warm.choice = Backend::automatic;
    const Decision away = decide(machine, warm, product_of(8192));
    EXPECT_EQ(away.choice, Backend::cpu);
    EXPECT_NE(away.reason().find("it is away"), std::string::npos);
    warm.why_no_gpu = nullptr, warm.min_bytes = std::uint64_t(1) << 40;
    EXPECT_EQ(decide(machine, warm, product_of(8192)).choice, Backend::cpu);
    EXPECT_EQ(decide(machine, warm, on_gpu(product_of(8192))).choice, Backend::gpu) << "it lies there";
}

// A CPU is ten times slower than estimated. After a few runs this is known, also for similar sizes.
TEST_F(OffloadDecision, runs_teach_it) {
    const Work work = product_of(100);
    EXPECT_EQ(decide(machine, warm, work).choice, Backend::cpu);
    const double truth = 10 * decide(machine, warm, work).cpu.total();
    for (int k = 0; k < 20; ++k) machine.learn(work, Backend::cpu, truth);
    const Decision taught = decide(machine, warm, work);
    EXPECT_NEAR(taught.cpu.total(), truth, 0.01 * truth);
    EXPECT_EQ(taught.choice, Backend::gpu);
    EXPECT_NEAR(decide(machine, warm, product_of(110)).cpu.total(), truth * std::pow(1.1, 3), 0.05 * truth);
}

TEST_F(OffloadDecision, transfers_are_learned_apart_from_computing) {
    const Work moved = product_of(1000), resident = on_gpu(moved);
    const double computing = decide(machine, warm, resident).gpu.total();
    for (int k = 0; k < 20; ++k) machine.learn(moved, Backend::gpu, 2 * decide(machine, warm, moved).gpu.total());
    EXPECT_DOUBLE_EQ(decide(machine, warm, resident).gpu.total(), computing);
    EXPECT_GT(decide(machine, warm, moved).gpu.total(), 10 * computing);
}

TEST_F(OffloadDecision, one_run_that_was_held_up_does_not_turn_it_around) {
    const Work work = product_of(2000);
    for (int k = 0; k < 50; ++k) machine.learn(work, Backend::gpu, decide(machine, warm, work).gpu.total());
    const double before = decide(machine, warm, work).gpu.total();
    machine.learn(work, Backend::gpu, 1000 * before);
    EXPECT_LT(decide(machine, warm, work).gpu.total(), 2 * before);
}

// A run on the CPU, without a GPU or with another GPU, also counts as the CPU's time beside this GPU.
TEST(OffloadMachine, of_a_gpu_takes_the_cpu_s_speed_from_the_model_without_one) {
    const auto cpu = std::make_shared<Machine>(MachineKey{"", "", "a CPU", 8, "1"}, "");
    const Machine with_gpu({"GPU-1", "580", "a CPU", 8, "1"}, "", cpu);
    Machine with_another({"GPU-2", "580", "a CPU", 8, "1"}, "", cpu);
    const Work work = product_of(1000);
    EXPECT_FALSE(with_gpu.knows(work, Backend::cpu));
    cpu->learn(work, Backend::cpu, 3);
    EXPECT_TRUE(with_gpu.knows(work, Backend::cpu));
    EXPECT_NEAR(with_gpu.estimate(work).cpu.total(), 3, 1e-6);
    with_another.learn(work, Backend::cpu, 2);
    EXPECT_NEAR(with_gpu.estimate(work).cpu.total(), 2, 1e-6);
    EXPECT_EQ(with_gpu.runs(work, Backend::cpu), 2u);
    with_another.learn(work, Backend::gpu, 1);
    with_another.learn(on_gpu(work), Backend::cpu, 4);  // with transfers, which depend on the GPU
    EXPECT_FALSE(with_gpu.knows(work, Backend::gpu));
    EXPECT_EQ(with_gpu.runs(on_gpu(work), Backend::cpu), 0u);
}

TEST(OffloadMachine, keeps_what_was_measured_for_the_same_machine_only) {
    const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "glint-offload-cache";
    std::filesystem::remove_all(folder);
    const MachineKey key{"GPU-1", "580", "a CPU", 8, "1"};
    double learned = 0;
    {
        Machine machine(key, folder);
        machine.set(typical());
        machine.learn(product_of(100), Backend::cpu, 1);
        learned = machine.estimate(product_of(100)).cpu.total();
        EXPECT_TRUE(machine.save());
    }
    EXPECT_DOUBLE_EQ(Machine(key, folder).estimate(product_of(100)).cpu.total(), learned);
    EXPECT_DOUBLE_EQ(Machine(key, folder).constants().library_s.at("blas"), 0.1);
    for (MachineKey other : {MachineKey{"GPU-1", "581", "a CPU", 8, "1"}, MachineKey{"GPU-1", "580", "b CPU", 8, "1"},
                             MachineKey{"GPU-1", "580", "a CPU", 4, "1"}, MachineKey{"GPU-1", "580", "a CPU", 8, "2"}})
        EXPECT_FALSE(Machine(other, folder).constants().gpu_measured());

    const std::filesystem::path file = Machine(key, folder).file();
    const auto size = std::filesystem::file_size(file);
    for (const std::uintmax_t cut : {size - 2, size / 2, std::uintmax_t(1), std::uintmax_t(0)}) {
        std::filesystem::resize_file(file, cut);
        EXPECT_FALSE(Machine(key, folder).constants().gpu_measured()) << "cut off at " << cut;
    }
    std::filesystem::remove_all(folder);
    std::ofstream(folder) << "a file where the folder should be";
    Machine nowhere(key, folder);
    nowhere.set(typical());
    EXPECT_FALSE(nowhere.save());
    EXPECT_TRUE(nowhere.constants().gpu_measured());
    std::filesystem::remove(folder);
}

TEST(OffloadCurve, interpolates_between_what_it_knows) {
    Curve curve;
    EXPECT_DOUBLE_EQ(curve.ratio(1000), 1);
    EXPECT_TRUE(std::isinf(curve.octaves_off(1000)));
    curve.learn(1 << 10, 2);
    curve.learn(1 << 14, 8);
    EXPECT_NEAR(curve.ratio(1 << 12), 4, 1e-5);
    EXPECT_NEAR(curve.ratio(1 << 5), 2, 1e-5);
    EXPECT_NEAR(curve.ratio(1 << 20), 8, 1e-5);
    EXPECT_NEAR(curve.octaves_off(1 << 12), 2, 1e-5);
    curve.learn(1 << 10, 0);
    curve.learn(1 << 10, NAN);
    EXPECT_NEAR(curve.ratio(1 << 10), 2, 1e-5) << "no time is none";
}

gpu::LeaseGpu gpu_with(std::uint64_t available, std::vector<std::pair<std::uint64_t, double>> holders) {
    gpu::LeaseGpu of;
    of.uuid = "GPU-1", of.available_bytes = available;
    for (const auto& [bytes, since_s] : holders) {
        gpu::LeaseHolder holder;
        holder.reserved_bytes = bytes, holder.since_s = since_s;
        of.holders.push_back(holder);
    }
    return of;
}

TEST(OffloadForecast, expects_holders_to_stay_as_long_again) {
    gpu::Inventory inventory;
    gpu::Device device;
    device.uuid = "GPU-1", device.ordinal = 0;
    inventory.devices = {device};
    gpu::LeaseSnapshot leases;
    leases.gpus = {gpu_with(100, {{50, 7}})};
    EXPECT_EQ(forecast(inventory, leases, 100).wait_s, 0);
    leases.gpus = {gpu_with(10, {{50, 7}, {60, 20}})};
    EXPECT_EQ(forecast(inventory, leases, 60).wait_s, 7);
    EXPECT_EQ(forecast(inventory, leases, 120).wait_s, 20);
    EXPECT_GE(forecast(inventory, leases, 1000).wait_s, 60) << "foreign processes hold the memory";
    gpu::LeaseWaiter waiter;
    waiter.candidates = {"GPU-1"}, waiter.awake = true;
    leases.waiters = {waiter, waiter};
    EXPECT_EQ(forecast(inventory, leases, 60).wait_s, 21) << "two come before";
    inventory.devices[0].why_not = "it is broken";
    EXPECT_FALSE(forecast(inventory, leases, 60).why_no_gpu.empty());
}

TEST(HeedSample, changes_the_choice_where_the_work_is_unlike_that_before) {
    const auto choice = [](double sample_s, Backend by_size, double cpu_s, double gpu_s, Basis basis) {
        Decision decision;
        decision.choice = by_size, decision.basis = basis;
        decision.cpu.compute_s = cpu_s, decision.gpu.compute_s = gpu_s;
        update_decision(sample_s, decision);
        return decision.choice;
    };
    EXPECT_EQ(choice(0.2, Backend::gpu, 2, 0.6, Basis::measured), Backend::cpu);
    EXPECT_EQ(choice(0.5, Backend::gpu, 2, 0.6, Basis::measured), Backend::gpu);
    EXPECT_EQ(choice(1.5, Backend::cpu, 1, 1.2, Basis::measured), Backend::cpu);
    EXPECT_EQ(choice(12, Backend::cpu, 1, 1.2, Basis::measured), Backend::gpu);
    EXPECT_EQ(choice(0.5, Backend::cpu, 0, 0, Basis::rules), Backend::cpu);
    EXPECT_EQ(choice(12, Backend::cpu, 0, 0, Basis::rules), Backend::gpu);
    EXPECT_EQ(choice(0.3, Backend::gpu, 0, 0, Basis::rules), Backend::cpu) << "before a GPU is open";
    EXPECT_EQ(choice(0.5, Backend::gpu, 0, 0, Basis::rules), Backend::gpu);
    EXPECT_EQ(choice(12, Backend::cpu, 1, 0, Basis::forced), Backend::cpu);
    EXPECT_EQ(choice(17, Backend::cpu, 0.3, 13, Basis::estimated), Backend::gpu);
    EXPECT_EQ(choice(12, Backend::cpu, 0.3, 13, Basis::estimated), Backend::cpu);
}

}  // namespace
}  // namespace glint::offload
