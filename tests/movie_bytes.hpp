// Pixels for movies that tests write byte by byte, and pixels as movies read them.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "glint/movie.hpp"

namespace glint::test {

enum class Order { little, big };

/// Returns the bytes of numbers as in a file; the host is little-endian.
template <class T>
std::string bytes_of_numbers(const std::vector<T>& numbers, Order order = Order::little) {
    std::string out;
    for (const T number : numbers) {
        std::string bytes(reinterpret_cast<const char*>(&number), sizeof number);
        if (order == Order::big) std::reverse(bytes.begin(), bytes.end());
        out += bytes;
    }
    return out;
}

/// Puts a little-endian number into a header.
template <class T>
void put(std::string& header, std::size_t at, T number) {
    std::memcpy(header.data() + at, &number, sizeof number);
}

/// Returns first, first + 1, ...
template <class T>
std::vector<T> counting(std::size_t count, T first = 1) {
    std::vector<T> out(count);
    for (std::size_t k = 0; k < count; ++k) out[k] = T(first + T(k));
    return out;
}

/// Returns all pixels of frames [first, first + count), in the movie's type.
template <class T>
std::vector<T> pixels(Movie& movie, std::int64_t first, int count) {
    FrameBlock block;
    movie.read(first, count, block);
    std::vector<T> out(std::size_t(count) * block.frame_bytes() / sizeof(T));
    std::memcpy(out.data(), block.bytes.data(), out.size() * sizeof(T));
    return out;
}

template <class T>
std::vector<T> pixels(Movie& movie) {
    return pixels<T>(movie, 0, int(movie.info().frames));
}

}  // namespace glint::test
