// The cost of a context, measured by creating one.
// SPDX-License-Identifier: MIT
#include "gpu/lease/measure.hpp"

#include "gpu/gpu_fixture.hpp"
#include "gpu/lease/lease_state.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using glint::gpu::test::mib;

namespace {

/// Leases among the real GPUs, or the simulated server's, in a directory of this test.
struct GpuContextCost : glint::gpu::test::GpuTest {
    glint::test::TemporaryFolder folder;
    Dependencies deps = machine_dependencies();

    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        deps.directory = std::make_shared<StateDir>(folder.path());
        uuid = inventory().devices.at(0).uuid;
    }
    Lease acquire() const { return acquire_in(deps, {.bytes = 64 * mib, .timeout_s = 600}); }
    std::string uuid;
};

}  // namespace

TEST_F(GpuContextCost, is_what_the_process_takes_when_it_has_nothing_else) {
    const ContextMeasurement before(0, uuid);
    EXPECT_EQ(before.context_bytes(), 0u) << "there is none yet";
    const Context context(0, {.limit_bytes = 64 * mib});
    const std::uint64_t cost = before.context_bytes();
    if (cost == 0) GTEST_SKIP() << "NVML does not show this process";
    EXPECT_GT(cost, 100 * mib);
    EXPECT_LT(cost, 2000 * mib);
    EXPECT_EQ(ContextMeasurement(0, uuid).context_bytes(), 0u) << "it was there before";
    EXPECT_EQ(before.contexts_when_full(), 0) << "the GPU is not full";
    EXPECT_EQ(ContextMeasurement(0, "GPU-of-nobody").context_bytes(), 0u);
}

TEST_F(GpuContextCost, is_remembered_for_the_next_lease) {
    const std::uint64_t usual = acquire().devices()[0].context_bytes;
    std::uint64_t cost = 0;
    {
        const Lease lease = acquire();
        const ContextMeasurement measurement(lease.devices()[0].ordinal, lease.devices()[0].uuid);
        const Context context = lease.create_context();
        cost = measurement.context_bytes();
    }
    if (cost == 0) GTEST_SKIP() << "NVML does not show this process";
    EXPECT_NE(usual, cost) << "else this shows nothing";
    EXPECT_EQ(acquire().devices()[0].context_bytes, (cost + mib - 1) / mib * mib);
}

TEST_F(GpuContextCost, is_not_learned_from_somebody_elses_context) {
    const Lease first = acquire();
    const Context theirs(first.devices()[0].ordinal, {.limit_bytes = 64 * mib});
    { const Context ours = first.create_context(); }
    EXPECT_EQ(acquire().devices()[0].context_bytes, first.devices()[0].context_bytes);
}
