// `glint devices` on simulated servers: matching CUDA's devices with NVML's, reasons why a device cannot be used, and
// libraries that are missing or refuse.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "glint/gpu/context.hpp"
#include "glint/gpu/device.hpp"
#include "tests/run_program.hpp"
#include "tests/thorough.hpp"

namespace glint::test {
namespace {

using nlohmann::json;

constexpr std::uint64_t gib = std::uint64_t(1) << 30;
// UUIDs of the first four devices of a simulated server.
constexpr const char *uuid_0 = "GPU-11121314-1516-1718-191a-1b1c1d1e1f20",
                     *uuid_1 = "GPU-22232425-2627-2829-2a2b-2c2d2e2f3031",
                     *mig_2 = "MIG-33343536-3738-393a-3b3c-3d3e3f404142",
                     *mig_3 = "MIG-44454647-4849-4a4b-4c4d-4e4f50515253";

struct SimulatedDevices : ::testing::Test {
    TemporaryFolder folder;
    std::filesystem::path libraries =
        std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "simgpu";

    void SetUp() override {
        if (!std::filesystem::exists(libraries / "libcuda.so.1"))
            GTEST_SKIP() << "no simulated server in " << libraries;
    }
    /// Runs a command on a new server, which the variables describe.
    Ended on_server(const std::string& variables, const std::string& command) {
        std::filesystem::remove(folder / "state");
        return run(folder, "unset CUDA_VISIBLE_DEVICES; export LD_LIBRARY_PATH=" + libraries.string() +
                               "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} SIMGPU_STATE=$PWD/state " + variables +
                               "; exec " + command);
    }
    json devices(const std::string& variables) {
        const Ended ended = on_server(variables, "glint devices --json");
        EXPECT_EQ(ended.exit_code, 0) << ended.err;
        return json::parse(ended.out);
    }
    std::string table(const std::string& variables) {
        const Ended ended = on_server(variables, "glint devices");
        EXPECT_EQ(ended.exit_code, 0) << ended.err;
        return ended.out;
    }
    /// Returns each device with CUDA's number, in NVML's order: "0:GPU-1112 -:GPU-2223".
    static std::string numbers(const json& all) {
        std::string words;
        for (const json& device : all["devices"]) {
            const int ordinal = device["ordinal"];
            if (!words.empty()) words += ' ';
            words += ordinal < 0 ? "-" : std::to_string(ordinal);
            words += ':' + device["uuid"].get<std::string>().substr(0, 8);
            EXPECT_EQ(device["usable"], device["why_not"] == "") << device;
            EXPECT_TRUE(ordinal >= 0 || device["usable"] == false) << device;
            EXPECT_NE(device["name"], "") << device;
        }
        return words;
    }
    static json find(const json& all, const std::string& uuid) {
        for (const json& device : all["devices"])
            if (device["uuid"] == uuid) return device;
        ADD_FAILURE() << uuid << " is not in " << all;
        return {};
    }
    static std::string why_not(const json& all, const std::string& uuid) {
        return find(all, uuid)["why_not"].get<std::string>();
    }
    /// Creates a folder with one library of the server, and a file that is no library instead of the other.
    void leave_only(const std::string& present, const std::string& absent) {
        std::filesystem::create_symlink(libraries / present, folder / present);
        folder.write(absent, "");
        libraries = folder.path();
    }
};

void expect_in(const std::string& part, const std::string& words) {
    EXPECT_NE(words.find(part), std::string::npos) << '"' << part << "\" in: " << words;
}

}  // namespace

TEST_F(SimulatedDevices, are_matched_by_uuid_where_cuda_counts_in_another_order) {
    const std::string server = "SIMGPU_REVERSED=1 SIMGPU_DEVICES=1x8GiB,1x16GiB,1x80GiB ";
    // If NVML does not report the memory, CUDA's value is used.
    for (const std::string refused : {"", "SIMGPU_NVML_FAULT=nvmlDeviceGetMemoryInfo:3"}) {
        const json all = devices(server + refused);
        EXPECT_EQ(numbers(all), "2:GPU-1112 1:GPU-2223 0:GPU-3334");
        EXPECT_EQ(find(all, uuid_0)["total_bytes"], 8 * gib);
        EXPECT_EQ(find(all, uuid_1)["total_bytes"], 16 * gib);
    }
    EXPECT_EQ(numbers(devices(server + "CUDA_VISIBLE_DEVICES=2,0")), "0:GPU-1112 -:GPU-2223 1:GPU-3334");
}

TEST_F(SimulatedDevices, are_those_that_the_environment_names) {
    const std::string both = std::string(uuid_1) + ',' + uuid_0;
    const struct {
        std::string visible, expected;
    } cases[] = {{"2,0", "1:GPU-1112 -:GPU-2223 0:GPU-3334"},
                 {"1", "-:GPU-1112 0:GPU-2223 -:GPU-3334"},
                 {"' 1'", "-:GPU-1112 0:GPU-2223 -:GPU-3334"},
                 {"1,-1,0", "-:GPU-1112 0:GPU-2223 -:GPU-3334"},
                 {"1,7,0", "-:GPU-1112 0:GPU-2223 -:GPU-3334"},
                 {"1,nonsense,0", "-:GPU-1112 0:GPU-2223 -:GPU-3334"},
                 {"1," + both, "-:GPU-1112 0:GPU-2223 -:GPU-3334"},
                 {both, "1:GPU-1112 0:GPU-2223 -:GPU-3334"},
                 {"GPU-33,GPU-1", "1:GPU-1112 -:GPU-2223 0:GPU-3334"},
                 {"GPU-22232425-2627-2829-2A2B,GPU-1", "1:GPU-1112 0:GPU-2223 -:GPU-3334"},
                 {"GPU-2223", "-:GPU-1112 0:GPU-2223 -:GPU-3334"}};
    for (const auto& c : cases) {
        SCOPED_TRACE(c.visible);
        const json all = devices("SIMGPU_DEVICES=3x8GiB CUDA_VISIBLE_DEVICES=" + c.visible);
        EXPECT_EQ(numbers(all), c.expected);
    }
    expect_in("not among CUDA_VISIBLE_DEVICES=\"1\"", why_not(devices("CUDA_VISIBLE_DEVICES=1"), uuid_0));
}

TEST_F(SimulatedDevices, are_none_where_the_environment_names_none) {
    for (const std::string visible : {"", "-1", "7", "nonsense", "GPU-", "GPU-f", ",0"}) {
        SCOPED_TRACE(visible);
        const json all = devices("CUDA_VISIBLE_DEVICES='" + visible + "'");
        EXPECT_EQ(numbers(all), "-:GPU-1112 -:GPU-2223");
        const std::string words = "CUDA_VISIBLE_DEVICES=\"" + visible + "\"";
        expect_in(words, all["why_none"]);
        expect_in("unset it", all["why_none"]);
        expect_in(words, why_not(all, uuid_1));
        expect_in("no GPU can be used: ", table("CUDA_VISIBLE_DEVICES='" + visible + "'"));
    }
    for (const std::string& twice : {std::string("1,1"), std::string(uuid_0) + ",GPU-11"})
        expect_in("CUDA_VISIBLE_DEVICES=\"" + twice + "\" names a GPU twice",
                  devices("CUDA_VISIBLE_DEVICES=" + twice)["why_none"]);
}

TEST_F(SimulatedDevices, of_mig_are_listed_behind_their_gpu) {
    const std::string server = "SIMGPU_MIG=1:2 SIMGPU_STRANGERS=3:1GiB:95 ";
    const json all = devices(server);
    EXPECT_EQ(numbers(all), "0:GPU-1112 -:GPU-2223 1:MIG-3334 -:MIG-4445");
    expect_in("split into MIG instances", why_not(all, uuid_1));
    const json used = find(all, mig_2), other = find(all, mig_3);
    EXPECT_EQ(used["mig"], true);
    EXPECT_EQ(used["total_bytes"], 4 * gib);
    EXPECT_EQ(used["compute_capability"], "9.0");
    EXPECT_EQ(used["processes"].size(), 0u);
    EXPECT_EQ(other["free_bytes"], 3 * gib - (4u << 20));
    EXPECT_EQ(other["processes"].size(), 1u);
    expect_in(std::string("set CUDA_VISIBLE_DEVICES=") + mig_3, other["why_not"]);
    EXPECT_EQ(numbers(devices(server + "CUDA_VISIBLE_DEVICES=" + mig_3)),
              "-:GPU-1112 -:GPU-2223 -:MIG-3334 0:MIG-4445");
    EXPECT_EQ(numbers(devices(server + "CUDA_VISIBLE_DEVICES=MIG-33")), "-:GPU-1112 -:GPU-2223 0:MIG-3334 -:MIG-4445");
    expect_in("MIG instance: Simulated GPU MIG 1g.4gb", table(server));
}

TEST_F(SimulatedDevices, count_the_processes_of_strangers) {
    const std::string server = "SIMGPU_STRANGERS=1:6GiB:95 ";
    const json all = devices(server);
    EXPECT_EQ(find(all, uuid_0)["processes"].size(), 0u);
    const json busy = find(all, uuid_1);
    ASSERT_EQ(busy["processes"].size(), 1u);
    EXPECT_EQ(busy["processes"][0]["used_bytes"], 6 * gib);
    EXPECT_EQ(busy["utilization_percent"], 95);
    EXPECT_EQ(busy["usable"], true);
    expect_in("2.0 of 8.0 GiB free, compute capability 9.0, PCIe 5 x16, 95 % busy, 1 process\n", table(server));
    EXPECT_EQ(find(devices(server + "SIMGPU_HIDE_PIDS=1"), uuid_1)["processes"].size(), 0u);
}

TEST_F(SimulatedDevices, say_when_their_compute_mode_keeps_one_out) {
    const json prohibited = devices("SIMGPU_COMPUTE_MODE=2");
    EXPECT_EQ(prohibited["usable"], false);
    expect_in("\"prohibited\"", why_not(prohibited, uuid_0));
    expect_in("nvidia-smi -c DEFAULT", prohibited["why_none"]);
    const json exclusive = devices("SIMGPU_COMPUTE_MODE=3 SIMGPU_STRANGERS=0:1GiB");
    EXPECT_EQ(find(exclusive, uuid_0)["usable"], false);
    expect_in("\"exclusive-process\" allows one process at a time, and process 4000000 is using it",
              why_not(exclusive, uuid_0));
    EXPECT_EQ(find(exclusive, uuid_1)["usable"], true);
    EXPECT_EQ(find(exclusive, uuid_1)["compute_mode"], "exclusive-process");
    EXPECT_EQ(exclusive["usable"], true);
    expect_in("% busy, exclusive-process\n", table("SIMGPU_COMPUTE_MODE=3"));
}

TEST_F(SimulatedDevices, that_let_another_process_in_are_waited_for) {
    const std::string one = "SIMGPU_DEVICES=1x8GiB SIMGPU_STRANGERS=0:1GiB ";
    const Ended late = on_server(one + "SIMGPU_COMPUTE_MODE=3", "glint lease --memory 1GiB --timeout 1 -- true");
    EXPECT_EQ(late.exit_code, 5) << late.err;
    expect_in("no GPU had room within 1 s", late.err);
    const Ended never = on_server(one + "SIMGPU_COMPUTE_MODE=2", "glint lease --memory 1GiB --timeout 1 -- true");
    EXPECT_EQ(never.exit_code, 5) << never.err;
    expect_in("prohibited", never.err);
}

TEST_F(SimulatedDevices, that_let_one_process_in_are_its_own) {
    const Ended ended = on_server("SIMGPU_COMPUTE_MODE=3",
                                  std::filesystem::read_symlink("/proc/self/exe").string() +
                                      " --gtest_also_run_disabled_tests --gtest_filter=*.DISABLED_its_own_in_a_child");
    EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
    expect_in("[  PASSED  ] 1 test", ended.out);
}

TEST_F(SimulatedDevices, DISABLED_its_own_in_a_child) {
    const gpu::Context context(0, {.limit_bytes = gib});
    const gpu::Inventory found = gpu::inventory();
    EXPECT_EQ(found.devices.at(0).processes.size(), 1u) << "this one";
    EXPECT_EQ(found.devices.at(0).why_not, "");
}

TEST_F(SimulatedDevices, are_known_by_cuda_alone_where_nvml_is_missing) {
    leave_only("libcuda.so.1", "libnvidia-ml.so.1");
    const json all = devices("SIMGPU_MIG=1:2 CUDA_VISIBLE_DEVICES=1,0");
    EXPECT_EQ(numbers(all), "0:MIG-3334 1:GPU-1112");
    expect_in("libnvidia-ml.so.1", all["why_no_nvml"]);
    EXPECT_EQ(find(all, mig_2)["mig"], true);
    EXPECT_EQ(find(all, mig_2)["total_bytes"], 4 * gib);
    EXPECT_EQ(find(all, mig_2)["free_bytes"], 0);
    EXPECT_EQ(find(all, uuid_0)["pci_bus"], "0000:01:00.0");
    EXPECT_EQ(find(all, uuid_0)["utilization_percent"], -1);
    expect_in("memory, load and processes are not known: no NVML", table("A=1"));
    expect_in("    8.0 GiB, compute capability 9.0\n", table("A=1"));
}

TEST_F(SimulatedDevices, are_listed_by_nvml_where_the_driver_is_missing) {
    leave_only("libnvidia-ml.so.1", "libcuda.so.1");
    const json all = devices("SIMGPU_STRANGERS=1:6GiB:95");
    EXPECT_EQ(numbers(all), "-:GPU-1112 -:GPU-2223");
    EXPECT_EQ(all["cuda_version"], "");
    EXPECT_EQ(all["driver_version"], "580.00.00");
    EXPECT_EQ(find(all, uuid_1)["processes"].size(), 1u);
    expect_in("no NVIDIA driver (", all["why_none"]);
    expect_in("install driver 580 or newer", why_not(all, uuid_0));
    expect_in("driver 580.00.00, no CUDA\n", table("A=1"));
}

TEST_F(SimulatedDevices, are_the_same_whatever_nvml_refuses) {
    const std::set<std::string> usable{uuid_0, mig_2};
    const std::string functions[] = {
#define X(name, required, parameters) #name,
#include "gpu/nvml_list.inc"
#undef X
    };
    long cases = 0;
    for (const std::string& function : functions)
        for (const std::string code : {"3", "4", "15"}) {  // not supported, no permission, the GPU is lost
            if (!has_turn(cases++, 4)) continue;
            SCOPED_TRACE(function + ":" + code);
            const json all = devices("SIMGPU_MIG=1:2 SIMGPU_NVML_FAULT=" + function + ":" + code);
            std::set<std::string> uuids, found;
            for (const json& device : all["devices"]) {
                const std::string uuid = device["uuid"];
                EXPECT_TRUE(uuid.empty() || uuids.insert(uuid).second) << "twice: " << uuid;
                if (device["usable"] == true || device["why_not"].get<std::string>().find("NVML has lost it") == 0)
                    if (device["ordinal"] >= 0) found.insert(uuid);
                EXPECT_EQ(device["usable"], device["why_not"] == "") << device;
                EXPECT_NE(device["name"], "") << device;
                EXPECT_TRUE(uuid.empty() || device["mig"] == uuid.starts_with("MIG-")) << device;
            }
            EXPECT_EQ(found, usable) << all;
            EXPECT_EQ(all["why_no_nvml"] != "", function == "nvmlInit_v2") << all["why_no_nvml"];
        }
}

TEST_F(SimulatedDevices, that_nvml_does_not_tell_apart_are_not_guessed_at) {
    // A MIG instance without a UUID cannot be distinguished from other instances. Its GPU is identified by the bus.
    const json nameless = devices("SIMGPU_MIG=1:2 SIMGPU_NVML_FAULT=nvmlDeviceGetUUID:3");
    EXPECT_EQ(numbers(nameless), "0:GPU-1112 -: 1:MIG-3334");
    EXPECT_EQ(find(nameless, uuid_0)["free_bytes"], 8 * gib - (4u << 20));
    for (const std::string function : {"nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex"})
        expect_in("split into MIG", why_not(devices("SIMGPU_MIG=1:2 SIMGPU_NVML_FAULT=" + function + ":4"), uuid_1));
    expect_in("memory unknown", table("SIMGPU_MIG=1:2 SIMGPU_NVML_FAULT=nvmlDeviceGetMemoryInfo:3"));
}

TEST_F(SimulatedDevices, are_not_looked_for_when_gpus_are_switched_off) {
    const char* words = "GPUs are switched off by GLINT_GPU_ENABLED=false: unset it";
    const json none = devices("GLINT_GPU_ENABLED=no");
    EXPECT_TRUE(none["devices"].empty());
    expect_in(words, none["why_none"]);
    EXPECT_EQ(none["cpu"]["usable"], true);
    EXPECT_EQ(devices("GLINT_GPU_ENABLED=yes")["usable"], true);
    const Ended lease = on_server("GLINT_GPU_ENABLED=0", "glint lease --timeout 0 -- true");
    EXPECT_EQ(lease.exit_code, 5);
    expect_in(words, lease.err);
    for (const char* command : {"glint lease --timeout 0 -- true", "glint devices"}) {
        const Ended wrong = on_server("GLINT_GPU_ENABLED=maybe", command);
        EXPECT_EQ(wrong.exit_code, 2) << command << wrong.err;
        expect_in("GLINT_GPU_ENABLED=maybe: expected true or false", wrong.err);
    }
}

TEST_F(SimulatedDevices, that_are_lost_are_named) {
    const std::string lost = "CUDA_VISIBLE_DEVICES=0 SIMGPU_NVML_FAULT=";
    const json gone = devices(lost + "nvmlDeviceGetHandleByIndex_v2@1:15");
    EXPECT_EQ(numbers(gone), "0:GPU-1112 -:");
    EXPECT_EQ(gone["devices"][1]["name"], "NVML's GPU 1");
    expect_in("fallen off the bus", gone["devices"][1]["why_not"]);
    const json hanging = devices(lost + "nvmlDeviceGetMemoryInfo@1:15");
    expect_in("fallen off the bus", why_not(hanging, uuid_1));
    EXPECT_EQ(find(hanging, uuid_0)["usable"], true);
}

}  // namespace glint::test
