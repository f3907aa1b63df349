// Arrays on a simulated GPU on which each allocation and each library call fails in turn: the result is correct or an
// exception is thrown, and nothing stays on the GPU.
// SPDX-License-Identifier: MIT
#include "arrays/gpu_arrays_fixture.hpp"
#include "tests/expect_error.hpp"
#include "tests/run_with_faults.hpp"
#include "tests/thorough.hpp"

namespace glint::arrays::test {
namespace {

using glint::test::expect_error;
using glint::test::expect_passes;
using glint::test::has_turn;

struct GpuArraysFaults : GpuArraysTest {
    void SetUp() override {
        if (!gpu::test::set_stranger()) GTEST_SKIP() << "on a simulated GPU only";
        GpuArraysTest::SetUp();
    }
};

}  // namespace

TEST_F(GpuArraysFaults, none) { EXPECT_EQ(all_operations<gpu::OutOfMemory>(), 7); }

TEST_F(GpuArraysFaults, DISABLED_in_a_child_memory_lacks) { all_operations<gpu::OutOfMemory>(); }

TEST_F(GpuArraysFaults, DISABLED_in_a_child_memory_lacks_under_a_small_limit) {
    open(mib / 8);
    all_operations<gpu::OutOfMemory>();
}

TEST_F(GpuArraysFaults, DISABLED_in_a_child_one_call_fails) { EXPECT_EQ(all_operations<gpu::GpuError>(), 6); }

TEST_F(GpuArraysFaults, DISABLED_in_a_child_memory_lacks_once_and_it_is_tried_again_by_the_caller) {
    all_operations<gpu::OutOfMemory>();
    EXPECT_EQ(all_operations<gpu::OutOfMemory>(), 7);
}

TEST_F(GpuArraysFaults, at_every_allocation_in_turn_and_from_every_one_on) {
    const auto fails = [](const std::string& function, int call, const std::string& on, const std::string& body) {
        const std::string fault = function + ":" + std::to_string(call) + on + ":2";
        SCOPED_TRACE(fault);
        expect_passes("GpuArraysFaults", body, fault);
    };
    for (const std::string on : {"", "+"}) {
        for (int call = 1; call < 40; ++call)
            if (has_turn(call, 10)) fails("cuMemAllocFromPoolAsync", call, on, "memory_lacks");
        for (int call = 1; call < 80; call += 5)
            if (has_turn(call / 5, 5)) fails("cuMemAllocFromPoolAsync", call, on, "memory_lacks_under_a_small_limit");
        for (int call = 1; call < 4; ++call) fails("cuMemHostRegister", call, on, "memory_lacks");
    }
}

TEST_F(GpuArraysFaults, of_the_libraries) {
    for (const std::string call : {"cublasCreate_v2:1:3", "cufftCreate:1:2", "cufftMakePlanMany64:2:2",
                                   "cusolverDnCreate:1:2", "cublasSgemm_v2_64:1:3"})
        expect_passes("GpuArraysFaults", "memory_lacks_once_and_it_is_tried_again_by_the_caller", call);
    for (const std::string call :
         {"cublasCreate_v2:1:1", "cublasSgemm_v2_64:1:14", "cufftMakePlanMany64:1:5", "cufftExecC2C:1:6",
          "cusolverDnCreate:1:7", "cusolverDnSgesvd:1:6", "cusolverDnSgetrf:1:6", "cusolverDnSgetrs:1:7"})
        expect_passes("GpuArraysFaults", "one_call_fails", call);
}

TEST_F(GpuArraysFaults, the_message_names_the_call_the_status_and_the_remedy) {
    const gpu::detail::ContextState& home = context->state();
    expect_error<gpu::GpuError>([&] { check(home, Library::cublas, "cublasSgemm", 15); },
                                {"GPU 0", "cublasSgemm", "CUBLAS_STATUS_NOT_SUPPORTED (15)", "use the CPU"});
    EXPECT_THROW(check(home, Library::cusolver, "cusolverDnCreate", 2), gpu::OutOfMemory);
    EXPECT_NO_THROW(check(home, Library::cufft, "cufftCreate", 0));
}

TEST_F(GpuArraysFaults, DISABLED_in_a_child_in_the_primary_context) {
    close();
    context = std::make_unique<gpu::Context>(0, gpu::ContextOptions{.limit_bytes = 64 * mib});
    stream = std::make_unique<gpu::Stream>(*context);
    on_gpu = std::make_unique<OnGpu>(*context, *stream);
    EXPECT_EQ(all_operations<gpu::OutOfMemory>(), 7);
    close();
    EXPECT_TRUE(gpu::context_is_there(0)) << "which cuBLAS keeps, simulated as measured";
}

TEST_F(GpuArraysFaults, of_the_primary_context_are_none_but_that_it_stays) {
    expect_passes("GpuArraysFaults", "in_the_primary_context", " SIMGPU_LEAKS=0");
}

}  // namespace glint::arrays::test
