// SPDX-License-Identifier: MIT
#include "analysis/lens/field_terms.hpp"

#include <algorithm>

namespace glint::lens {

std::vector<double> FieldTerms::at(double x_px, double y_px) const {
    std::vector<double> values{1};
    if (degree == 0) return values;
    const double x = (x_px - x_middle_px) / half_px, y = (y_px - y_middle_px) / half_px;
    values.insert(values.end(), {x, y});
    if (degree > 1) values.insert(values.end(), {1.5 * x * x - 0.5, x * y, 1.5 * y * y - 0.5});
    return values;
}

std::vector<double> FieldTerms::at(const BeadWindow& window) const {
    return at(window.left + window.size / 2, window.top + window.size / 2);
}

FieldTerms make_field_terms(const std::vector<BeadWindow>& windows, int degree) {
    FieldTerms terms{.degree = degree};
    const auto [left, right] = std::minmax_element(windows.begin(), windows.end(),
                                                   [](const auto& a, const auto& b) { return a.left < b.left; });
    const auto [top, bottom] =
        std::minmax_element(windows.begin(), windows.end(), [](const auto& a, const auto& b) { return a.top < b.top; });
    const int half_window = windows.front().size / 2;
    terms.x_middle_px = 0.5 * (left->left + right->left) + half_window;
    terms.y_middle_px = 0.5 * (top->top + bottom->top) + half_window;
    terms.half_px = std::max(1.0, 0.5 * std::max(right->left - left->left, bottom->top - top->top));
    return terms;
}

}  // namespace glint::lens
