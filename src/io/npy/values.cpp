// The values of NumPy's .npy files as float, read by all threads.
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

constexpr std::size_t chunk_values = 1 << 16;

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

}  // namespace

std::uint64_t npy_values_stored(const InputFile& file, const NpyHeader& header) {
    const std::uint64_t stored = file.size() - std::min(file.size(), header.data_offset);
    return stored / std::uint64_t(value_type(header, file.name()).bytes);
}

std::vector<float> read_npy_values(const InputFile& file, const NpyHeader& header, std::uint64_t count_read) {
    const ValueType& type = value_type(header, file.name());
    const auto values = std::size_t(count_read);
    std::vector<float> out;
    resize_large(out, values);
    const bool swapped = header.byte_order != (host_is_little_endian ? '<' : '>');
    in_own_arena([&] {
        using Range = tbb::blocked_range<std::size_t>;
        tbb::parallel_for(
            Range(0, values, chunk_values),
            [&](const Range& chunk) {
                const std::size_t n_bytes = chunk.size() * std::size_t(type.bytes);
                std::vector<std::byte> bytes(n_bytes);
                const std::uint64_t at = header.data_offset + chunk.begin() * std::size_t(type.bytes);
                if (file.read_at(at, bytes.data(), n_bytes) < n_bytes)
                    throw InputError(fmt::format("{}: became shorter while it was read", file.name()));
                if (swapped) swap_bytes(bytes.data(), n_bytes, type.bytes);
                type.to_floats(bytes.data(), chunk.size(), out.data() + chunk.begin());
            },
            tbb::simple_partitioner());
    });
    return out;
}

}  // namespace glint
