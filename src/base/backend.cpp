// The names of the choice between CPU and GPU.
// SPDX-License-Identifier: MIT
#include "glint/backend.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace glint {

const char* name_of(Backend backend) {
    constexpr const char* names[] = {"auto", "cpu", "gpu", "prefer-gpu"};
    return names[int(backend)];
}

std::optional<Backend> backend_named(std::string_view word) {
    std::string name(word);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const Backend backend : {Backend::automatic, Backend::cpu, Backend::gpu, Backend::prefer_gpu})
        if (name == name_of(backend)) return backend;
    return name == "cuda" ? std::optional(Backend::gpu) : std::nullopt;
}

}  // namespace glint
