// Reads the values of NumPy's .npy files by all threads.
// SPDX-License-Identifier: MIT
#include "io/npy/values.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "base/arena.hpp"
#include "base/large_vector.hpp"
#include "glint/error.hpp"
#include "io/byte_order.hpp"

namespace glint {
namespace {

constexpr std::size_t piece_values = 1 << 16, large_piece = std::size_t(2) << 20;

template <class T>
void to_floats(const std::byte* bytes, std::size_t count, float* out) {
    for (std::size_t k = 0; k < count; ++k) {
        T value;
        std::memcpy(&value, bytes + k * sizeof(T), sizeof(T));
        out[k] = float(value);
    }
}

struct ValueType {
    const char* name;
    int bytes;
    void (*to_floats)(const std::byte*, std::size_t, float*);
};
constexpr ValueType value_types[] = {{"u1", 1, to_floats<std::uint8_t>}, {"u2", 2, to_floats<std::uint16_t>},
                                     {"i2", 2, to_floats<std::int16_t>}, {"i4", 4, to_floats<std::int32_t>},
                                     {"f4", 4, to_floats<float>},        {"f8", 8, to_floats<double>}};

const ValueType& value_type(const NpyHeader& header, const std::string& file) {
    for (const ValueType& type : value_types)
        if (header.type == type.name && (type.bytes == 1 || header.byte_order == '<' || header.byte_order == '>'))
            return type;
    throw InputError(
        fmt::format("{}: values of type {}{} are not read; uint8, uint16, int16, int32, float32 and float64 "
                    "are: convert with numpy.astype",
                    file, header.byte_order, header.type));
}

/// Calls read(first, number) for each piece of the bytes, on all threads.
template <class Read>
void by_pieces(std::uint64_t bytes, std::size_t piece, const Read& read) {
    in_own_arena([&] {
        using Range = tbb::blocked_range<std::uint64_t>;
        tbb::parallel_for(
            Range(0, (bytes + piece - 1) / piece, 1),
            [&](const Range& pieces) {
                for (std::uint64_t k = pieces.begin(); k < pieces.end(); ++k)
                    read(k * piece, std::size_t(std::min<std::uint64_t>(piece, bytes - k * piece)));
            },
            tbb::simple_partitioner());
    });
}

void read_exactly(const InputFile& file, std::uint64_t at, std::byte* to, std::size_t bytes) {
    if (file.read_at(at, to, bytes) < bytes)
        throw InputError(fmt::format("{}: became shorter while it was read", file.name()));
}

}  // namespace

std::uint64_t npy_values_stored(const InputFile& file, const NpyHeader& header) {
    const std::uint64_t stored = file.size() - std::min(file.size(), header.data_offset);
    return stored / std::uint64_t(value_type(header, file.name()).bytes);
}

std::vector<float> read_npy_values(const InputFile& file, const NpyHeader& header, std::uint64_t count) {
    const ValueType& type = value_type(header, file.name());
    const std::size_t each = std::size_t(type.bytes);
    std::vector<float> out;
    resize_large(out, std::size_t(count));
    const bool swapped = header.byte_order != (host_is_little_endian ? '<' : '>');
    by_pieces(count * each, piece_values * each, [&](std::uint64_t at, std::size_t n) {
        std::vector<std::byte> bytes(n);
        read_exactly(file, header.data_offset + at, bytes.data(), n);
        if (swapped) swap_bytes(bytes.data(), n, type.bytes);
        type.to_floats(bytes.data(), n / each, out.data() + at / each);
    });
    return out;
}

std::optional<PixelType> npy_pixel_type(const NpyHeader& header) {
    if (header.type == "u1") return PixelType::uint8;
    if (header.byte_order != (host_is_little_endian ? '<' : '>')) return {};
    if (header.type == "u2") return PixelType::uint16;
    if (header.type == "f4") return PixelType::float32;
    return {};
}

std::unique_ptr<std::byte[]> read_npy_pixels(const InputFile& file, const NpyHeader& header, PixelType type,
                                             std::uint64_t count) {
    const std::size_t each = std::size_t(num_bytes(type));
    std::unique_ptr<std::byte[]> out = large_bytes(std::size_t(count) * each);
    by_pieces(count * each, large_piece,
              [&](std::uint64_t at, std::size_t n) { read_exactly(file, header.data_offset + at, out.get() + at, n); });
    return out;
}

}  // namespace glint
