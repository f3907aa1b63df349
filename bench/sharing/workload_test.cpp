// Tests of draws from a file, of the built-in files, and of invalid files.
// SPDX-License-Identifier: MIT
#include "bench/sharing/workload.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "bench/sharing/context_costs.hpp"
#include "glint/error.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint::sharing;
using glint::InputError;
using glint::OptionError;
using glint::test::expect_error;

namespace {

constexpr double gib = 1 << 30;

class SharingWorkload : public ::testing::Test {
  protected:
    Workload draw(const std::string& text, std::uint64_t seed = 1, const ServerOptions& server = {}) {
        return draw_workload(folder_.write("w.toml", text).string(), seed, server);
    }
    /// Writes a file with one group of jobs, with `what` instead of the key's default value, and expects an error.
    void expect_refused(const std::string& key, const std::string& what, std::initializer_list<const char*> parts) {
        std::string group;
        for (const auto& [name, value] : {std::pair("user", "\"a\""),
                                          {"count", "3"},
                                          {"at_s", "[0, 10]"},
                                          {"gpus", "1"},
                                          {"memory_gib", "[1, 8]"},
                                          {"compute_s", "5"}})
            if (name != key || !what.empty())
                group += fmt::format("{}{} = {}", group.empty() ? "" : ", ", name, name == key ? what : value);
        SCOPED_TRACE(group);
        expect_error<InputError>([&] { draw("jobs = [\n{" + group + "}\n]"); }, parts);
        expect_error<InputError>([&] { draw("jobs = [\n{" + group + "}\n]"); }, {"w.toml:2:", key.c_str()});
    }
    glint::test::TemporaryFolder folder_;
};

}  // namespace

TEST_F(SharingWorkload, one_value_is_what_is_drawn) {
    const Workload w = draw(R"(
        about = "two jobs"
        gpus = 4
        memory_gib = 80
        jobs = [
            {user = "b", count = 1, at_s = 7.5, memory_gib = 2, compute_s = 30, gpus = 3},
            {user = "a", count = 1, at_s = 1, memory_gib = 0.5, compute_s = 0.25},
        ]
        strangers = [{count = 1, at_s = 3, for_s = 4, memory_gib = 10, computes = true}])");
    EXPECT_EQ(w.name, "w");
    EXPECT_EQ(w.about, "two jobs");
    EXPECT_EQ(w.gpus, 4);
    EXPECT_EQ(double(w.gpu_bytes), 80 * gib);
    ASSERT_EQ(w.jobs.size(), 2u);
    EXPECT_EQ(w.jobs[0].arrives_s, 1) << "in the order of arrival";
    EXPECT_EQ(w.users[std::size_t(w.jobs[0].user)], "a");
    EXPECT_EQ(double(w.jobs[0].bytes), 0.5 * gib);
    EXPECT_EQ(w.jobs[0].compute_s, 0.25);
    EXPECT_EQ(w.jobs[0].gpus, 1);
    EXPECT_EQ(w.users[std::size_t(w.jobs[1].user)], "b");
    EXPECT_EQ(w.jobs[1].gpus, 3);
    ASSERT_EQ(w.foreign_processes.size(), 1u);
    EXPECT_EQ(w.foreign_processes[0].comes_s, 3);
    EXPECT_EQ(w.foreign_processes[0].goes_s, 7);
    EXPECT_TRUE(w.foreign_processes[0].computes);
    EXPECT_EQ(double(w.foreign_processes[0].bytes), 10 * gib);
}

// A uniform variate's mean has the standard deviation (high - low) / sqrt(12 n).
TEST_F(SharingWorkload, ranges_are_drawn_evenly_and_by_doublings) {
    const Workload w = draw(
        "jobs = [{user = \"a\", users = 4, count = 2500, at_s = [100, 200], memory_gib = [1, 16], "
        "compute_s = [0.1, 1000]}]");
    const double n = double(w.jobs.size()), four_errors = 4 / std::sqrt(12 * n);
    EXPECT_EQ(n, 10000);
    EXPECT_EQ(w.users, (std::vector<std::string>{"a 1", "a 2", "a 3", "a 4"}));
    double at = 0, doublings = 0, decades = 0;
    for (const SimulatedJob& j : w.jobs) {
        EXPECT_TRUE(j.arrives_s >= 100 && j.arrives_s <= 200);
        EXPECT_TRUE(j.bytes >= std::uint64_t(gib) && j.bytes <= std::uint64_t(16 * gib));
        EXPECT_TRUE(j.compute_s >= 0.1 && j.compute_s <= 1000);
        at += (j.arrives_s - 100) / 100 / n;
        doublings += std::log2(double(j.bytes) / gib) / 4 / n;
        decades += (std::log10(j.compute_s) + 1) / 4 / n;
    }
    EXPECT_NEAR(at, 0.5, four_errors);
    EXPECT_NEAR(doublings, 0.5, four_errors + 1e-3) << "rounded down to MiB";
    EXPECT_NEAR(decades, 0.5, four_errors + 1e-3) << "rounded to ms";
}

TEST_F(SharingWorkload, is_the_same_for_the_same_seed) {
    const Workload a = draw_workload("strangers", 1), b = draw_workload("strangers", 1),
                   c = draw_workload("strangers", 2);
    for (std::size_t k = 0; k < a.jobs.size(); ++k) EXPECT_EQ(a.jobs[k].arrives_s, b.jobs[k].arrives_s);
    for (std::size_t k = 0; k < a.foreign_processes.size(); ++k)
        EXPECT_EQ(a.foreign_processes[k].gpu, b.foreign_processes[k].gpu);
    EXPECT_NE(a.jobs[0].arrives_s, c.jobs[0].arrives_s);
    // The draw of this seed is the same on any machine: tests and docs quote statistics that depend on it.
    EXPECT_EQ(a.jobs[0].arrives_s, 11.176);
    EXPECT_EQ(a.jobs[0].bytes, std::uint64_t(24096) << 20);
    EXPECT_EQ(a.jobs[0].compute_s, 259.705);
}

TEST_F(SharingWorkload, the_server_can_be_another) {
    const ServerOptions server{3, std::uint64_t(40 * gib)};
    const Workload w = draw(
        "gpus = 8\njobs = [{count = 5, at_s = 0, memory_gib = 1, compute_s = 1}]\n"
        "strangers = [{count = 500, at_s = 0, for_s = 1, memory_gib = 1}]",
        1, server);
    EXPECT_EQ(w.gpus, 3);
    EXPECT_EQ(w.gpu_bytes, *server.gpu_bytes);
    int most = 0;
    for (const ForeignProcess& s : w.foreign_processes) most = std::max(most, s.gpu);
    EXPECT_EQ(most, 2);
}

TEST_F(SharingWorkload, those_that_are_built_in_are_whole) {
    std::vector<std::string> names;
    for (const BuiltinWorkload& builtin : builtin_workloads()) {
        names.emplace_back(builtin.name);
        const Workload w = draw_workload(names.back(), 1);
        const std::string file = std::string(GLINT_SOURCE_DIR) + "/bench/workloads/" + names.back() + ".toml";
        EXPECT_EQ(glint::test::read_bytes(file), builtin.text);
        EXPECT_FALSE(w.about.empty());
        EXPECT_GE(w.jobs.size(), 500u);
        EXPECT_GE(w.users.size(), 10u);
    }
    EXPECT_EQ(names,
              (std::vector<std::string>{"burst", "crowded", "day", "gangs", "large", "small", "strangers", "week"}));
    EXPECT_EQ(draw_workload("week", 1).jobs.size(), 10000u);
    EXPECT_EQ(draw_workload("week", 1).gpus, 16);
}

TEST_F(SharingWorkload, as_many_jobs_as_may_be_can_be_listed_one_by_one) {
    std::string text = "jobs = [\n";
    for (int k = 0; k < max_jobs; ++k)
        text += fmt::format(
            "{{user = \"user {}\", count = 1, at_s = {}.5, gpus = 1, memory_gib = 1.5, compute_s = {}.25}},\n", k % 50,
            1000 + k, 10 + k % 90);
    EXPECT_EQ(draw(text + "]").jobs.size(), std::size_t(max_jobs));
}

TEST_F(SharingWorkload, wrong_files_are_refused_with_place_and_reason) {
    expect_error<OptionError>([] { draw_workload("dya", 1); }, {"dya", "neither a file nor", "day"});
    expect_error<InputError>([&] { draw_workload(folder_.path().string(), 1); }, {"is not a file"});
    expect_error<InputError>([&] { draw("jobs = [\n{count = }"); }, {"w.toml:2:"});
    expect_error<InputError>([&] { draw(""); }, {"w.toml:1:1", "jobs must hold at least one group"});
    expect_error<InputError>([&] { draw("jobs = []"); }, {"w.toml:1:8", "jobs must be a list of groups"});
    expect_error<InputError>([&] { draw("jobs = 3"); }, {"jobs", "list"});
    expect_error<InputError>([&] { draw("jobs = [1]"); }, {"jobs", "list of groups"});
    expect_error<InputError>([&] { draw("job = []"); }, {"no key job", "did you mean jobs?"});
    expect_error<InputError>([&] { draw("gpus = 17\njobs = []"); }, {"w.toml:1:8", "gpus is 17, outside 1 to 16"});
    expect_error<InputError>([&] { draw("memory_gib = -1"); }, {"memory_gib is -1"});
    expect_error<InputError>([&] { draw(std::string(2 << 20, '#')); }, {"limit 1048576"});
    expect_refused("count", "0", {"is 0, outside 1 to 10000"});
    expect_refused("count", "-3", {"is -3"});
    expect_refused("count", "2.5", {"2.5", "whole number"});
    expect_refused("count", "10001", {"outside 1 to 10000"});
    expect_error<InputError>([&] { draw("jobs = [\n{count = 9999999999999999999999}]"); }, {"w.toml:2:", "64 bits"});
    expect_refused("at_s", "-1", {"has -1, outside 0"});
    expect_refused("at_s", "[0, 1e9]", {"has 1000000000, outside"});
    expect_refused("at_s", "nan", {"nan"});
    expect_refused("at_s", "[1, 2, 3]", {"two in brackets"});
    expect_refused("at_s", "\"noon\"", {"must be a number"});
    expect_refused("at_s", "", {"is missing"});
    expect_refused("compute_s", "0", {"has 0, outside 0.001"});
    expect_refused("compute_s", "[8, 2]", {"from 8 down to 2"});
    expect_refused("compute_s", "", {"is missing"});
    expect_refused("memory_gib", "[1, 139.9]", {"goes to 139.9", "a GPU has 140", "a context takes 0.51"});
    expect_refused("memory_gib", "", {"is missing"});
    expect_refused("gpus", "9", {"is 9, and the server has 8"});
    expect_refused("gpus", "[1, 2]", {"must be a number"});
    expect_refused("user", "3", {"in quotes"});
}

TEST_F(SharingWorkload, too_many_are_refused_before_they_are_drawn) {
    const std::string group = "{users = 10000, count = 10000, at_s = 0, memory_gib = 1, compute_s = 1}";
    expect_error<InputError>([&] { draw("jobs = [" + group + "]"); }, {"count makes more than 10000 jobs"});
    const std::string half = "{count = 6000, at_s = 0, memory_gib = 1, compute_s = 1}";
    expect_error<InputError>([&] { draw("jobs = [" + half + ", " + half + "]"); }, {"more than 10000 jobs"});
    const std::string process = "{count = 6000, at_s = 0, memory_gib = 1, for_s = 1}";
    expect_error<InputError>([&] { draw("strangers = [" + process + ", " + process + "]"); }, {"10000 strangers"});
}

// Every damaged file is read or refused, and jobs drawn from it can run.
TEST_F(SharingWorkload, damaged_files_do_no_harm) {
    std::mt19937 random(1);
    int answered = 0;
    for (int round = 0; round < 1000; ++round) {
        std::string text(builtin_workloads()[random() % builtin_workloads().size()].text);
        for (int edits = 1 + int(random() % 4); edits > 0; --edits) {
            constexpr std::string_view letters = "0123456789.,[]{}-=\"\n e_";
            const std::size_t at = random() % text.size();
            if (random() % 3)
                text[at] = letters[random() % letters.size()];
            else
                text.erase(at, 1 + random() % 5);
        }
        try {
            const Workload w = draw(text);
            ++answered;
            for (const SimulatedJob& j : w.jobs) {
                ASSERT_TRUE(j.gpus >= 1 && j.gpus <= w.gpus && j.compute_s > 0 && j.arrives_s >= 0);
                ASSERT_LE(j.bytes + context_bytes, w.gpu_bytes);
            }
            for (const ForeignProcess& s : w.foreign_processes)
                ASSERT_TRUE(s.gpu >= 0 && s.gpu < w.gpus && s.goes_s > s.comes_s);
        } catch (const InputError&) {
        }
    }
    EXPECT_GT(answered, 100) << "else most damage was to the format alone";
}
