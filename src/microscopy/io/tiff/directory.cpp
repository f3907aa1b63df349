// Converts TIFF directories to bytes.
// SPDX-License-Identifier: MIT
#include "io/tiff/directory.hpp"

#include <tiff.h>

#include "io/byte_order.hpp"

namespace glint {
namespace {

template <class T>
std::string bytes_of_value(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Counts and offsets are 64 bits wide in a BigTIFF and 32 in a classic one.
std::string wide(bool big, std::uint64_t value) {
    return big ? bytes_of_value(value) : bytes_of_value(std::uint32_t(value));
}

}  // namespace

void TiffDirectory::add(std::uint16_t tag, std::uint16_t type, std::uint64_t count, std::string_view value) {
    std::string field(value);
    field.resize(big_ ? 8 : 4, '\0');
    entries_ += bytes_of_value(tag) + bytes_of_value(type) + wide(big_, count) + field;
    ++count_;
}

void TiffDirectory::add_short(std::uint16_t tag, std::uint16_t value) {
    add(tag, TIFF_SHORT, 1, bytes_of_value(value));
}

void TiffDirectory::add_long(std::uint16_t tag, std::uint32_t value) { add(tag, TIFF_LONG, 1, bytes_of_value(value)); }

void TiffDirectory::add_offset(std::uint16_t tag, std::uint64_t value) {
    add(tag, big_ ? TIFF_LONG8 : TIFF_LONG, 1, wide(big_, value));
}

void TiffDirectory::add_rational(std::uint16_t tag, std::uint32_t numerator, std::uint32_t denominator) {
    add(tag, TIFF_RATIONAL, 1, bytes_of_value(numerator) + bytes_of_value(denominator));
}

void TiffDirectory::add_elsewhere(std::uint16_t tag, std::uint16_t type, std::uint64_t count, std::uint64_t offset) {
    add(tag, type, count, wide(big_, offset));
}

std::string TiffDirectory::serialised(std::uint64_t next) const {
    const std::string count = big_ ? bytes_of_value(std::uint64_t(count_)) : bytes_of_value(std::uint16_t(count_));
    return count + entries_ + wide(big_, next);
}

std::string tiff_header(bool big, std::uint64_t first) {
    const std::string order = host_is_little_endian ? "II" : "MM";
    if (!big) return order + bytes_of_value(std::uint16_t(42)) + wide(false, first);
    return order + bytes_of_value(std::uint16_t(43)) + bytes_of_value(std::uint16_t(8)) +
           bytes_of_value(std::uint16_t(0)) + wide(true, first);
}

}  // namespace glint
