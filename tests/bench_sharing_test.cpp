// `glint bench sharing --simulate` as a user runs it.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/run_program.hpp"

using namespace glint::test;

namespace {

class BenchSharing : public ::testing::Test {
  protected:
    Ended simulate(const std::string& arguments) {
        return run(folder_, "exec glint bench sharing --simulate " + arguments);
    }
    nlohmann::json rows(const std::string& arguments) {
        const Ended end = simulate(arguments + " --json -q");
        EXPECT_EQ(end.exit_code, 0) << end.err;
        EXPECT_EQ(end.err, "");
        return nlohmann::json::parse(end.out, nullptr, false);
    }
    void expect_fails(const std::string& arguments, int code, const std::string& because) {
        const Ended end = simulate(arguments);
        EXPECT_EQ(end.exit_code, code) << arguments << "\n" << end.err;
        EXPECT_NE(end.err.find(because), std::string::npos) << end.err;
        EXPECT_EQ(end.out, "");
    }
    TemporaryFolder folder_;
};

}  // namespace

TEST_F(BenchSharing, a_row_for_each_policy_and_workload) {
    const nlohmann::json four = rows("small");
    ASSERT_EQ(four.size(), 4u);
    for (const auto& row : four) {
        EXPECT_EQ(row["workload"], "small");
        EXPECT_EQ(row["jobs"], 2000);
        EXPECT_EQ(row["gpus"], 8);
        EXPECT_GE(row["makespan_over_bound"], 1.0);
    }
    EXPECT_EQ(four[0]["policy"], "naive");
    EXPECT_EQ(four[3]["policy"], "leases");
    EXPECT_EQ(rows("small gangs --policy polling --policy leases").size(), 4u);
    EXPECT_EQ(rows("--policy leases").size(), 8u) << "all that are built in";
    EXPECT_EQ(rows("small --policy leases"), rows("small --policy leases"));
    EXPECT_NE(rows("small --policy leases"), rows("small --policy leases --seed 2"));
    EXPECT_GT(rows("small --policy naive --gpus 1 --gpu-memory 8GiB")[0]["failures"], 0);
}

TEST_F(BenchSharing, a_table_on_stdout_and_words_on_stderr) {
    folder_.write("mine.toml", "jobs = [{user = \"me\", count = 3, at_s = 0, memory_gib = 70, compute_s = 60}]");
    const Ended end = simulate("mine.toml --gpus 1 --policy leases");
    EXPECT_EQ(end.exit_code, 0);
    EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), 2) << end.out;
    EXPECT_NE(end.out.find("\nmine       leases"), std::string::npos) << end.out;
    EXPECT_NE(end.err.find("mine (jobs 3, users 1, GPUs 1 of 140 GiB)"), std::string::npos) << end.err;
    EXPECT_EQ(end.err.find("localizations"), std::string::npos) << end.err;
    EXPECT_EQ(simulate("mine.toml -q").err, "");
}

TEST_F(BenchSharing, wrong_input_is_refused_before_anything_is_simulated) {
    folder_.write("bad.toml", "jobs = [\n  {count = 3, at_s = 0, memory_gib = 700, compute_s = 60}\n]");
    expect_fails("day bad.toml", 3, "bad.toml:2:38: memory_gib goes to 700, and a GPU has 140");
    expect_fails("dya", 2, "neither a file nor a workload that is built in: burst,");
    expect_fails("day --gpus 1", 3, "the server has 1");
    expect_fails("day --gpus 0", 2, "--gpus");
    expect_fails("day --gpus 17", 2, "--gpus");
    expect_fails("day --policy fair", 2, "no policy fair: there are naive");
    expect_fails("day --gpu-memory 50%", 2, "bytes are expected");
    expect_fails("day --gpu-memory lots", 2, "--gpu-memory=lots");
    expect_fails("day --gpu-memory 1KiB", 3, "a GPU has");
    expect_fails("day --seed -1", 2, "--seed");
    EXPECT_EQ(run(folder_, "exec glint bench sharing").exit_code, 2) << "what is to be simulated?";
}
