// A libFuzzer program for the row of targets.hpp that GLINT_FUZZ_TARGET names.
// SPDX-License-Identifier: MIT
#include <string_view>

#include "tests/fuzz/targets.hpp"

namespace {

constexpr glint::fuzz::Target target = [] {
    for (const auto& one : glint::fuzz::targets)
        if (one.name == std::string_view(GLINT_FUZZ_TARGET)) return one;
    throw "no row of targets.hpp has this name";
}();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const char* bytes, std::size_t count) {
    target.feed({bytes, count});
    return 0;
}
