// Python's pickles, protocols 2 to 5, of dictionaries, lists, texts, numbers and NumPy arrays. Nothing is executed:
// whatever else a pickle asks for is refused.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace glint {

/// A NumPy array, whose bytes lie in the pickle.
struct PickleArray {
    std::vector<std::uint64_t> shape;  ///< C order
    std::span<const std::byte> bytes;  ///< as many as the shape has
    char kind = 'f';                   ///< 'f' floating point, 'i' integer
    std::size_t value_bytes = 8;       ///< 4 or 8
    bool is_big_endian = false;

    std::size_t count() const { return bytes.size() / value_bytes; }
    double value(std::size_t at) const;
};

/// Without a value: a list or another object that is read and not kept.
using PickleValue = std::variant<std::monostate, double, std::string, PickleArray>;
using PickleDictionary = std::map<std::string, PickleValue, std::less<>>;

/// Returns the dictionary that a pickle contains, by those of its keys that are texts. Throws std::runtime_error with
/// the bare reason: damaged, an object that is not read, or no dictionary.
PickleDictionary read_pickle(std::span<const std::byte> pickle);

}  // namespace glint
