// Messages for invalid shapes and values.
// SPDX-License-Identifier: MIT
#include "arrays/check.hpp"

#include <algorithm>
#include <cmath>

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

template <class T>
void require_finite(const char* what, const std::vector<T>& a, std::int64_t rows, std::int64_t columns) {
    const auto bad = std::find_if(a.begin(), a.end(), [](T x) { return !std::isfinite(x); });
    if (bad == a.end()) return;
    const std::int64_t at = bad - a.begin();
    throw OptionError(std::string(what) + " of the matrix " + words({rows, columns}) + ": it has " +
                      (std::isnan(*bad) ? "NaN" : "infinity") + " at [" + std::to_string(at / columns) + ", " +
                      std::to_string(at % columns) + "]");
}

void refuse_singular(std::int64_t rows, std::int64_t column) {
    throw OptionError("solve: the matrix " + words({rows, rows}) + " is singular: column " + std::to_string(column) +
                      " depends on those before it");
}

template void require_finite(const char*, const std::vector<float>&, std::int64_t, std::int64_t);
template void require_finite(const char*, const std::vector<double>&, std::int64_t, std::int64_t);

}  // namespace glint::arrays
