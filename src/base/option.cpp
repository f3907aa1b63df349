// Finds options in messages.
// SPDX-License-Identifier: MIT
#include "base/option.hpp"

#include <algorithm>
#include <iterator>

namespace glint {

std::string spell(std::string_view message, const Speller& speller) {
    std::string text;
    for (std::size_t at = 0; at < message.size();) {
        const std::size_t begin = std::min(message.find('`', at), message.size());
        text += message.substr(at, begin - at);
        const std::size_t end = begin < message.size() ? message.find('`', begin + 1) : message.npos;
        if (end == message.npos) return text += message.substr(begin);
        const std::string_view inside = message.substr(begin + 1, end - begin - 1);
        const std::size_t sign = std::min(inside.find('='), inside.size());
        const auto* const name = std::find(std::begin(option_names), std::end(option_names), inside.substr(0, sign));
        const std::string spelled =
            name == std::end(option_names)
                ? ""
                : speller(Option(name - option_names), inside.substr(std::min(sign + 1, inside.size())));
        // The closing quote of text that is not an option may be the opening quote of the next.
        text += spelled.empty() ? message.substr(begin, end - begin) : std::string_view(spelled);
        at = spelled.empty() ? end : end + 1;
    }
    return text;
}

}  // namespace glint
