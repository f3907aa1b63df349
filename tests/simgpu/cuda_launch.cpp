// Launches are checked at the call and run later, with blocks and threads in random order.
// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "api.hpp"
#include "guard.hpp"
#include "memory.hpp"
#include "process.hpp"

namespace simgpu {
namespace {

using glint::gpu::SimulatedBlock;
using glint::gpu::SimulatedKernel;

/// Shared memory of a block: initially garbage, followed by a page that faults.
class SharedMemory {
    static constexpr std::size_t page = 4096;
    std::size_t bytes_, mapped_;
    char* memory_;

  public:
    explicit SharedMemory(std::size_t bytes)
        : bytes_((bytes + 15) / 16 * 16), mapped_((bytes + page - 1) / page * page) {
        void* m = mmap(nullptr, mapped_ + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (m == MAP_FAILED) broken("no memory for a kernel's shared memory");
        memory_ = static_cast<char*>(m);
        if (mapped_) set_access(reinterpret_cast<std::uintptr_t>(m), mapped_, HostAccess::all);
    }
    ~SharedMemory() { munmap(memory_, mapped_ + page); }
    SharedMemory(const SharedMemory&) = delete;

    void* poisoned() const {
        char* begin = memory_ + mapped_ - bytes_;
        if (bytes_) std::memset(begin, 0xFF, bytes_);
        return begin;
    }
};

/// A launch, with its arguments copied at the call, as by the driver.
struct Launch {
    const Function* function;
    const SimulatedKernel* kernel;
    int device;
    unsigned grid, block, shared_bytes;
    std::uint64_t seed;
    std::vector<std::vector<char>> arguments;

    std::uintptr_t pointer(unsigned i) const {
        std::uintptr_t p;
        std::memcpy(&p, arguments[i].data(), sizeof p);
        return p;
    }
};

bool can_reach(int device, const Allocation& a) {
    if (a.managed || a.device == device) return true;
    return a.pool->access.contains(device);
}

/// Returns true if every pointer is null (an option left out), or points to memory that this GPU can access.
bool pointers_are_good(const Launch& launch) {
    for (unsigned i = 0; i < launch.kernel->parameter_count; ++i) {
        if (!launch.kernel->parameters[i].pointer || !launch.pointer(i)) continue;
        const Allocation* a = find_allocation(launch.pointer(i));
        if (!a && find_pinned(reinterpret_cast<void*>(launch.pointer(i)))) continue;
        if (!a || !can_reach(launch.device, *a)) return false;
    }
    return true;
}

std::vector<unsigned> shuffled(unsigned n, std::mt19937_64& numbers) {
    std::vector<unsigned> order(n);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), numbers);
    return order;
}

cu::Result run(Launch& launch) {
    if (!pointers_are_good(launch)) return cu::illegal_address;
    std::mt19937_64 numbers(launch.seed);
    const auto blocks = shuffled(launch.grid, numbers), threads = shuffled(launch.block, numbers);
    std::vector<void*> arguments;
    for (auto& argument : launch.arguments) arguments.push_back(argument.data());
    const SharedMemory shared(launch.shared_bytes);
    return run_as_device([&] {
        for (const unsigned block : blocks)
            launch.kernel->run({block, launch.block, launch.grid, threads.data(), arguments.data(), shared.poisoned()});
        return cu::success;
    });
}

/// A kernel may use an allocation from the pointer on to its end.
void note_uses(const Stream& stream, const Launch& launch) {
    for (unsigned i = 0; i < launch.kernel->parameter_count; ++i) {
        const auto& parameter = launch.kernel->parameters[i];
        Allocation* a = parameter.pointer ? find_allocation(launch.pointer(i)) : nullptr;
        if (!a) continue;
        if (a->freed) bug("kernel %s uses memory after cuMemFreeAsync", launch.function->name.c_str());
        note_use(*a, stream, launch.function->name.c_str(), launch.pointer(i), a->end(), !parameter.read_only);
    }
}

}  // namespace

cu::Result api::cuLaunchKernel(cu::Function handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared_bytes, cu::Stream stream_handle,
                               void** parameters, void** extra) {
    const Function& function = process().functions.get(handle);
    Stream& stream = process().streams.get(stream_handle);
    constexpr cu::Result invalid_handle = 400;
    if (stream.context != current() || function.context != current()) return invalid_handle;
    if (extra || grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1)
        bug("kernel %s is launched in more than one dimension, which gpu/kernel_abi.hpp does not know",
            function.name.c_str());
    if (grid_x == 0 || grid_x > 0x7fffffff || block_x == 0 || block_x > function.kernel->max_threads ||
        shared_bytes > unsigned(function.max_dynamic_shared))
        return cu::invalid_value;
    auto launch = std::make_shared<Launch>(
        Launch{&function, function.kernel, current()->device, grid_x, block_x, shared_bytes, random_numbers()(), {}});
    for (unsigned i = 0; i < function.kernel->parameter_count; ++i) {
        const char* value = static_cast<const char*>(parameters[i]);
        launch->arguments.emplace_back(value, value + function.kernel->parameters[i].size);
    }
    push(stream, [launch] { return run(*launch); });
    note_uses(stream, *launch);
    note_kernel(stream);
    return stream.context->lost;
}

}  // namespace simgpu
