// Loops over counts that the compiler vectorises; one source for every instruction set.
// SPDX-License-Identifier: MIT
#include "data/counts.hpp"

namespace glint::GLINT_ISA {
namespace {

template <class Count>
void scale(const Count* __restrict counts, std::size_t n, const CountsScale& scale, float* __restrict photoelectrons) {
    const float *offsets = scale.offsets, *factors = scale.factors, offset = scale.offset, factor = scale.factor;
    if (factors)
        for (std::size_t k = 0; k < n; ++k) photoelectrons[k] = (float(counts[k]) - offsets[k]) * factors[k];
    else
        for (std::size_t k = 0; k < n; ++k) photoelectrons[k] = (float(counts[k]) - offset) * factor;
}

}  // namespace

void scale_uint8(const std::uint8_t* counts, std::size_t n, const CountsScale& by, float* photoelectrons) {
    scale(counts, n, by, photoelectrons);
}
void scale_uint16(const std::uint16_t* counts, std::size_t n, const CountsScale& by, float* photoelectrons) {
    scale(counts, n, by, photoelectrons);
}
void scale_float32(const float* counts, std::size_t n, const CountsScale& by, float* photoelectrons) {
    scale(counts, n, by, photoelectrons);
}

}  // namespace glint::GLINT_ISA
