// `glint doctor`: each check detects the problem that it is for.
// SPDX-License-Identifier: MIT
#include "gpu/doctor/doctor.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gpu/driver.hpp"
#include "gpu/lease/slot.hpp"
#include "tests/lease_processes.hpp"

namespace glint::gpu::doctor {
namespace {

using glint::test::TemporaryFolder;
using lease::test::bin;
using lease::test::LeaseProcesses;
using nlohmann::json;

/// Returns the finding of this check that contains `words`.
const Finding* find(const Findings& findings, const std::string& check, const std::string& words) {
    for (const Finding& finding : findings)
        if (finding.check == check && finding.found.find(words) != std::string::npos) return &finding;
    return nullptr;
}

void expect(const Findings& findings, Health health, const std::string& check, const std::string& words) {
    const Finding* finding = find(findings, check, words);
    std::string all;
    for (const Finding& f : findings) all += f.check + ": " + f.found + '\n';
    ASSERT_TRUE(finding) << check << ": " << words << " is not among\n" << all;
    EXPECT_EQ(finding->health, health) << finding->found;
    EXPECT_EQ(finding->remedy.empty(), health == Health::ok) << finding->found << " -> " << finding->remedy;
}

TEST(Doctor, device_files_must_be_there_and_open) {
    TemporaryFolder dev;
    dev.write("nvidiactl", ""), dev.write("nvidia0", ""), dev.write("nvidia-caps", "");
    std::filesystem::create_symlink("nvidia1", dev / "nvidia1");  // to itself: not even root can open it
    const Findings bad = check_driver(dev.path().string());
    expect(bad, Health::problem, "device files", "nvidia1: ");
    expect(bad, Health::problem, "device files", "nvidia-uvm is missing");
    EXPECT_FALSE(find(bad, "device files", "nvidia0: "));
    std::filesystem::remove(dev / "nvidia1");
    dev.write("nvidia-uvm", "");
    expect(check_driver(dev.path().string()), Health::ok, "device files", "3, all open");
}

TEST(Doctor, a_machine_without_a_gpu_has_no_problem_with_it) {
    TemporaryFolder dev, bus;
    if (driver().version > 0) GTEST_SKIP() << "this machine has a driver";
    const Findings findings = check_driver(dev.path().string(), bus.path().string());
    ASSERT_EQ(findings.size(), 1u);
    expect(findings, Health::ok, "driver", "no NVIDIA GPU in this machine");
    std::filesystem::create_directory(bus / "0000:01:00.0");
    bus.write("0000:01:00.0/vendor", "0x10de\n");
    expect(check_driver(dev.path().string(), bus.path().string()), Health::problem, "driver", "no NVIDIA driver");
}

// Each run on the CPU that could use a GPU checks for device files, but does not load the driver, which takes 0.1 s.
TEST(GpuDoctor, device_files_tell_of_a_gpu_before_the_driver_is_loaded) {
    const auto is_loaded = [] { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr; };
    TemporaryFolder dev, bus;
    dev.write("nvidiactl", "");
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts the program again
    EXPECT_EXIT(
        {
            const bool before = is_loaded();
            const bool found = machine_has_gpu(dev.path().string(), bus.path().string());
            std::_Exit(before ? 3 : !found ? 2 : is_loaded() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
    if (driver().version == 0) GTEST_SKIP() << "this machine has no driver that could have been loaded";
}

TEST(Doctor, the_directory_must_be_fit_for_all_users) {
    TemporaryFolder folder;
    const std::string path = (folder / "leases").string();
    expect(check_directory(path), Health::ok, "lease directory", "the first lease creates it");
    EXPECT_FALSE(std::filesystem::exists(path)) << "looking makes nothing";
    expect(check_directory((folder / "not/there").string()), Health::problem, "lease directory", "cannot create it");
    ASSERT_EQ(::mkdir(path.c_str(), 0777), 0);
    ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
    expect(check_directory(path), Health::problem, "lease directory", "others can remove files in it");
    ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
    expect(check_directory(path), Health::warning, "lease directory", "not all users may write there");
    ASSERT_EQ(::chmod(path.c_str(), 01777), 0);
    expect(check_directory(path), Health::ok, "lease directory", "0 slots");
    std::filesystem::create_directory_symlink(path, folder / "link");
    expect(check_directory((folder / "link").string()), Health::problem, "lease directory", "symbolic link");
    expect(check_directory(folder.write("file", "").string()), Health::problem, "lease directory", "cannot be opened");
    if (::geteuid() != 0) return;
    ASSERT_EQ(::chown(path.c_str(), 1, 1), 0);
    expect(check_directory(path), Health::warning, "lease directory", "belongs to user 1");
}

TEST(Doctor, names_who_has_taken_the_names_of_other_users) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can create files of two users";
    TemporaryFolder folder;
    ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
    std::filesystem::create_directory(folder / "worker.0.0123456789abcdef");
    const std::string path = folder.path().string();
    for (const Finding& finding : check_directory(path)) EXPECT_EQ(finding.health, Health::ok) << finding.found;
    for (const char* name : {"slot.0.0", "slot.0.1", "history.0", "slot.2000.0", "other"})
        ASSERT_EQ(::chown(folder.write(name, "").c_str(), 1001, 1001), 0);
    expect(check_directory(path), Health::warning, "lease directory",
           "5 of user 1001, with names that are for user 0 and 1 more users");
}

TEST(Doctor, slots_of_the_dead_are_counted) {
    TemporaryFolder folder;
    ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
    const lease::StateDir directory(folder.path());
    std::string why;
    auto slot = lease::Slot::take(directory, why);
    slot->record.state = lease::State::waiting, slot->record.gpus = 1;
    ASSERT_TRUE(slot->publish());
    expect(check_directory(folder.path().string()), Health::ok, "lease directory", "1 slots");
    slot.reset();  // as if it had been killed
    expect(check_directory(folder.path().string()), Health::ok, "lease directory", "1 of them left by processes");
}

TEST(Doctor, a_containers_own_memory_is_told_from_the_hosts) {
    const std::string root = "600 500 0:300 / / rw,relatime master:200 - overlay overlay rw,lowerdir=/a\n";
    const std::string own = "610 600 0:301 / /dev/shm rw,nosuid - tmpfs shm rw,size=65536k\n";
    const std::string hosts = "610 600 0:26 / /dev/shm rw,nosuid - tmpfs tmpfs rw\n";
    const std::string mounted = "620 610 0:26 /glint-lease /dev/shm/glint-lease rw - tmpfs tmpfs rw\n";
    const std::string path = "/dev/shm/glint-lease";
    EXPECT_NE(why_private(root + own, path).find("/dev/shm is the container's own"), std::string::npos);
    EXPECT_NE(why_private(root, path).find("own file system"), std::string::npos);
    EXPECT_NE(why_private(root + own, "/dev/shmx/leases"), "") << "not below /dev/shm";
    EXPECT_EQ(why_private(root + own + mounted, path), "");
    EXPECT_EQ(why_private(root + hosts, path), "");
    EXPECT_EQ(why_private("", path), "");
    EXPECT_EQ(why_private("nonsense\n\n - \n", path), "");
}

TEST(Doctor, leases_that_go_nowhere_are_named) {
    LeaseSnapshot leases;
    expect(check_leases(leases), Health::ok, "leases", "0 held, 0 waited for");
    leases.gpus.resize(1);
    leases.gpus[0].uuid = "GPU-1";
    leases.gpus[0].holders = {
        {.uid = 7, .pid = 4'194'305, .reserved_bytes = 1u << 30, .held_bytes = 1, .contexts = 1, .since_s = 1e4},
        {.uid = 8, .pid = 4'194'306, .reserved_bytes = 1u << 30, .since_s = 100}};
    leases.waiters.resize(1);
    leases.waiters[0].awake = true;
    expect(check_leases(leases), Health::ok, "leases", "2 held, 1 waited for");
    leases.gpus[0].holders[1].since_s = 700;
    leases.waiters[0].awake = false;
    const Findings bad = check_leases(leases);
    expect(bad, Health::warning, "leases", "user 8 over 1.0 GiB: not used for 11 minutes");
    expect(bad, Health::warning, "leases", "without a heartbeat");
    EXPECT_EQ(bad.size(), 2u);
}

TEST(Doctor, who_keeps_the_turn_to_create_a_context_is_named) {
    LeaseSnapshot leases;
    leases.gpus.resize(1);
    LeaseGpu& gpu = leases.gpus[0];
    gpu.uuid = "GPU-1";
    gpu.creator_pid = unsigned(::getpid());
    const std::string me = "process " + std::to_string(::getpid()) + " (";
    expect(check_leases(leases), Health::warning, "leases", me);
    expect(check_leases(leases), Health::warning, "leases", "without a lease");
    gpu.holders = {{.uid = 7, .pid = unsigned(::getppid()), .held_bytes = 1, .contexts = 1}};
    expect(check_leases(leases), Health::ok, "leases", "1 held");
    expect(check_leases(leases), Health::ok, "leases", me);
    gpu.creator_since_s = 25;
    expect(check_leases(leases), Health::warning, "leases", "has the turn to create a context, for 25 s");
}

/// Tests of the whole command on the simulated server.
struct DoctorCommand : LeaseProcesses {
    int code = -1;

    Findings examine(const std::vector<std::string>& flags = {}) {
        std::vector<std::string> words{"glint", "doctor", "--json"};
        words.insert(words.end(), flags.begin(), flags.end());
        const auto command = start_program(words);
        code = command->finish();
        Findings findings;
        const json all = json::parse(command->output);
        for (const json& f : all["findings"])
            findings.push_back({f["health"] == "ok"        ? Health::ok
                                : f["health"] == "warning" ? Health::warning
                                                           : Health::problem,
                                f["check"], f["gpu"], f["found"], f["remedy"]});
        const auto is_problem = [](const Finding& finding) { return finding.health == Health::problem; };
        EXPECT_EQ(code, std::any_of(findings.begin(), findings.end(), is_problem) ? 6 : 0);
        return findings;
    }
    /// Expects a finding if this variable is set.
    void expect_with(const char* variable, const std::string& value, Health health, const char* check,
                     const char* words) {
        SCOPED_TRACE(std::string(variable) + "=" + value);
        std::filesystem::remove(server / "state");
        const char* before = std::getenv(variable);
        const std::optional<std::string> old = before ? std::optional<std::string>(before) : std::nullopt;
        set(variable, value);
        expect(examine(), health, check, words);
        set(variable, old);
    }
};

TEST_F(DoctorCommand, finds_nothing_where_all_is_well) {
    ASSERT_EQ(::mkdir((server / "leases").c_str(), 0700), 0);
    ASSERT_EQ(::chmod((server / "leases").c_str(), 01777), 0);
    for (const char* name : {"CUDA_LAUNCH_BLOCKING", "CUDA_MPS_PIPE_DIRECTORY"}) set(name, {});
    for (const Finding& finding : examine()) {
        // The test itself may run in a container, and the build may have no kernels.
        if (finding.check == "lease directory" || finding.check == "kernels" || finding.check == "device files")
            continue;
        EXPECT_EQ(finding.health, Health::ok) << finding.check << ": " << finding.found;
        EXPECT_EQ(finding.remedy, "") << finding.check << ": " << finding.found;
    }
    const auto table = start_program({"glint", "doctor", "-v"});
    EXPECT_EQ(table->finish(), code);
    EXPECT_NE(table->output.find("ok       persistence      GPU-11121314-1516-1718-191a-1b1c1d1e1f20: on\n"),
              std::string::npos)
        << table->output;
}

TEST_F(DoctorCommand, says_in_one_line_that_variables_have_their_defaults) {
    set("GLINT_THREADS", "2");
    const auto brief = start_program({"glint", "doctor"}), whole = start_program({"glint", "doctor", "-v"});
    brief->finish(), whole->finish();
    EXPECT_NE(brief->output.find("GLINT_THREADS = 2 (environment)"), std::string::npos) << brief->output;
    EXPECT_NE(brief->output.find(" at default values (-v lists them)"), std::string::npos) << brief->output;
    EXPECT_EQ(brief->output.find("(default)"), std::string::npos) << brief->output;
    EXPECT_NE(whole->output.find("(default)"), std::string::npos) << whole->output;
    set("GLINT_THREADS", {});
}

TEST_F(DoctorCommand, gpus_with_which_all_is_well_share_a_line) {
    gpus("3x8GiB");
    set("SIMGPU_SICK", "1:persistence-off");
    const auto table = start_program({"glint", "doctor"});
    table->finish();
    EXPECT_NE(table->output.find("\nwarning  persistence      GPU-22232425-2627-2829-2a2b-2c2d2e2f3031: off: "),
              std::string::npos);
    EXPECT_NE(table->output.find("\nok       persistence      2 GPUs\n"), std::string::npos) << table->output;
    EXPECT_NE(table->output.find("\noverall: "), std::string::npos) << table->output;
}

TEST_F(DoctorCommand, finds_what_is_wrong_with_a_gpu) {
    constexpr Health warning = Health::warning, problem = Health::problem;
    expect_with("SIMGPU_SICK", "0:persistence-off", warning, "persistence", "off");
    expect_with("SIMGPU_SICK", "0:ecc", warning, "ecc", "3 memory errors");
    expect_with("SIMGPU_SICK", "0:row-pending", warning, "memory rows", "next reset");
    expect_with("SIMGPU_SICK", "0:row-failed", problem, "memory rows", "could not be replaced");
    expect_with("SIMGPU_SICK", "0:mig-pending", warning, "mig", "becomes on");
    expect_with("SIMGPU_SICK", "0:display", warning, "time limit", "display");
    expect_with("SIMGPU_SICK", "0:off-bus", problem, "usable", "fallen off the bus (15)");
    expect_with("SIMGPU_COMPUTE_MODE", "3", warning, "compute mode", "one process");
    expect_with("SIMGPU_COMPUTE_MODE", "2", problem, "usable", "prohibited");
    expect_with("SIMGPU_DRIVER", "12040", problem, "driver", "too old");
    if (driver().version > 0) return;  // this machine has a real one
    if (!machine_has_gpu())
        return expect_with("LD_LIBRARY_PATH", "/nowhere", Health::ok, "driver", "no NVIDIA GPU in this machine");
    expect_with("LD_LIBRARY_PATH", "/nowhere", problem, "driver", "no NVIDIA driver");
    expect_with("LD_LIBRARY_PATH", "/nowhere", problem, "nvml", "no NVML");
}

TEST_F(DoctorCommand, a_gpu_that_is_left_alone_on_purpose_is_no_problem) {
    gpus("2x8GiB");
    set("CUDA_VISIBLE_DEVICES", "1");
    expect(examine(), Health::ok, "usable", "not among CUDA_VISIBLE_DEVICES");
    set("CUDA_VISIBLE_DEVICES", {});
    std::filesystem::remove(server / "state");
    set("SIMGPU_MIG", "0:2");
    const Findings mig = examine();
    expect(mig, Health::ok, "usable", "split into MIG instances");
    expect(mig, Health::ok, "usable", "one MIG instance only");
    expect(mig, Health::ok, "mig", "on");
}

TEST_F(DoctorCommand, finds_variables_that_will_not_do) {
    gpus("2x8GiB");
    constexpr Health warning = Health::warning, problem = Health::problem;
    expect_with("GLINT_GPU_MEMORY_LIMIT", "lots", problem, "variables", "GLINT_GPU_MEMORY_LIMIT=lots: expected");
    expect_with("GLINT_GPU_MEMORY_LIMIT", "25%", Health::ok, "variables", "GLINT_GPU_MEMORY_LIMIT = 25% (environment)");
    expect_with("GLINT_GPU_EARLY_RECLAIM", "rarely", problem, "variables",
                "GLINT_GPU_EARLY_RECLAIM=rarely: expected true");
    expect_with("GLINT_LEASES_PER_USER", "3x", problem, "variables", "GLINT_LEASES_PER_USER=3x: expected");
    expect_with("GLINT_LEASE_DIR", "leases", problem, "variables", "GLINT_LEASE_DIR=leases: ");
    expect_with("GLINT_THREADS", "0", problem, "variables", "GLINT_THREADS=0: expected a number of threads");
    expect_with("GLINT_BACKEND", "rocm", problem, "variables",
                "GLINT_BACKEND=rocm: expected auto, cpu, gpu (also cuda) or prefer-gpu");
    expect_with("GLINT_OFFLOAD_THRESHOLD", "big", problem, "variables", "GLINT_OFFLOAD_THRESHOLD=big: expected");
    expect_with("GLINT_GPU_ENABLED", "maybe", problem, "variables", "GLINT_GPU_ENABLED=maybe: expected true");
    expect_with("GLINT_ISA", "mmx", problem, "variables", "GLINT_ISA=mmx: ");
    expect_with("GLINT_GPU_MEMORY_LIMITS", "1GiB", warning, "variables", "knows no such variable");
    expect_with("CUDA_VISIBLE_DEVICES", "", problem, "variables", "0 named, 0 visible");
    expect_with("CUDA_VISIBLE_DEVICES", "1,7", warning, "variables", "2 named, 1 visible");
    expect_with("CUDA_VISIBLE_DEVICES", "1", Health::ok, "variables", "CUDA_VISIBLE_DEVICES=\"1\"");
    expect_with("CUDA_LAUNCH_BLOCKING", "1", warning, "variables", "CUDA_LAUNCH_BLOCKING");
    expect_with("CUDA_MPS_PIPE_DIRECTORY", "/nowhere", warning, "variables", "no such directory");
}

TEST_F(DoctorCommand, lists_every_variable_with_its_value_and_its_origin) {
    set("GLINT_THREADS", "8");
    set("GLINT_BACKEND", {});
    const Findings findings = examine();
    expect(findings, Health::ok, "variables", "GLINT_THREADS = 8 (environment)");
    expect(findings, Health::ok, "variables", "GLINT_BACKEND = auto (default)");
    expect(findings, Health::ok, "variables", "GLINT_LEASE_DIR = " + (server / "leases").string() + " (environment)");
}

TEST_F(DoctorCommand, says_that_gpus_are_switched_off) {
    set("GLINT_GPU_ENABLED", "off");
    const Findings findings = examine();
    expect(findings, Health::warning, "driver", "GPUs are switched off by GLINT_GPU_ENABLED=false: unset it");
    expect(findings, Health::ok, "variables", "GLINT_GPU_ENABLED = false (environment)");
    EXPECT_FALSE(find(findings, "usable", "")) << "no GPU is looked at";
    EXPECT_EQ(code, 0);
}

TEST_F(DoctorCommand, ends_with_the_sum_of_it_all) {
    ASSERT_EQ(::mkdir((server / "leases").c_str(), 0700), 0);
    ASSERT_EQ(::chmod((server / "leases").c_str(), 01777), 0);
    const auto overall = [&](const std::vector<std::string>& flags) {
        std::filesystem::remove(server / "state");
        std::vector<std::string> words{"glint", "doctor"};
        words.insert(words.end(), flags.begin(), flags.end());
        const auto command = start_program(words);
        command->finish();
        return command->output;
    };
    const json before = json::parse(overall({"--json"}));
    set("GLINT_BACKEND", "none"), set("GLINT_THREADS", "0"), set("SIMGPU_SICK", "0:persistence-off");
    const json after = json::parse(overall({"--json"}));
    EXPECT_EQ(int(after["problems"]), int(before["problems"]) + 2) << after;
    EXPECT_EQ(int(after["warnings"]), int(before["warnings"]) + 1) << after;
    const std::string words = overall({}), line = "\noverall: " + after["overall"].get<std::string>() + '\n';
    EXPECT_TRUE(words.ends_with(line)) << words;
    EXPECT_NE(line.find(" problems, "), std::string::npos) << line;
}

TEST_F(DoctorCommand, guides_to_what_is_missing) {
    const auto table = start_program({"glint", "doctor", "--guide"});
    EXPECT_EQ(table->finish(), 0);
    EXPECT_EQ(table->output.find("\ndriver: "), std::string::npos) << "the simulated one is there\n" << table->output;
    const auto command = start_program({"glint", "doctor", "--guide", "--json"});
    EXPECT_EQ(command->finish(), 0);
    const json guide = json::parse(command->output);
    EXPECT_EQ(table->output.find(guide["system"].get<std::string>()), 0u) << table->output;
    EXPECT_EQ(guide["missing"].empty(), table->output.find("nothing is missing") != std::string::npos);
    for (const json& part : guide["missing"]) EXPECT_FALSE(part["how"].empty()) << part;
    set("GLINT_GPU_ENABLED", "false");
    const auto off = start_program({"glint", "doctor", "--guide"});
    EXPECT_EQ(off->finish(), 0);
    EXPECT_NE(off->output.find("    unset GLINT_GPU_ENABLED\n"), std::string::npos) << off->output;
}

TEST_F(DoctorCommand, finds_memory_of_zombies_and_of_the_stopped) {
    const pid_t zombie = ::fork();
    if (zombie == 0) ::_exit(0);
    siginfo_t ended;
    ASSERT_EQ(::waitid(P_PID, id_t(zombie), &ended, WEXITED | WNOWAIT), 0);
    const std::string number = std::to_string(zombie);
    expect_with("SIMGPU_STRANGERS", "0:1GiB:0:" + number, Health::warning, "processes",
                "is a zombie that holds 1.0 GiB");
    ::waitpid(zombie, nullptr, 0);

    std::filesystem::remove(server / "state");
    const auto stopped = start("500 1 alone hold"), holder = start("500 1 hold");
    for (const auto& worker : {stopped.get(), holder.get()}) {
        ASSERT_TRUE(worker->says("holding")) << worker->output;
        worker->signal(SIGSTOP);
        ASSERT_TRUE(worker->stopped());
    }
    const Findings findings = examine();
    expect(findings, Health::warning, "processes", std::to_string(stopped->pid()) + " (lease_worker");
    expect(findings, Health::warning, "leases", std::to_string(holder->pid()) + " of user");
    EXPECT_FALSE(find(findings, "processes", std::to_string(holder->pid()) + " (")) << "once is enough";
    for (const auto& worker : {stopped.get(), holder.get()}) worker->signal(SIGCONT);
}

TEST_F(DoctorCommand, finds_memory_that_nobody_here_explains) {
    set("SIMGPU_STRANGERS", "0:3GiB");
    const Findings findings = examine();
    const Finding* gone = find(findings, "processes", "process 4000000 ");
    ASSERT_TRUE(gone);
    const bool first = std::filesystem::read_symlink("/proc/self/ns/pid") == "pid:[4026531836]";
    EXPECT_EQ(gone->health, first ? Health::warning : Health::ok) << "in a container it may live in another one";
    set("SIMGPU_HIDE_PIDS", "1");
    expect(examine(), Health::warning, "processes", "3.0 GiB are used by processes that NVML does not show");
}

TEST_F(DoctorCommand, tries_each_gpu_when_it_is_told_to) {
    const std::filesystem::path kernels = bin.parent_path() / "simgpu" / "libsimgpu_all_kernels.so";
    if (!std::filesystem::exists(kernels)) GTEST_SKIP() << "no " << kernels;
    set("SIMGPU_KERNELS", kernels.string());
    expect(examine({"--test"}), Health::ok, "test", "copies are correct");
    EXPECT_FALSE(find(examine(), "test", ""));
    set("SIMGPU_FAULT", "cuDevicePrimaryCtxRetain:1+:2");
    expect(examine({"--test"}), Health::warning, "test", "no context could be created");
    set("SIMGPU_FAULT", "cuMemcpyHtoDAsync:1~:700");
    expect(examine({"--test"}), Health::problem, "test", "(700)");
}

}  // namespace
}  // namespace glint::gpu::doctor
