// Validates operands.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "glint/arrays/array.hpp"
#include "glint/arrays/work.hpp"

namespace glint::arrays {

std::string words(const Shape& shape);  ///< "(3, 4)"
/// Throws OptionError "WHAT: EXPECTED, not SHAPE".
[[noreturn]] void refuse(const std::string& what, const std::string& expected, const Shape& shape);
/// Checks the matrix of svd() or eigh(), in C order. Throws OptionError with the position of the first NaN or infinity.
template <class T>
void require_finite(const char* what, const std::vector<T>& a, std::int64_t rows, std::int64_t columns);
/// Throws the OptionError of solve(); columns count from 0.
[[noreturn]] void refuse_singular(std::int64_t rows, std::int64_t column);
void require_shape(const std::string& what, const Shape& expected, const Shape& shape);

template <class T>
Residency residency(std::initializer_list<const Operand<const T>*> inputs, bool result_on_gpu) {
    Residency at;
    for (const Operand<const T>* input : inputs) at.inputs_on_gpu = at.inputs_on_gpu || input->on_device();
    at.result_on_gpu = result_on_gpu;
    return at;
}

}  // namespace glint::arrays
