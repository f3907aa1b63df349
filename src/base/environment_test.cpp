// Environment variables: their meaning, rejected values, and how many threads a process may use.
// SPDX-License-Identifier: MIT
#include "glint/environment.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <limits>

#include <cstdlib>
#include <optional>

#include "glint/error.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::environment;
using glint::test::expect_error;
using glint::test::TemporaryFolder;

namespace {

/// Sets a variable as long as this object lives.
class Set {
  public:
    Set(const char* name, const char* value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before;
        value ? ::setenv(name, value, 1) : ::unsetenv(name);
    }
    ~Set() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

  private:
    const char* name_;
    std::optional<std::string> before_;
};

Setting setting(const std::string& name) {
    for (const Setting& found : settings())
        if (found.name == name) return found;
    ADD_FAILURE() << name << " is not listed";
    return {};
}

/// Writes a file as the kernel provides it below a root folder.
void write(const TemporaryFolder& root, const std::string& path, const std::string& content) {
    std::filesystem::create_directories((root / path).parent_path());
    root.write(path, content);
}

}  // namespace

TEST(Environment, a_gpu_can_be_preferred) {
    const Set variable("GLINT_BACKEND", "Prefer-GPU");
    EXPECT_EQ(backend(), Backend::prefer_gpu);
    EXPECT_EQ(backend(Backend::cpu), Backend::cpu) << "what the call asks for comes first";
    EXPECT_EQ(setting("GLINT_BACKEND").value, "prefer-gpu");
    const Set wrong("GLINT_BACKEND", "prefer");
    expect_error<OptionError>([] { backend(); }, {"GLINT_BACKEND=prefer", "prefer-gpu"});
}

TEST(Environment, logs_and_unified_memory_are_off_unless_asked_for) {
    for (const char* name : {"GLINT_GPU_LOG", "GLINT_GPU_UNIFIED"}) {
        const auto is_on = [&] { return name[10] == 'L' ? gpu_log() : gpu_unified(); };
        const Set none(name, nullptr);
        EXPECT_FALSE(is_on()) << name;
        EXPECT_EQ(setting(name).value, "false");
        const Set on(name, "1");
        EXPECT_TRUE(is_on()) << name;
        const Set wrong(name, "loud");
        EXPECT_NE(setting(name).problem.find(name), std::string::npos);
    }
}

TEST(Environment, switches_are_written_in_many_ways) {
    for (const char* value : {"true", "True", "1", "yes", "on", ""}) {
        const Set variable("GLINT_GPU_EARLY_RECLAIM", value);
        EXPECT_TRUE(gpu_early_reclaim()) << value;
    }
    for (const char* value : {"false", "FALSE", "0", "no", "off"}) {
        const Set variable("GLINT_GPU_EARLY_RECLAIM", value);
        EXPECT_FALSE(gpu_early_reclaim()) << value;
    }
    const Set variable("GLINT_GPU_ENABLED", "maybe");
    expect_error<OptionError>([] { gpu_enabled(); }, {"GLINT_GPU_ENABLED=maybe: expected true or false"});
}

TEST(Environment, memory_is_written_with_units) {
    const Set none("GLINT_GPU_MEMORY_LIMIT", nullptr), threshold("GLINT_OFFLOAD_THRESHOLD", nullptr);
    EXPECT_EQ(gpu_memory_limit_bytes(1000), 0u);
    EXPECT_EQ(offload_threshold_bytes(), 10'000'000u);
    const Set automatic("GLINT_GPU_MEMORY_LIMIT", "auto"), larger("GLINT_OFFLOAD_THRESHOLD", "64 MiB");
    EXPECT_EQ(gpu_memory_limit_bytes(1000), 0u);
    EXPECT_EQ(offload_threshold_bytes(), std::uint64_t(64) << 20);
    const Set share("GLINT_GPU_MEMORY_LIMIT", "25%"), nothing("GLINT_OFFLOAD_THRESHOLD", "0");
    EXPECT_EQ(gpu_memory_limit_bytes(1000), 250u);
    EXPECT_EQ(offload_threshold_bytes(), 0u);
    const Set lots("GLINT_GPU_MEMORY_LIMIT", "lots"), percent("GLINT_OFFLOAD_THRESHOLD", "5%");
    expect_error<OptionError>([] { gpu_memory_limit_bytes(1000); }, {"GLINT_GPU_MEMORY_LIMIT=lots: ", "4GiB", "25%"});
    expect_error<OptionError>([] { offload_threshold_bytes(); }, {"GLINT_OFFLOAD_THRESHOLD=5%: ", "10MB"});
}

TEST(Environment, a_quantum_is_in_seconds) {
    for (const auto& [value, seconds] :
         {std::pair("", 30.0), {"5", 5.0}, {"Never", std::numeric_limits<double>::infinity()}}) {
        const Set variable("GLINT_GPU_QUANTUM", value);
        EXPECT_EQ(gpu_quantum_s(), seconds) << value;
    }
    const Set variable("GLINT_GPU_QUANTUM", "0");
    expect_error<OptionError>([] { gpu_quantum_s(); },
                              {"GLINT_GPU_QUANTUM=0: expected seconds from 1 to 86400, or never"});
}

TEST(Environment, a_worker_waits_for_seconds) {
    for (const auto& [value, seconds] : {std::pair("", 5), {"1", 1}, {"86400", 86400}}) {
        const Set variable("GLINT_GPU_WORKER_IDLE", value);
        EXPECT_EQ(gpu_worker_idle_s(), seconds) << value;
    }
    for (const char* value : {"0", "-1", "5s", "86401"}) {
        const Set variable("GLINT_GPU_WORKER_IDLE", value);
        expect_error<OptionError>([] { gpu_worker_idle_s(); },
                                  {"GLINT_GPU_WORKER_IDLE=", "expected seconds from 1 to 86400"});
    }
}

TEST(Environment, a_worker_is_used_when_told) {
    for (const char* value : {"auto", "AUTO"}) {
        const Set variable("GLINT_GPU_WORKER", value);
        EXPECT_TRUE(gpu_worker()) << value;
    }
    for (const char* value : {"off", "", static_cast<const char*>(nullptr)}) {
        const Set variable("GLINT_GPU_WORKER", value);
        EXPECT_FALSE(gpu_worker());
    }
    const Set variable("GLINT_GPU_WORKER", "on");
    expect_error<OptionError>([] { gpu_worker(); }, {"GLINT_GPU_WORKER=on: expected auto or off"});
}

TEST(Environment, a_backend_has_few_names) {
    const struct {
        const char* value;
        Backend backend;
    } cases[] = {{nullptr, Backend::automatic},
                 {"auto", Backend::automatic},
                 {"cpu", Backend::cpu},
                 {"gpu", Backend::gpu},
                 {"cuda", Backend::gpu}};
    for (const auto& one : cases) {
        const Set variable("GLINT_BACKEND", one.value);
        EXPECT_EQ(backend(), one.backend);
    }
    const Set variable("GLINT_BACKEND", "rocm");
    expect_error<OptionError>([] { backend(); },
                              {"GLINT_BACKEND=rocm: expected auto, cpu, gpu (also cuda) or prefer-gpu"});
}

TEST(Environment, numbers_are_whole_and_in_range) {
    const Set threads_set("GLINT_THREADS", "3"), leases("GLINT_LEASES_PER_USER", "2");
    EXPECT_EQ(threads(), 3);
    EXPECT_EQ(leases_per_user(), 2);
    for (const char* value : {"0", "-1", "2.5", "many", "5000", "3 "}) {
        const Set variable("GLINT_THREADS", value);
        expect_error<OptionError>([] { threads(); }, {"GLINT_THREADS=", value, "from 1 to 4096"});
    }
    const Set unset("GLINT_THREADS", nullptr);
    EXPECT_EQ(threads(), usable_threads());
}

TEST(Environment, the_directory_of_leases_is_the_same_in_every_folder) {
    const Set relative("GLINT_LEASE_DIR", "leases");
    expect_error<OptionError>([] { lease_directory(); }, {"GLINT_LEASE_DIR=leases: ", "from the root on"});
    const Set unset("GLINT_LEASE_DIR", nullptr);
    EXPECT_EQ(lease_directory(), "/dev/shm/glint-lease");
}

TEST(Environment, settings_tell_values_and_where_they_come_from) {
    const Set threads_set("GLINT_THREADS", "8"), unset("GLINT_BACKEND", nullptr), wrong("GLINT_GPU_ENABLED", "perhaps");
    EXPECT_EQ(setting("GLINT_THREADS").value, "8");
    EXPECT_TRUE(setting("GLINT_THREADS").is_set);
    EXPECT_EQ(setting("GLINT_BACKEND").value, "auto");
    EXPECT_FALSE(setting("GLINT_BACKEND").is_set);
    EXPECT_EQ(setting("GLINT_GPU_ENABLED").value, "perhaps");
    EXPECT_NE(setting("GLINT_GPU_ENABLED").problem.find("GLINT_GPU_ENABLED=perhaps: "), std::string::npos);
    EXPECT_EQ(setting("GLINT_THREADS").problem, "");
}

struct UsableThreads : ::testing::Test {
    TemporaryFolder root;
    int all = usable_threads(root.path().string());  // limited by affinity only, as there are no control groups

    void group(const std::string& lines) { write(root, "proc/self/cgroup", lines); }
    void quota(const std::string& file, const std::string& content) { write(root, "sys/fs/cgroup/" + file, content); }
    int usable() const { return usable_threads(root.path().string()); }
    void SetUp() override {
        if (all < 2) GTEST_SKIP() << "this process has one CPU";
    }
};

TEST_F(UsableThreads, are_those_of_the_affinity_where_nothing_limits_them) {
    cpu_set_t cpus;
    ASSERT_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    EXPECT_EQ(all, CPU_COUNT(&cpus));
    group("0::/job\n");
    quota("job/cpu.max", "max 100000\n");
    EXPECT_EQ(usable(), all);
    quota("job/cpu.max", "nonsense\n");
    EXPECT_EQ(usable(), all);
    quota("job/cpu.max", std::to_string(100'000 * (all + 5)) + " 100000\n");
    EXPECT_EQ(usable(), all);
}

TEST_F(UsableThreads, keep_to_a_quota_and_round_it_up) {
    group("0::/job\n");
    quota("job/cpu.max", "100000 100000\n");
    EXPECT_EQ(usable(), 1);
    quota("job/cpu.max", "101000 100000\n");
    EXPECT_EQ(usable(), 2);
    quota("job/cpu.max", "1000 100000\n");
    EXPECT_EQ(usable(), 1);
}

TEST_F(UsableThreads, keep_to_the_quotas_of_all_groups_above) {
    group("0::/user/job/step\n");
    quota("user/cpu.max", "100000 100000\n");
    quota("user/job/step/cpu.max", "max 100000\n");
    EXPECT_EQ(usable(), 1);
}

TEST_F(UsableThreads, know_a_container_by_the_folder_that_it_sees) {
    group("0::/\n");
    quota("cpu.max", "100000 100000\n");
    EXPECT_EQ(usable(), 1);
    group("0::/../../system\n");  // a process from outside the container's groups
    EXPECT_EQ(usable(), 1);
}

TEST_F(UsableThreads, keep_to_quotas_of_the_older_version) {
    group("5:cpuset:/job\n4:cpu,cpuacct:/job\n0::/\n");
    quota("cpu,cpuacct/job/cpu.cfs_period_us", "50000\n");
    quota("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    EXPECT_EQ(usable(), all);
    quota("cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
    EXPECT_EQ(usable(), 1);
    group("4:cpu:/docker/12ab\n");  // the host's name of the group, whose folder is the mount itself
    quota("cpu/cpu.cfs_period_us", "100000\n");
    quota("cpu/cpu.cfs_quota_us", "100000\n");
    EXPECT_EQ(usable(), 1);
}
