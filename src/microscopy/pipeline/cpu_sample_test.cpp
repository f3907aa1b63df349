// The sample of a movie's frames, and when it overrules the cost model.
// SPDX-License-Identifier: MIT
#include "pipeline/cpu_sample.hpp"

#include "tests/localize_fixture.hpp"

namespace glint {
namespace {

using SampleCpu = test::Pipeline;

TEST_F(SampleCpu, takes_a_frame_for_each_thread) {
    const auto whole = movie();
    const Job job = make_job(whole->info(), camera(), options(3));
    const CpuSample sample = sample_cpu(*whole, job, frames, false, true);
    EXPECT_EQ(sample.frames, 3);
    EXPECT_GT(sample.seconds, 0);
}

TEST_F(SampleCpu, takes_none_where_that_is_much_of_the_movie_unless_asked) {
    const auto whole = movie();
    const Job job = make_job(whole->info(), camera(), options(4));
    EXPECT_EQ(sample_cpu(*whole, job, frames, false, true).frames, 0);
    EXPECT_EQ(sample_cpu(*whole, job, frames, true, false).frames, 4);
}

TEST_F(SampleCpu, is_of_the_frames_that_a_resumed_run_has_left) {
    const auto whole = movie();
    const Job job = make_job(whole->info(), camera(), options(1));
    EXPECT_EQ(sample_cpu(*whole, job, 19, false, false).frames, 0) << "a twentieth of them would be less than one";
    // Of a millionth of the frames a millionth of the time: that measured varies by far less.
    EXPECT_LT(1000 * sample_cpu(*whole, job, 20, true, true).seconds,
              sample_cpu(*whole, job, 20'000'000, true, true).seconds);
}

TEST_F(SampleCpu, knows_nothing_where_a_frame_cannot_be_read) {
    TroubledMovie damaged(frames / 6, nullptr);  // the first of three
    EXPECT_EQ(sample_cpu(damaged, make_job(damaged.info(), camera(), options(3)), frames, false, false).frames, 0);
}

offload::Decision decision(Backend choice, double cpu_s, double gpu_s, offload::Basis basis) {
    offload::Decision decision;
    decision.choice = choice, decision.basis = basis;
    decision.cpu.compute_s = cpu_s, decision.gpu.compute_s = gpu_s;
    return decision;
}

TEST(HeedSample, changes_the_choice_where_the_movie_is_unlike_those_before) {
    using offload::Basis;
    const auto choice = [](double sample_s, offload::Decision by_size) {
        heed({16, sample_s}, by_size);
        return by_size.choice;
    };
    const auto on_gpu = decision(Backend::gpu, 2, 0.6, Basis::measured);
    EXPECT_EQ(choice(0.2, on_gpu), Backend::cpu);
    EXPECT_EQ(choice(0.5, on_gpu), Backend::gpu);
    const auto on_cpu = decision(Backend::cpu, 1, 1.2, Basis::measured);
    EXPECT_EQ(choice(1.5, on_cpu), Backend::cpu);
    EXPECT_EQ(choice(12, on_cpu), Backend::gpu);
    EXPECT_EQ(choice(0.5, decision(Backend::cpu, 0, 0, Basis::rules)), Backend::cpu);
    EXPECT_EQ(choice(12, decision(Backend::cpu, 0, 0, Basis::rules)), Backend::gpu);
    EXPECT_EQ(choice(12, decision(Backend::cpu, 1, 0, Basis::forced)), Backend::cpu);
    const auto crowds_on_gpu = decision(Backend::cpu, 0.3, 13, Basis::estimated);
    EXPECT_EQ(choice(17, crowds_on_gpu), Backend::gpu);
    EXPECT_EQ(choice(12, crowds_on_gpu), Backend::cpu);
    auto none = on_gpu;
    heed({}, none);
    EXPECT_EQ(none.choice, Backend::gpu);
}

}  // namespace
}  // namespace glint
