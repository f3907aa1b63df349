// Compares our declarations of the driver with cuda.h and cudaTypedefs.h; compiled if CMake finds a toolkit's
// headers.
// SPDX-License-Identifier: MIT
#include "gpu/cuda_abi.hpp"

#include <gtest/gtest.h>

#include "tests/same_abi.hpp"

#ifdef GLINT_HAS_CUDA_HEADERS
#include <cuda.h>
#include <cudaTypedefs.h>

namespace glint {
namespace {

using test::same_function;

#define X(name, version, required, parameters) \
    static_assert(same_function<cu::Result(*) parameters, PFN_##name##_v##version>, "driver_list.inc: " #name);
#include "gpu/driver_list.inc"
#undef X

#define SAME(ours, theirs) static_assert(long(ours) == long(theirs), #ours)
SAME(cu::success, CUDA_SUCCESS);
SAME(cu::invalid_value, CUDA_ERROR_INVALID_VALUE);
SAME(cu::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(cu::not_initialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(cu::no_device, CUDA_ERROR_NO_DEVICE);
SAME(cu::invalid_device, CUDA_ERROR_INVALID_DEVICE);
SAME(cu::invalid_context, CUDA_ERROR_INVALID_CONTEXT);
SAME(cu::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(cu::peer_access_already_enabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME(cu::peer_access_unsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
SAME(cu::not_found, CUDA_ERROR_NOT_FOUND);
SAME(cu::not_ready, CUDA_ERROR_NOT_READY);
SAME(cu::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(cu::launch_failed, CUDA_ERROR_LAUNCH_FAILED);
SAME(cu::not_supported, CUDA_ERROR_NOT_SUPPORTED);
SAME(cu::capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(cu::unknown, CUDA_ERROR_UNKNOWN);
SAME(cu::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(cu::compute_mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
SAME(cu::kernel_exec_timeout, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT);
SAME(cu::unified_addressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(cu::capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(cu::capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(cu::managed_memory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
SAME(cu::concurrent_managed_access, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
SAME(cu::max_shared_memory_per_block_optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(cu::memory_pools_supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(cu::pool_release_threshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME(cu::pool_reserved_current, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
SAME(cu::pool_reserved_high, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
SAME(cu::pool_used_current, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
SAME(cu::pool_used_high, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
SAME(cu::func_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(cu::func_local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(cu::func_registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(cu::func_max_dynamic_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(cu::capture_mode_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(cu::capture_none, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(cu::capture_active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(cu::capture_invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(cu::stream_non_blocking, CU_STREAM_NON_BLOCKING);
SAME(cu::event_disable_timing, CU_EVENT_DISABLE_TIMING);
SAME(cu::host_portable, CU_MEMHOSTREGISTER_PORTABLE);
SAME(cu::attach_global, CU_MEM_ATTACH_GLOBAL);
SAME(cu::location_device, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(cu::location_host, CU_MEM_LOCATION_TYPE_HOST);

#define SAME_MEMBER(Ours, ours, Theirs, theirs)                                                                     \
    static_assert(offsetof(Ours, ours) == offsetof(Theirs, theirs) && sizeof(Ours::ours) == sizeof(Theirs::theirs), \
                  #Ours "." #ours)
static_assert(sizeof(cu::MemPoolProps) == sizeof(CUmemPoolProps));
SAME_MEMBER(cu::MemPoolProps, alloc_type, CUmemPoolProps, allocType);
SAME_MEMBER(cu::MemPoolProps, handle_types, CUmemPoolProps, handleTypes);
SAME_MEMBER(cu::MemPoolProps, location, CUmemPoolProps, location);
SAME_MEMBER(cu::MemPoolProps, win32_security_attributes, CUmemPoolProps, win32SecurityAttributes);
SAME_MEMBER(cu::MemPoolProps, max_size, CUmemPoolProps, maxSize);
SAME_MEMBER(cu::MemPoolProps, usage, CUmemPoolProps, usage);
SAME_MEMBER(cu::MemAccess, location, CUmemAccessDesc, location);
SAME_MEMBER(cu::MemAccess, flags, CUmemAccessDesc, flags);
static_assert(sizeof(cu::MemAccess) == sizeof(CUmemAccessDesc) && CU_MEM_ACCESS_FLAGS_PROT_READWRITE == 3);
static_assert(CU_MEM_ALLOCATION_TYPE_PINNED == 1 && CU_GET_PROC_ADDRESS_LEGACY_STREAM == 1);

}  // namespace
}  // namespace glint

TEST(CudaAbi, agrees_with_the_headers_of_the_toolkit) { SUCCEED() << "by static_assert, CUDA " << CUDA_VERSION; }
#else
TEST(CudaAbi, agrees_with_the_headers_of_the_toolkit) { GTEST_SKIP() << "built where no CUDA headers were found"; }
#endif
