// Headers of binary files: numbers at given bytes, and the texts of small files beside a movie.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "io/byte_order.hpp"
#include "io/files/input_file.hpp"

namespace glint {

/// Returns up to n bytes of the file; fewer at its end.
inline std::string bytes_at(const InputFile& file, std::uint64_t offset, std::uint64_t n) {
    if (offset >= file.size()) return {};
    std::string bytes(std::size_t(std::min(n, file.size() - offset)), '\0');
    bytes.resize(file.read_at(offset, reinterpret_cast<std::byte*>(bytes.data()), bytes.size()));
    return bytes;
}

/// Returns the number that begins at byte `at`; 0 if the header is shorter.
template <class T>
T number_at(std::string_view header, std::size_t at, bool big_endian = false) {
    std::byte bytes[sizeof(T)] = {};
    if (at > header.size() || header.size() - at < sizeof(T)) return T();
    std::memcpy(bytes, header.data() + at, sizeof(T));
    if (big_endian == host_is_little_endian) swap_bytes(bytes, sizeof(T), sizeof(T));
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
}

/// Changes only A to Z.
inline std::string in_lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
    return out;
}

inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
    const auto first = text.find_first_not_of(blanks);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace glint
