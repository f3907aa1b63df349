// What the simulated driver keeps for this process.
// SPDX-License-Identifier: MIT
#include "process.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "faults.hpp"

namespace simgpu {
namespace {

/// With MIG, CUDA offers one instance only of a GPU that is cut up; the others have to be named by UUID.
std::vector<int> all_ordinals() {
    std::vector<int> ordinals;
    for (int i = 0; i < server().device_count; ++i) {
        const Device& d = server().devices[i];
        if (is_for_cuda(d) && (d.parent < 0 || d.parent == i - 1)) ordinals.push_back(i);
    }
    return ordinals;
}

/// By index, or by a UUID or the beginning of one.
int find_device(const std::string& name) {
    const auto ordinals = all_ordinals();
    if (!name.empty() && name.find_first_not_of("0123456789") == name.npos) {
        const std::size_t index = std::strtoul(name.c_str(), nullptr, 10);
        return index < ordinals.size() ? ordinals[index] : -1;
    }
    if (name.size() <= 4 || (!name.starts_with("GPU-") && !name.starts_with("MIG-"))) return -1;
    for (int i = 0; i < server().device_count; ++i)
        if (is_for_cuda(server().devices[i]) && uuid_text(server().devices[i]).starts_with(name)) return i;
    return -1;
}

}  // namespace

void Context::note_error(cu::Result result) {
    if (result == cu::success) return;
    (is_sticky(result) ? lost : pending) = result;
}

cu::Result Context::take_error() { return lost ? lost : std::exchange(pending, cu::success); }

Process& process() {
    static auto& p = *new Process;
    return p;
}

Context*& current() {
    static thread_local Context* context = nullptr;
    return context;
}

int device_of(cu::Device ordinal) {
    const auto& visible = process().visible;
    return ordinal >= 0 && ordinal < int(visible.size()) ? visible[ordinal] : -1;
}

std::vector<int> visible_devices() {
    const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!value) return all_ordinals();
    std::vector<int> visible;
    for (const std::string& name : split(value, ',')) {
        const int device = find_device(name);
        if (device < 0) break;  // the first bad entry hides the rest, without an error
        if (std::count(visible.begin(), visible.end(), device)) return {};  // twice the same: nothing is visible
        visible.push_back(device);
    }
    return visible;
}

}  // namespace simgpu
