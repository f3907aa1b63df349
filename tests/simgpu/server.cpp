// The simulated server: the state shared by all processes on it.
// SPDX-License-Identifier: MIT
#include "server.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "settings.hpp"

namespace simgpu {
namespace {

constexpr std::uint64_t this_magic = 0x51a9b00f0007;
int file = -1;
int own_slot = -1;
Server* mapped = nullptr;

struct flock lock_of_slot(int slot) {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = (1 << 30) + slot;  // a byte beyond the end
    lock.l_len = 1;
    return lock;
}

/// F_OFD_GETLK queries the lock without acquiring it, so that two processes that query do not mistake each other for
/// the owner.
bool is_alive(int slot) {
    struct flock lock = lock_of_slot(slot);
    return slot == own_slot || (fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK);
}

/// Removes ended processes. Their memory returns after the delay, counted from the first query, which still counts it.
void remove_the_dead() {
    for (int i = 0; i < max_processes; ++i) {
        ProcessEntry& slot = mapped->slots[i];
        if (!slot.used || is_alive(i)) continue;
        if (!slot.ended_ns) slot.ended_ns = now_ns();
        if (now_ns() - slot.ended_ns >= mapped->release_delay_ns) std::memset(&slot, 0, sizeof slot);
    }
}

Device& add_device(Server& s, std::uint64_t bytes, int parent) {
    if (s.device_count == max_devices) broken("more than %d devices and MIG instances", max_devices);
    const int i = s.device_count++;
    Device& d = s.devices[i];
    d = {};
    d.total_bytes = bytes;
    d.base_bytes = 4 * mebibyte;
    d.parent = parent;
    d.foreign_pid = 4'000'000 + unsigned(i);  // no existing process
    d.capability = int(setting_number("SIMGPU_CC", 90));
    d.compute_mode = int(setting_number("SIMGPU_COMPUTE_MODE", 0));
    for (int k = 0; k < 16; ++k) d.uuid[k] = static_cast<unsigned char>(17 * (i + 1) + k);
    if (parent < 0)
        std::snprintf(d.name, sizeof d.name, "Simulated GPU");
    else
        std::snprintf(d.name, sizeof d.name, "Simulated GPU MIG 1g.%dgb", int(bytes >> 30));
    return d;
}

/// SIMGPU_DEVICES="2x8GiB,1x80GiB"; SIMGPU_MIG="1:2": GPU 1 is cut into 2 instances.
void add_devices(Server& s) {
    const auto cuts = split(setting("SIMGPU_MIG"), ',');
    int gpu = 0;
    for (const std::string& group : split(setting("SIMGPU_DEVICES", "2x8GiB"), ',')) {
        const auto parts = split(group, 'x');
        if (parts.size() != 2) broken("SIMGPU_DEVICES=%s: write 2x8GiB", group.c_str());
        const std::uint64_t bytes = parse_bytes(parts[1]);
        for (int n = std::stoi(parts[0]); n > 0; --n, ++gpu) {
            const int parent = s.device_count;
            Device& d = add_device(s, bytes, -1);
            for (const std::string& cut : cuts)
                if (split(cut, ':').at(0) == std::to_string(gpu)) d.instances = std::stoi(split(cut, ':').at(1));
            for (int i = 0; i < d.instances; ++i) add_device(s, bytes / d.instances, parent);
        }
    }
}

/// SIMGPU_STRANGERS="0:6GiB:95:4711": a foreign process, 4711, uses 6 GiB of device 0 and keeps it 95 % busy.
void add_foreign_processes(Server& s) {
    for (const std::string& entry : split(setting("SIMGPU_STRANGERS"), ',')) {
        const auto parts = split(entry, ':');
        if (parts.size() < 2) broken("SIMGPU_STRANGERS=%s: write 0:6GiB:95", entry.c_str());
        Device& d = s.devices[std::stoi(parts[0]) % max_devices];
        d.foreign_bytes = parse_bytes(parts[1]);
        d.foreign_utilization = parts.size() > 2 ? std::stoi(parts[2]) : 0;
        if (parts.size() > 3) d.foreign_pid = unsigned(std::stoul(parts[3]));
    }
}

std::uint64_t seconds_setting(const char* name) { return std::uint64_t(std::stod(setting(name, "0")) * 1e9); }

void create(Server& s) {
    s.device_count = 0;
    s.time_scale = std::stod(setting("SIMGPU_TIME_SCALE", "0.1"));
    s.release_delay_ns = seconds_setting("SIMGPU_RELEASE_DELAY");
    s.nvml_lag_ns = seconds_setting("SIMGPU_NVML_LAG");
    add_devices(s);
    add_foreign_processes(s);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&s.mutex, &attributes);
    __atomic_store_n(&s.magic, this_magic, __ATOMIC_RELEASE);
}

Server* attach() {
    const std::string path = setting("SIMGPU_STATE", "/dev/shm/simgpu.state");
    file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) broken("%s: %s", path.c_str(), std::strerror(errno));
    flock(file, LOCK_EX);  // if the creator is killed here, magic stays 0, and the next process creates the state
    struct stat status;
    fstat(file, &status);
    if (status.st_size < off_t(sizeof(Server)) && ftruncate(file, sizeof(Server)))
        broken("%s: %s", path.c_str(), std::strerror(errno));
    void* memory = mmap(nullptr, sizeof(Server), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) broken("%s: %s", path.c_str(), std::strerror(errno));
    auto* s = static_cast<Server*>(memory);
    if (s->magic == 0) create(*s);
    if (s->magic != this_magic) broken("%s was written by another version: remove it", path.c_str());
    flock(file, LOCK_UN);
    return s;
}

template <class Count>
int count_slots(Count count) {
    return int(std::count_if(mapped->slots, mapped->slots + max_processes,
                             [&](const ProcessEntry& slot) { return slot.used && count(slot); }));
}

}  // namespace

Server& server() {
    static Server& s = *(mapped = attach());
    return s;
}

ServerLock::ServerLock() {
    const int result = pthread_mutex_lock(&server().mutex);
    if (result == EOWNERDEAD)  // the state is consistent: see server.hpp
        pthread_mutex_consistent(&server().mutex);
    else if (result)
        broken("the server's mutex: %s", std::strerror(result));
    remove_the_dead();
}

ServerLock::~ServerLock() { pthread_mutex_unlock(&mapped->mutex); }

void claim_slot() {
    ServerLock locked;
    for (int i = 0; i < max_processes; ++i) {
        struct flock lock = lock_of_slot(i);
        ProcessEntry& slot = mapped->slots[i];
        if (slot.used || fcntl(file, F_OFD_SETLK, &lock)) continue;
        std::memset(&slot, 0, sizeof slot);
        slot.pid = getpid();
        slot.used = 1;
        own_slot = i;
        return;
    }
    broken("more than %d processes", max_processes);
}

Use& own_use(int device) { return mapped->slots[own_slot].use[device]; }

std::uint64_t used_bytes(int device) {
    const Device& d = mapped->devices[device];
    std::uint64_t sum = d.base_bytes + d.foreign_bytes;
    for (const ProcessEntry& slot : mapped->slots)
        if (slot.used) sum += slot.use[device].bytes();
    for (int i = 1; i <= d.instances; ++i) sum += used_bytes(device + i);
    return sum;
}

std::uint64_t free_bytes(int device) {
    const std::uint64_t total = mapped->devices[device].total_bytes;
    return total - std::min(total, used_bytes(device));
}

int context_count(int device) {
    int sum = 0;
    for (const ProcessEntry& slot : mapped->slots)
        if (slot.used) sum += int(slot.use[device].contexts);
    return sum;
}

int creating_count(int device) {
    int sum = 0;
    for (const ProcessEntry& slot : mapped->slots)
        if (slot.used) sum += int(slot.use[device].creating);
    return sum;
}

bool is_busy(const ProcessEntry& slot, int device) { return slot.used && slot.use[device].busy_until_ns > now_ns(); }

int busy_processes(int device) {
    return int(count_slots([=](const ProcessEntry& slot) { return is_busy(slot, device); }));
}

int utilization_percent(int device) {
    return std::max(mapped->devices[device].foreign_utilization, busy_processes(device) > 0 ? 97 : 0);
}

std::uint64_t shown_bytes(ProcessEntry& slot, int device) {
    Use& use = slot.use[device];
    if (!use.shown_ns || now_ns() - use.shown_ns >= mapped->nvml_lag_ns)
        use.shown_bytes = use.bytes(), use.shown_ns = now_ns();
    return use.shown_bytes;
}

std::uint64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::uint64_t(t.tv_sec) * 1000000000u + std::uint64_t(t.tv_nsec);
}

std::string uuid_text(const Device& device) {
    std::string text = device.parent < 0 ? "GPU-" : "MIG-";
    char hex[3];
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        std::snprintf(hex, sizeof hex, "%02x", device.uuid[i]);
        text += hex;
    }
    return text;
}

std::string pci_bus_text(int device) {
    const int gpu = mapped->devices[device].parent < 0 ? device : mapped->devices[device].parent;
    char text[24];
    std::snprintf(text, sizeof text, "00000000:%02X:00.0", gpu + 1);
    return text;
}

}  // namespace simgpu
