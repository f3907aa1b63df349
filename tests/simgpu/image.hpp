// Input of cuModuleLoadData: a fatbin from nvcc, or a simulated image; its kernels and their parameters.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace simgpu {

/// Replaces a fatbin in builds without nvcc: 16 bytes without kernel names, which stand for all kernels of
/// SIMGPU_KERNELS.
constexpr char simulated_image[] = "SIMGPU IMAGE 1\n";
static_assert(sizeof simulated_image == 16);

/// Returns the code in the image for this compute capability (90: 9.0), as bytes to search for names; nullopt if there
/// is none. Empty for a simulated image.
std::optional<std::string> code_for(const void* image, int capability);

/// Returns whether the code contains a kernel of this name. True for compressed code, which cannot be searched.
bool has_kernel(std::string_view code, std::string_view name);

/// A parameter that nvcc recorded for a kernel, to compare with the host compiler's layout.
struct RecordedParameter {
    unsigned offset, size;
    bool operator==(const RecordedParameter&) const = default;
};

/// Returns the parameters by number; empty if the code is compressed or not machine code.
std::map<unsigned, RecordedParameter> recorded_parameters(std::string_view code, const std::string& kernel);

}  // namespace simgpu
