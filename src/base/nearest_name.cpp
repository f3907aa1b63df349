// Counts the edits between words.
// SPDX-License-Identifier: MIT
#include "base/nearest_name.hpp"

#include <algorithm>
#include <numeric>

namespace glint {
namespace {

/// Returns the number of edits that turn one word into the other: insert, remove or replace a letter, or swap two
/// neighbours.
std::size_t edits(const std::string& a, const std::string& b) {
    std::vector<std::size_t> before, row(b.size() + 1), next(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t(0));
    for (std::size_t i = 1; i <= a.size(); ++i) {
        next[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                next[j] = std::min(next[j], before[j - 2] + 1);
        }
        before = row, row.swap(next);
    }
    return row[b.size()];
}

}  // namespace

std::string nearest_name(const std::string& word, const std::vector<std::string>& names) {
    constexpr std::size_t shortest_beginning = 3;
    const std::size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
    std::string best;
    std::size_t fewest = std::max<std::size_t>(1, letters / 3) + 1;
    for (const std::string& name : names) {
        const bool begins = letters >= shortest_beginning && name.starts_with(word);
        const std::size_t apart = begins ? 1 : edits(word, name);
        if (apart < fewest) fewest = apart, best = name;
    }
    return best;
}

}  // namespace glint
