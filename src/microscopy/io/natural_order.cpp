// Compares names by their numbers.
// SPDX-License-Identifier: MIT
#include "io/natural_order.hpp"

#include <algorithm>
#include <string_view>

namespace glint {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes the number at the text's beginning, without its leading zeros.
std::string_view take_number(std::string_view& text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    std::string_view number = text.substr(0, std::size_t(end - text.begin()));
    text.remove_prefix(number.size());
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
}

}  // namespace

bool natural_less(const std::string& a, const std::string& b) {
    std::string_view x = a, y = b;
    while (!x.empty() && !y.empty()) {
        if (is_digit(x.front()) && is_digit(y.front())) {
            const std::string_view m = take_number(x), n = take_number(y);
            if (m.size() != n.size()) return m.size() < n.size();
            if (m != n) return m < n;
            continue;
        }
        if (x.front() != y.front())
            return static_cast<unsigned char>(x.front()) < static_cast<unsigned char>(y.front());
        x.remove_prefix(1), y.remove_prefix(1);
    }
    if (x.empty() != y.empty()) return x.empty();
    return a < b;
}

}  // namespace glint
