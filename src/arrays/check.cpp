// Shapes in words.
// SPDX-License-Identifier: MIT
#include "arrays/check.hpp"

#include "glint/error.hpp"

namespace glint::arrays {

std::string words(const Shape& shape) {
    std::string text = "(";
    for (int k = 0; k < shape.dimensions; ++k) text += (k ? ", " : "") + std::to_string(shape[k]);
    return text + ")";
}

void refuse(const std::string& what, const std::string& expected, const Shape& shape) {
    throw OptionError(what + ": " + expected + ", not " + words(shape));
}

void require_shape(const std::string& what, const Shape& expected, const Shape& shape) {
    if (!(expected == shape)) refuse(what, words(expected) + " is needed", shape);
}

}  // namespace glint::arrays
