// The inventory, and `glint devices`, with and without a GPU.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gpu/gpu_fixture.hpp"
#include "tests/run_program.hpp"

using namespace glint::gpu;
using glint::gpu::test::GpuTest;
using glint::test::Ended;
using glint::test::run;
using glint::test::TemporaryFolder;

TEST(Inventory, says_why_there_is_none) {
    const Inventory found = inventory();
    bool usable = false;
    for (const Device& device : found.devices) usable |= device.why_not.empty();
    EXPECT_EQ(usable, found.why_none.empty());
    EXPECT_EQ(driver().why.empty(), usable) << driver().why;
}

TEST(Inventory, the_command_ends_well_without_a_gpu) {
    TemporaryFolder folder;
    // An empty list hides every GPU; without a driver it has no effect.
    const Ended table = run(folder, "export CUDA_VISIBLE_DEVICES=; exec glint devices");
    EXPECT_EQ(table.exit_code, 0) << table.err;
    EXPECT_NE(table.out.find("no GPU can be used: "), std::string::npos) << table.out;
    const Ended json = run(folder, "export CUDA_VISIBLE_DEVICES=; exec glint devices --json");
    EXPECT_EQ(json.exit_code, 0) << json.err;
    const auto all = nlohmann::json::parse(json.out);
    EXPECT_EQ(all["usable"], false);
    EXPECT_EQ(all["cpu"]["usable"], true);
    EXPECT_GE(all["cpu"]["threads"], 1);
    const std::string set = all["cpu"]["instruction_set"];
    EXPECT_NE(table.out.find("\n    " + set), std::string::npos) << table.out;
}

using GpuInventory = GpuTest;

TEST_F(GpuInventory, describes_what_cuda_shows) {
    const Inventory found = inventory();
    EXPECT_GE(found.cuda_version, 13000);
    EXPECT_FALSE(found.driver_version.empty());
    int visible = 0;
    for (const Device& device : found.devices) {
        if (device.ordinal < 0) {
            EXPECT_FALSE(device.why_not.empty());
            continue;
        }
        ++visible;
        EXPECT_FALSE(device.name.empty());
        EXPECT_TRUE(device.uuid.starts_with(device.mig ? "MIG-" : "GPU-")) << device.uuid;
        EXPECT_GT(device.total_bytes, 0u);
        EXPECT_GE(device.capability_major, 5);
    }
    EXPECT_EQ(visible, gpu_count());
}

TEST_F(GpuInventory, hidden_devices_are_named_with_the_value_that_hides_them) {
    TemporaryFolder folder;
    const Ended ended = run(folder, "export CUDA_VISIBLE_DEVICES=nonsense; exec glint devices");
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_NE(ended.out.find("CUDA_VISIBLE_DEVICES=\"nonsense\""), std::string::npos) << ended.out;
}
