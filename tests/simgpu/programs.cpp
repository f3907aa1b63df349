// Programs for the simulated driver.
// SPDX-License-Identifier: MIT
#include "programs.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "image.hpp"

Session::Session(int ordinal, std::uint64_t pool_limit) : device(ordinal) {
    CHECK_CALL(cuInit, 0);
    CHECK_CALL(cuDevicePrimaryCtxRetain, &context, device);
    CHECK_CALL(cuCtxSetCurrent, context);
    cu::MemPoolProps props = {};
    props.alloc_type = 1;
    props.location = {cu::location_device, device};
    props.max_size = pool_limit;
    CHECK_CALL(cuMemPoolCreate, &pool, &props);
    std::vector<char> image(simgpu::simulated_image, std::end(simgpu::simulated_image));
    if (const char* fatbin = std::getenv("TEST_IMAGE")) {
        std::ifstream file(fatbin, std::ios::binary);
        image.assign(std::istreambuf_iterator<char>(file), {});
    }
    CHECK_CALL(cuModuleLoadData, &module, image.data());
    for (cu::Stream& stream : streams) CHECK_CALL(cuStreamCreate, &stream, cu::stream_non_blocking);
}

cu::Function Session::function(const char* name) const {
    cu::Function f;
    CHECK_CALL(cuModuleGetFunction, &f, module, name);
    return f;
}

cu::DevicePtr Session::allocate(std::size_t bytes, int stream) const {
    cu::DevicePtr p;
    CHECK_CALL(cuMemAllocFromPoolAsync, &p, bytes, pool, streams[stream]);
    return p;
}

void Session::launch(const char* name, unsigned blocks, unsigned threads, unsigned shared, void** parameters,
                     int stream) const {
    CHECK_CALL(cuLaunchKernel, function(name), blocks, 1, 1, threads, 1, 1, shared, streams[stream], parameters,
               nullptr);
}

void Session::close() {
    for (cu::Stream& stream : streams) CHECK_CALL(cuStreamDestroy, stream);
    CHECK_CALL(cuModuleUnload, module);
    CHECK_CALL(cuMemPoolDestroy, pool);
    CHECK_CALL(cuCtxSetCurrent, nullptr);
    CHECK_CALL(cuDevicePrimaryCtxRelease, device);
}

float* pin_floats(std::size_t count) {
    auto* floats = new float[count];
    CHECK_CALL(cuMemHostRegister, floats, count * sizeof(float), cu::host_portable);
    return floats;
}

void unpin(float* floats) {
    CHECK_CALL(cuMemHostUnregister, floats);
    delete[] floats;
}

namespace {

constexpr std::size_t mebibyte = 1 << 20;

std::size_t free_mebibytes(unsigned index = 0) {
    cu::NvmlDevice device;
    cu::NvmlMemory memory;
    if (nvml().nvmlDeviceGetHandleByIndex_v2(index, &device) || nvml().nvmlDeviceGetMemoryInfo(device, &memory))
        std::printf("NVML failed\n"), std::exit(12);
    return memory.free / mebibyte;
}

void say_ready_and_wait() {
    std::printf("ready\n");
    std::fflush(stdout);
    char c;
    while (read(0, &c, 1) > 0) {
    }
}

int print_free(const Arguments&) {
    std::printf("free %zu MiB\n", free_mebibytes());
    return 0;
}

void print_processes() {
    cu::NvmlDevice device;
    cu::NvmlProcess processes[8];
    unsigned count = 8;
    if (nvml().nvmlDeviceGetHandleByIndex_v2(0, &device) ||
        nvml().nvmlDeviceGetComputeRunningProcesses_v3(device, &count, processes))
        std::printf("NVML failed\n"), std::exit(12);
    for (unsigned k = 0; k < count; ++k) std::printf("process with %llu MiB\n", processes[k].used_bytes / mebibyte);
}

int print_all_processes(const Arguments&) {
    print_processes();
    return 0;
}

/// hold MiB [MiB]: holds memory until the standard input ends. Allocates the second amount after a query of NVML.
int hold(const Arguments& arguments) {
    Session session;
    const cu::DevicePtr p = session.allocate(std::stoul(arguments.at(0)) * mebibyte);
    if (arguments.size() > 1) {
        print_processes();
        session.allocate(std::stoul(arguments[1]) * mebibyte);
    }
    CHECK_CALL(cuStreamSynchronize, session.streams[0]);
    say_ready_and_wait();
    CHECK_CALL(cuMemFreeAsync, p, session.streams[0]);
    session.close();
    std::printf("given back\n");
    return 0;
}

int only_context(const Arguments&) {
    cu::Context context;
    CHECK_CALL(cuInit, 0);
    CHECK_CALL(cuDevicePrimaryCtxRetain, &context, 0);
    say_ready_and_wait();
    CHECK_CALL(cuDevicePrimaryCtxRelease, 0);
    return 0;
}

int context_when_told(const Arguments&) {
    cu::Context context;
    CHECK_CALL(cuInit, 0);
    say_ready_and_wait();
    CHECK_CALL(cuDevicePrimaryCtxRetain, &context, 0);
    return 0;
}

int pool_limit(const Arguments&) {
    Session session(0, 100 * mebibyte);
    session.allocate(60 * mebibyte);
    session.allocate(39 * mebibyte);
    std::uint64_t reserved = 0;
    CHECK_CALL(cuMemPoolGetAttribute, session.pool, cu::pool_reserved_current, &reserved);
    const std::size_t before = free_mebibytes();
    cu::DevicePtr p;
    const cu::Result result = driver().cuMemAllocFromPoolAsync(&p, 200 * mebibyte, session.pool, session.streams[0]);
    std::printf("reserved %zu MiB, then %d, hoarded %zu MiB\n", std::size_t(reserved / mebibyte), result,
                before - free_mebibytes());
    session.allocate(mebibyte);
    std::printf("and 1 MiB is possible\n");
    return 0;
}

/// Requests more than the memory of a pool that keeps its memory.
int hoard(const Arguments&) {
    Session session;
    std::uint64_t unlimited = ~std::uint64_t(0);
    CHECK_CALL(cuMemPoolSetAttribute, session.pool, cu::pool_release_threshold, &unlimited);
    cu::DevicePtr p;
    const cu::Result result =
        driver().cuMemAllocFromPoolAsync(&p, std::size_t(1) << 40, session.pool, session.streams[0]);
    CHECK_CALL(cuDevicePrimaryCtxRelease, 0);
    std::printf("failed with %d, %s came back; ", result, free_mebibytes() < 600 ? "only the context" : "more");
    CHECK_CALL(cuMemPoolTrimTo, session.pool, 0);
    std::printf("after a trim %s\n", free_mebibytes() > 8000 ? "everything" : "not everything");
    return 0;
}

/// Sixteen allocations of half a granule each: first every other one is freed, then all of the first half.
int fragments(const Arguments&) {
    Session session(0, 256 * mebibyte);
    const std::size_t before = free_mebibytes();
    std::uint64_t unlimited = ~std::uint64_t(0);
    CHECK_CALL(cuMemPoolSetAttribute, session.pool, cu::pool_release_threshold, &unlimited);
    cu::DevicePtr halves[16], p;
    for (cu::DevicePtr& half : halves) half = session.allocate(16 * mebibyte);
    const auto give_back = [&](int first, int last) {
        for (int k = first; k < last; k += 2) CHECK_CALL(cuMemFreeAsync, halves[k], session.streams[0]);
        CHECK_CALL(cuStreamSynchronize, session.streams[0]);
        CHECK_CALL(cuMemPoolTrimTo, session.pool, 0);
        std::printf("%zu MiB, ", before - free_mebibytes());
    };
    give_back(0, 16);
    std::printf("64 more %d, ", driver().cuMemAllocFromPoolAsync(&p, 64 * mebibyte, session.pool, session.streams[0]));
    give_back(1, 8);
    std::printf("64 more %d\n", driver().cuMemAllocFromPoolAsync(&p, 64 * mebibyte, session.pool, session.streams[0]));
    return 0;
}

int destroy_pool_in_use(const Arguments&) {
    Session session;
    session.allocate(1024 * mebibyte);
    const std::size_t before = free_mebibytes();
    session.close();
    std::printf("the context's %zu MiB came back, the pool's did not\n", free_mebibytes() - before);
    return 0;
}

/// Two separate contexts beside the primary one: their memory, which one is current, and what remains of a destroyed
/// one.
int separate(const Arguments& arguments) {
    Session session;
    const std::size_t before = free_mebibytes();
    cu::Context first, second, popped, now;
    CHECK_CALL(cuCtxCreate, &first, 0, 0);
    CHECK_CALL(cuCtxCreate, &second, 0, 0);
    cu::Stream stream;
    CHECK_CALL(cuStreamCreate, &stream, cu::stream_non_blocking);
    const std::size_t taken = before - free_mebibytes();
    CHECK_CALL(cuCtxPopCurrent, &popped);
    CHECK_CALL(cuCtxGetCurrent, &now);
    std::printf("took %zu MiB, %s", taken, popped == second && now == first ? "one on the other; " : "wrong order; ");
    CHECK_CALL(cuCtxDestroy, second);
    if (arguments.at(0) == "use") return driver().cuStreamSynchronize(stream);
    if (arguments.at(0) == "twice") return driver().cuCtxDestroy(second);
    if (arguments.at(0) == "leak") return 0;
    CHECK_CALL(cuCtxDestroy, first);
    CHECK_CALL(cuCtxGetCurrent, &now);
    std::printf("then %s", now == session.context ? "the primary one; " : "another; ");
    std::printf("left %zu MiB\n", before - free_mebibytes());
    session.close();
    return 0;
}

int managed(const Arguments&) {
    Session session;
    const std::size_t before = free_mebibytes();
    cu::DevicePtr p;
    CHECK_CALL(cuMemAllocManaged, &p, 64 * mebibyte, cu::attach_global);
    std::memset(reinterpret_cast<void*>(p), 1, 64 * mebibyte);
    std::printf("took %zu MiB, ", before - free_mebibytes());
    CHECK_CALL(cuMemFree, p);
    std::printf("gave back %s\n", before == free_mebibytes() ? "all" : "not all");
    session.close();
    return 0;
}

/// read | write | elsewhere, then read | write: the access of a kernel to managed memory, then the host's before it
/// waits.
int managed_meeting(const Arguments& arguments) {
    Session session;
    cu::DevicePtr shared, other = session.allocate(4096);
    CHECK_CALL(cuMemAllocManaged, &shared, 4096, cu::attach_global);
    CHECK_CALL(cuMemsetD8Async, other, 0, 4096, session.streams[0]);
    auto* numbers = reinterpret_cast<volatile float*>(shared);
    numbers[0] = 1;
    const std::string kernel = arguments.at(0);
    cu::DevicePtr to = kernel == "write" ? shared : other, from = kernel == "read" ? shared : other;
    unsigned long long offset = 0;
    void* parameters[] = {&to, &from, &offset};
    session.launch("read_beyond", 1, 1, 0, parameters);
    if (arguments.at(1) == "write") numbers[0] = 2;
    const float seen = numbers[0];
    CHECK_CALL(cuStreamSynchronize, session.streams[0]);
    numbers[0] = seen;
    std::printf("the host saw %g\n", double(seen));
    CHECK_CALL(cuMemFree, shared);
    return 0;
}

/// Reverses the elements of each block, through the scratch memory.
int two_phases(const Arguments&) {
    Session session;
    constexpr unsigned n = 512, block = 128;
    std::vector<float> x(n), y(n);
    for (unsigned i = 0; i < n; ++i) x[i] = float(i);
    cu::DevicePtr in = session.allocate(n * 4), out = session.allocate(n * 4);
    CHECK_CALL(cuMemcpyHtoDAsync, in, x.data(), n * 4, session.streams[0]);
    void* parameters[] = {&out, &in};
    session.launch("reverse_blocks", n / block, block, block * 4, parameters);
    CHECK_CALL(cuMemcpyDtoHAsync, y.data(), out, n * 4, session.streams[0]);
    int wrong = 0;
    for (unsigned i = 0; i < n; ++i) wrong += y[i] != x[i / block * block + block - 1 - i % block];
    const cu::Result too_much = driver().cuLaunchKernel(session.function("reverse_blocks"), 1, 1, 1, block, 1, 1,
                                                        64 * 1024, session.streams[0], parameters, nullptr);
    std::printf("%d wrong; 64 KiB without asking first: %d\n", wrong, too_much);
    return 0;
}

int read_beyond(const Arguments& arguments) {
    Session session;
    cu::DevicePtr in = session.allocate(4096), out = session.allocate(4);
    CHECK_CALL(cuMemsetD8Async, in, 0, 4096, session.streams[0]);
    unsigned long long offset = std::stoull(arguments.at(0));
    void* parameters[] = {&out, &in, &offset};
    session.launch("read_beyond", 1, 1, 0, parameters);
    const cu::Result result = driver().cuStreamSynchronize(session.streams[0]);
    cu::DevicePtr p;
    const cu::Result after = driver().cuMemAllocFromPoolAsync(&p, 4, session.pool, session.streams[0]);
    driver().cuDevicePrimaryCtxRelease(0);
    cu::Context again;
    const cu::Result retained = driver().cuDevicePrimaryCtxRetain(&again, 0);
    std::printf("%d, then %d, and anew %d\n", result, after, retained);
    return 0;
}

int fresh_memory(const Arguments&) {
    Session session;
    float value = 0;
    CHECK_CALL(cuMemcpyDtoHAsync, &value, session.allocate(4), 4, session.streams[0]);
    std::printf("fresh memory is %s\n", std::isnan(value) ? "NaN" : "a number");
    return 0;
}

int touch_from_host(const Arguments&) {
    Session session;
    return *reinterpret_cast<volatile int*>(session.allocate(4096)) ? 0 : 1;
}

int use_after_release(const Arguments&) {
    Session session;
    CHECK_CALL(cuDevicePrimaryCtxRelease, 0);
    return driver().cuStreamSynchronize(session.streams[0]);
}

int use_after_free(const Arguments&) {
    Session session;
    const cu::DevicePtr p = session.allocate(4);
    CHECK_CALL(cuMemFreeAsync, p, session.streams[0]);
    return driver().cuMemsetD8Async(p, 0, 4, session.streams[0]);
}

int default_stream(const Arguments&) {
    Session session;
    return driver().cuStreamSynchronize(nullptr);
}

int unknown_attribute(const Arguments&) {
    CHECK_CALL(cuInit, 0);
    int value;
    return driver().cuDeviceGetAttribute(&value, 4711, 0);
}

int in_a_forked_child(const Arguments&) {
    Session session;
    const pid_t child = fork();
    int count, status;
    if (child == 0) _exit(driver().cuDeviceGetCount(&count));
    waitpid(child, &status, 0);
    std::printf("in the child: %d\n", WEXITSTATUS(status));
    session.close();
    return 0;
}

int two_gpus(const Arguments&) {
    Session first(0), second(1);
    int possible;
    CHECK_CALL(cuDeviceCanAccessPeer, &possible, 0, 1);
    cu::MemAccess access{{cu::location_device, 1}, 3};
    const cu::Result allowed = driver().cuMemPoolSetAccess(first.pool, &access, 1);
    CHECK_CALL(cuCtxSetCurrent, first.context);
    cu::DevicePtr x = first.allocate(4), y;
    CHECK_CALL(cuStreamSynchronize, first.streams[0]);
    CHECK_CALL(cuCtxSetCurrent, second.context);
    y = second.allocate(4);
    CHECK_CALL(cuMemcpyPeerAsync, y, second.context, x, first.context, 4, second.streams[0]);
    unsigned long long offset = 0;
    void* parameters[] = {&y, &x, &offset};
    second.launch("read_beyond", 1, 1, 0, parameters);
    std::printf("peer %d, access %d, kernel %d\n", possible, allowed, driver().cuStreamSynchronize(second.streams[0]));
    return 0;
}

/// Copies from device to pinned memory to device, ordered only by an event; then writes the pinned memory again.
int through_pinned(const Arguments&) {
    Session session;
    float *staging = pin_floats(1), value = 0;
    cu::Event event;
    CHECK_CALL(cuEventCreate, &event, cu::event_disable_timing);
    const cu::DevicePtr x = session.allocate(4, 0), y = session.allocate(4, 1);
    CHECK_CALL(cuMemsetD8Async, x, 0, 4, session.streams[0]);
    CHECK_CALL(cuMemcpyDtoHAsync, staging, x, 4, session.streams[0]);
    CHECK_CALL(cuEventRecord, event, session.streams[0]);
    CHECK_CALL(cuStreamWaitEvent, session.streams[1], event, 0);
    CHECK_CALL(cuMemcpyHtoDAsync, y, staging, 4, session.streams[1]);
    CHECK_CALL(cuMemcpyDtoHAsync, staging, y, 4, session.streams[1]);
    CHECK_CALL(cuMemcpyDtoHAsync, &value, y, 4, session.streams[1]);
    std::printf("%g %g\n", double(value), double(*staging));
    return 0;
}

int capture(const Arguments&) {
    Session session;
    int status = -1;
    std::uint64_t id = 0;
    CHECK_CALL(cuStreamGetCaptureInfo, session.streams[0], &status, &id);
    using Set = void(void*, int);
    reinterpret_cast<Set*>(dlsym(driver().library, "simgpu_set_capturing"))(session.streams[0], 1);
    int later = -1;
    CHECK_CALL(cuStreamGetCaptureInfo, session.streams[0], &later, &id);
    std::printf("capturing %d, then %d; synchronize: %d\n", status, later,
                driver().cuStreamSynchronize(session.streams[0]));
    return 0;
}

/// Two captures that depend on each other, one that depends on an uncaptured operation, and a stream that joins one.
int captures(const Arguments&) {
    Session session;
    cu::Stream a = session.streams[0], b = session.streams[1];
    cu::Event in_a, outside;
    auto* set = reinterpret_cast<void (*)(void*, int)>(dlsym(driver().library, "simgpu_set_capturing"));
    const auto print_status = [](cu::Stream stream) {
        int value = -1;
        std::uint64_t id = 0;
        CHECK_CALL(cuStreamGetCaptureInfo, stream, &value, &id);
        std::printf(", then %d/%d", value, int(id));
    };
    CHECK_CALL(cuEventCreate, &in_a, cu::event_disable_timing);
    CHECK_CALL(cuEventCreate, &outside, cu::event_disable_timing);
    CHECK_CALL(cuEventRecord, outside, b);
    set(a, 7), set(b, 8);
    CHECK_CALL(cuEventRecord, in_a, a);
    std::printf("two: %d", driver().cuStreamWaitEvent(b, in_a, 0));
    print_status(a), print_status(b);
    set(a, 0), set(b, 0), set(a, 9);
    std::printf("; outside: %d", driver().cuStreamWaitEvent(a, outside, 0));
    print_status(a);
    set(a, 0), set(a, 10);
    CHECK_CALL(cuEventRecord, in_a, a);
    std::printf("; join: %d", driver().cuStreamWaitEvent(b, in_a, 0));
    print_status(b);
    set(a, 0);
    std::printf("; ended: %d", driver().cuStreamWaitEvent(b, in_a, 0));
    print_status(b);
    std::printf("\n");
    return 0;
}

int times(const Arguments&) {
    Session session;
    cu::Event begin, end, timeless;
    CHECK_CALL(cuEventCreate, &begin, 0);
    CHECK_CALL(cuEventCreate, &end, 0);
    CHECK_CALL(cuEventCreate, &timeless, cu::event_disable_timing);
    CHECK_CALL(cuEventRecord, begin, session.streams[0]);
    CHECK_CALL(cuMemsetD8Async, session.allocate(64 * mebibyte), 0, 64 * mebibyte, session.streams[0]);
    CHECK_CALL(cuEventRecord, end, session.streams[0]);
    float ms = -1;
    const cu::Result early = driver().cuEventElapsedTime(&ms, begin, end);
    CHECK_CALL(cuEventSynchronize, end);
    CHECK_CALL(cuEventElapsedTime, &ms, begin, end);
    std::printf("early %d, %s, timeless %d\n", early, ms > 0 ? "positive" : "not positive",
                driver().cuEventElapsedTime(&ms, begin, timeless));
    return 0;
}

int versions(const Arguments&) {
    int version;
    CHECK_CALL(cuDriverGetVersion, &version);
    std::printf("version %d, cuFuncGetParamInfo %s\n", version, driver().cuFuncGetParamInfo ? "there" : "missing");
    return 0;
}

int parameters(const Arguments&) {
    Session session;
    const cu::Function f = session.function("apply_affine");
    for (std::size_t i = 0, offset, size; driver().cuFuncGetParamInfo(f, i, &offset, &size) == cu::success; ++i)
        std::printf("%zu+%zu ", offset, size);
    cu::Function none;
    std::printf("missing kernel %d\n", driver().cuModuleGetFunction(&none, session.module, "no_such_kernel"));
    return 0;
}

std::string text_of(const cu::Uuid& uuid) {
    std::string text;
    char hex[3];
    for (const char byte : uuid.bytes) std::snprintf(hex, sizeof hex, "%02x", unsigned(byte) & 255), text += hex;
    return text;
}

int cuda_devices(const Arguments&) {
    const cu::Result result = driver().cuInit(0);
    int count = 0;
    driver().cuDeviceGetCount(&count);
    std::printf("init %d:", result);
    for (int i = 0; i < count; ++i) {
        cu::Uuid uuid;
        CHECK_CALL(cuDeviceGetUuid, &uuid, i);
        std::printf(" %s", text_of(uuid).substr(0, 4).c_str());
    }
    std::printf("\n");
    return 0;
}

void print_nvml_device(cu::NvmlDevice device) {
    char uuid[96];
    cu::NvmlMemory memory;
    cu::NvmlUtilization utilization{999, 999};
    unsigned processes = 0;
    nvml().nvmlDeviceGetUUID(device, uuid, sizeof uuid);
    nvml().nvmlDeviceGetMemoryInfo(device, &memory);
    const int result = nvml().nvmlDeviceGetUtilizationRates(device, &utilization);
    nvml().nvmlDeviceGetComputeRunningProcesses_v3(device, &processes, nullptr);
    std::printf("%.8s %llu MiB, utilization %d/%u, %u processes\n", uuid, memory.free / mebibyte, result,
                utilization.gpu, processes);
}

int nvml_devices(const Arguments&) {
    unsigned count = 0;
    nvml().nvmlDeviceGetCount_v2(&count);
    for (unsigned i = 0; i < count; ++i) {
        cu::NvmlDevice device, instance;
        nvml().nvmlDeviceGetHandleByIndex_v2(i, &device);
        print_nvml_device(device);
        for (unsigned k = 0; nvml().nvmlDeviceGetMigDeviceHandleByIndex(device, k, &instance) == 0; ++k)
            print_nvml_device(instance);
    }
    return 0;
}

/// MEBIBYTES [DEVICE UTILIZATION]
int set_stranger(const Arguments& arguments) {
    using Set = void(int, unsigned long long, int);
    const bool more = arguments.size() > 2;
    reinterpret_cast<Set*>(dlsym(driver().library, "simgpu_set_stranger"))(more ? std::stoi(arguments[1]) : 0,
                                                                           std::stoull(arguments.at(0)) * mebibyte,
                                                                           more ? std::stoi(arguments[2]) : 91);
    return 0;
}

}  // namespace

int run_program(const Arguments& arguments) {
    const std::map<std::string, int (*)(const Arguments&)> programs = {
        {"pipeline", pipeline},
        {"free", print_free},
        {"hold", hold},
        {"processes", print_all_processes},
        {"fragments", fragments},
        {"managed_meeting", managed_meeting},
        {"context", only_context},
        {"context_when_told", context_when_told},
        {"pool_limit", pool_limit},
        {"hoard", hoard},
        {"destroy_pool_in_use", destroy_pool_in_use},
        {"managed", managed},
        {"separate", separate},
        {"two_phases", two_phases},
        {"read_beyond", read_beyond},
        {"fresh_memory", fresh_memory},
        {"touch_from_host", touch_from_host},
        {"use_after_release", use_after_release},
        {"use_after_free", use_after_free},
        {"default_stream", default_stream},
        {"unknown_attribute", unknown_attribute},
        {"in_a_forked_child", in_a_forked_child},
        {"two_gpus", two_gpus},
        {"through_pinned", through_pinned},
        {"capture", capture},
        {"captures", captures},
        {"times", times},
        {"versions", versions},
        {"parameters", parameters},
        {"cuda_devices", cuda_devices},
        {"nvml_devices", nvml_devices},
        {"set_stranger", set_stranger},
    };
    return programs.at(arguments.at(0))(Arguments(arguments.begin() + 1, arguments.end()));
}
