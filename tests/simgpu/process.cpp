// The simulated driver's state of this process.
// SPDX-License-Identifier: MIT
#include "process.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "faults.hpp"

namespace simgpu {
namespace {

/// With MIG, CUDA lists only one instance of a partitioned GPU. All other instances must be named by UUID.
std::vector<int> all_ordinals() {
    std::vector<int> ordinals;
    for (int i = 0; i < server().device_count; ++i) {
        const Device& d = server().devices[i];
        if (is_for_cuda(d) && (d.parent < 0 || d.parent == i - 1)) ordinals.push_back(i);
    }
    if (is_set("SIMGPU_REVERSED")) std::reverse(ordinals.begin(), ordinals.end());
    return ordinals;
}

bool is_uuid(std::string_view name) { return name.starts_with("GPU-") || name.starts_with("MIG-"); }

/// Finds a device by the beginning of its UUID, in upper or lower case. The beginning must be unique.
int find_by_uuid(std::string name) {
    std::transform(name.begin() + 4, name.end(), name.begin() + 4, [](unsigned char c) { return std::tolower(c); });
    int found = -1;
    for (int i = 0; i < server().device_count; ++i) {
        if (!is_for_cuda(server().devices[i]) || !uuid_text(server().devices[i]).starts_with(name)) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return name.size() > 4 ? found : -1;
}

/// Parses an index like strtol: " 1", "01" and "1abc" are 1.
int find_by_index(const std::string& name) {
    const auto ordinals = all_ordinals();
    char* end = nullptr;
    const long index = std::strtol(name.c_str(), &end, 10);
    return end != name.c_str() && index >= 0 && index < long(ordinals.size()) ? ordinals[std::size_t(index)] : -1;
}

}  // namespace

void Context::note_error(cu::Result result) {
    if (result == cu::success) return;
    if (is_sticky(result))
        lose(device, result);
    else
        pending = result;
}

cu::Result Context::take_error() { return lost ? lost : std::exchange(pending, cu::success); }

Process& process() {
    static auto& p = *new Process;
    return p;
}

void change_captures(std::initializer_list<std::uint64_t> which, std::uint64_t into) {
    process().streams.for_each([&](Stream& stream) {
        if (stream.capture && std::find(which.begin(), which.end(), stream.capture) != which.end())
            stream.capture = into;
    });
}

Context*& current() {
    static thread_local Context* context = nullptr;
    return context;
}

std::vector<Context*>& below_current() {
    static thread_local std::vector<Context*> below;
    return below;
}

void lose(int device, cu::Result result) {
    process().contexts[device].lost = result;
    for (Context* context : process().separate)
        if (context->device == device) context->lost = result;
}

int separate_count(int device) {
    return int(std::ranges::count_if(process().separate, [=](const Context* context) {
        return context->device == device && context->references > 0;
    }));
}

int device_of(cu::Device ordinal) {
    const auto& visible = process().visible;
    return ordinal >= 0 && ordinal < int(visible.size()) ? visible[ordinal] : -1;
}

std::optional<std::vector<int>> visible_devices() {
    const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!value) return all_ordinals();
    std::vector<int> visible;
    for (const std::string& name : split(value, ',')) {
        // The first entry determines whether all are numbers or UUIDs.
        const bool by_uuid = is_uuid(value);
        const int device = !by_uuid ? find_by_index(name) : is_uuid(name) ? find_by_uuid(name) : -1;
        if (device < 0) break;  // the first bad entry hides all later ones, without an error
        if (std::count(visible.begin(), visible.end(), device)) return {};
        visible.push_back(device);
    }
    return visible;
}

}  // namespace simgpu
