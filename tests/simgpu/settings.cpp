// The environment variables SIMGPU_*.
// SPDX-License-Identifier: MIT
#include "settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace simgpu {
namespace {

void print(const char* kind, const char* format, va_list arguments) {
    char text[512];
    std::vsnprintf(text, sizeof text, format, arguments);
    std::fprintf(stderr, "simgpu: %s: %s\n", kind, text);
    std::fflush(nullptr);
}

}  // namespace

std::string setting(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value && *value ? value : otherwise;
}

bool is_set(const char* name) {
    const std::string value = setting(name);
    return !value.empty() && value != "0";
}

long setting_number(const char* name, long otherwise) {
    const std::string value = setting(name);
    return value.empty() ? otherwise : std::strtol(value.c_str(), nullptr, 10);
}

bool is_sick(int device, const std::string& illness) {
    const auto all = split(setting("SIMGPU_SICK"), ',');
    return std::find(all.begin(), all.end(), std::to_string(device) + ':' + illness) != all.end();
}

std::uint64_t parse_bytes(const std::string& text) {
    char* unit = nullptr;
    const std::uint64_t number = std::strtoull(text.c_str(), &unit, 10);
    const std::string_view name = unit;
    if (name == "") return number;
    if (name == "KiB") return number << 10;
    if (name == "MiB") return number << 20;
    if (name == "GiB") return number << 30;
    broken("'%s' is no size: write 8GiB, 512MiB or bytes", text.c_str());
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t end; !text.empty(); text.remove_prefix(end == text.npos ? text.size() : end + 1)) {
        end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
    }
    return parts;
}

void bug(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print("BUG", format, arguments);
    _exit(86);
}

void broken(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print("broken", format, arguments);
    std::abort();
}

}  // namespace simgpu
