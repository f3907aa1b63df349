// Memory for other processes: how it is counted, and what is rejected. mpi/buffers/buffers_test.cpp tests its use by
// other processes.
// SPDX-License-Identifier: MIT
#include "glint/gpu/ipc.hpp"

#include <gtest/gtest.h>

#include "gpu/gpu_fixture.hpp"

namespace glint::gpu {
namespace {

using test::mib;

class GpuIpc : public test::GpuTest {};

TEST_F(GpuIpc, exported_memory_counts_against_the_limit) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    {
        ExportedMemory memory(stream, 16 * mib);
        EXPECT_EQ(memory.buffer().bytes(), 16 * mib);
        EXPECT_NE(memory.handle().bytes, IpcHandle().bytes);
        EXPECT_EQ(context.statistics().live_bytes, 16 * mib);
        EXPECT_THROW(ExportedMemory(stream, 50 * mib), OutOfMemory);
        EXPECT_THROW(Buffer<char>(stream, 50 * mib), OutOfMemory);
        EXPECT_THROW(ExportedMemory(stream, 0), OptionError);
    }
    EXPECT_EQ(context.statistics().live_bytes, 0u);
    const Buffer<char> room(stream, 50 * mib);
}

TEST_F(GpuIpc, what_cannot_be_opened_is_refused) {
    const Context context(0, {.limit_bytes = 64 * mib});
    const Stream stream(context);
    ExportedMemory memory(stream, mib);
    EXPECT_THROW(ImportedMemory(stream, memory.handle(), mib), GpuError) << "this very process's";
    EXPECT_EQ(context.statistics().live_bytes, mib);
}

}  // namespace
}  // namespace glint::gpu
