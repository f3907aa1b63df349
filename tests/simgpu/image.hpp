// What cuModuleLoadData takes: a fatbin as nvcc makes it, or a simulated image; its kernels and their parameters.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace simgpu {

/// Stands for a fatbin in builds without nvcc: 16 bytes that name no kernels, so that all of SIMGPU_KERNELS are in it.
constexpr char simulated_image[] = "SIMGPU IMAGE 1\n";
static_assert(sizeof simulated_image == 16);

/// The code in the image that would run on this compute capability (90: 9.0), as bytes to search for names; nothing
/// when there is none. A simulated image gives an empty text.
std::optional<std::string> code_for(const void* image, int capability);

/// Whether the code holds a kernel of this name. Compressed code cannot be searched: then yes.
bool has_kernel(std::string_view code, std::string_view name);

/// A parameter that nvcc recorded for a kernel, to compare with that of the host's compiler.
struct RecordedParameter {
    unsigned offset, size;
    bool operator==(const RecordedParameter&) const = default;
};

/// By number; empty when the code is not machine code in clear.
std::map<unsigned, RecordedParameter> recorded_parameters(std::string_view code, const std::string& kernel);

}  // namespace simgpu
