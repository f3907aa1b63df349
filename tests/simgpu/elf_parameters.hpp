// The parameters that nvcc recorded for a kernel, to compare with those of the host's compiler.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace simgpu {

struct RecordedParameter {
    unsigned offset, size;
    bool operator==(const RecordedParameter&) const = default;
};

/// By number; empty when the code is not machine code in clear.
std::map<unsigned, RecordedParameter> recorded_parameters(std::string_view code, const std::string& kernel);

}  // namespace simgpu
