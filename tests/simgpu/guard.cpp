// Device memory as address space that is inaccessible to host code (mprotect and a SIGSEGV handler).
// SPDX-License-Identifier: MIT
#include "guard.hpp"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "memory.hpp"
#include "server.hpp"
#include "settings.hpp"

namespace simgpu {
namespace {

Arena arenas[max_devices + 1];

thread_local sigjmp_buf way_back;
thread_local volatile bool device_code_runs = false;
struct sigaction previous[2];  // for SIGSEGV, SIGBUS

/// Returns more than the size of all simultaneous allocations, so that addresses are not reused soon.
std::size_t arena_bytes(int device) {
    std::size_t bytes = std::size_t(1) << 30;
    for (int i = 0; i < server().device_count; ++i)
        if (i == device || device == managed_arena)
            bytes = std::max<std::size_t>(bytes, server().devices[i].total_bytes);
    return 4 * bytes;
}

/// Opens memory when device code first accesses it, and closes it when the object is destroyed. Only accessed memory is
/// opened, because each call of mprotect costs some microseconds, and a program has many more allocations than an
/// operation uses.
class OpenMemory {
  public:
    OpenMemory() {
        opened().clear();
        opened().reserve(allocations().size());  // a signal handler must not allocate
    }
    ~OpenMemory() {
        for (const std::uintptr_t begin : opened())
            if (const auto found = allocations().find(begin); found != allocations().end())
                set_access(found->second.mapped_begin, found->second.mapped_bytes, found->second.host);
    }
    OpenMemory(const OpenMemory&) = delete;

    /// Returns false if no closed memory is mapped there.
    static bool open(std::uintptr_t address) {
        const auto end = [](const Allocation& a) { return a.mapped_begin + a.mapped_bytes; };
        auto found = allocations().upper_bound(address);
        const bool between = found == allocations().end() || found->second.mapped_begin > address;
        if (between && (found == allocations().begin() || address >= end((--found)->second))) return false;
        const Allocation& a = found->second;
        if (a.host == HostAccess::all || std::ranges::find(opened(), a.begin) != opened().end()) return false;
        opened().push_back(a.begin);
        set_access(a.mapped_begin, a.mapped_bytes, HostAccess::all);
        return true;
    }

  private:
    /// Never destroyed, because operations run until the program's end.
    static std::vector<std::uintptr_t>& opened() {
        static auto& begins = *new std::vector<std::uintptr_t>;
        return begins;
    }
};

void on_fault(int signal, siginfo_t* info, void*) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    if (device_code_runs) {
        if (OpenMemory::open(address)) return;  // the instruction runs again
        siglongjmp(way_back, 1);
    }
    if (const Allocation* a = find_allocation(address); a && a->managed)
        bug("the host touches managed memory at %p, which %s may be using: synchronize first", info->si_addr,
            is_set("SIMGPU_NO_CONCURRENT_MANAGED") ? "this device, as long as any kernel may run," : "an operation");
    if (in_any_arena(address))
        bug("the host touches device memory at %p, which it can reach by a copy only", info->si_addr);
    sigaction(signal, &previous[signal == SIGBUS], nullptr);  // not device memory: the instruction faults again
}

void watch_faults() {
    static const bool once = [] {
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        sigaction(SIGSEGV, &action, &previous[0]);
        sigaction(SIGBUS, &action, &previous[1]);
        return true;
    }();
    (void)once;
}

}  // namespace

Arena arena_of(int device) {
    Arena& arena = arenas[device];
    if (!arena.begin) {
        watch_faults();
        const std::size_t bytes = arena_bytes(device);
        void* memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) broken("no address space for a device: %s", std::strerror(errno));
        arena = {reinterpret_cast<std::uintptr_t>(memory), reinterpret_cast<std::uintptr_t>(memory) + bytes};
    }
    return arena;
}

void set_access(std::uintptr_t begin, std::size_t bytes, HostAccess allowed) {
    constexpr int protection[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};
    if (mprotect(reinterpret_cast<void*>(begin), bytes, protection[int(allowed)]))
        broken("mprotect: %s", std::strerror(errno));
}

void drop_pages(std::uintptr_t begin, std::size_t bytes) {
    madvise(reinterpret_cast<void*>(begin), bytes, MADV_DONTNEED);
    set_access(begin, bytes, HostAccess::none);
}

void map_file(std::uintptr_t begin, std::size_t bytes, const std::string& file, bool create) {
    const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600);
    const bool sized = descriptor >= 0 && (!create || ftruncate(descriptor, off_t(bytes)) == 0);
    void* const at = reinterpret_cast<void*>(begin);
    if (!sized || mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED)
        broken("%s: %s", file.c_str(), std::strerror(errno));
    close(descriptor);
}

void unmap_file(std::uintptr_t begin, std::size_t bytes) {
    if (mmap(reinterpret_cast<void*>(begin), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
             -1, 0) == MAP_FAILED)
        broken("mmap: %s", std::strerror(errno));
}

bool in_any_arena(std::uintptr_t address) {
    for (const Arena& arena : arenas)
        if (address >= arena.begin && address < arena.end) return true;
    return false;
}

cu::Result run_as_device(const std::function<cu::Result()>& code) {
    watch_faults();
    // A thread that leaves signals to another thread has also blocked these faults, and would be killed at the first
    // access.
    sigset_t faults;
    sigemptyset(&faults), sigaddset(&faults, SIGSEGV), sigaddset(&faults, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
    const OpenMemory open;
    volatile cu::Result result = cu::illegal_address;
    if (sigsetjmp(way_back, 1) == 0) {
        device_code_runs = true;
        result = code();
    }
    device_code_runs = false;
    return result;
}

}  // namespace simgpu
