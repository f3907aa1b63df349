// Reads rows as they lie in the file, and takes the columns out of them by all threads.
//
// HDF5 would convert row by row in one thread, which takes ten times as long as reading. It does so where a member is no number as
// this computer has them (of the other byte order, of 16 or 128 bits).
// SPDX-License-Identifier: MIT
#include "io/picasso/rows.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/arena.hpp"
#include "glint/error.hpp"
#include "io/hdf5/file.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t block_bytes = 16 << 20;
constexpr int most_members = 1000;

enum class Number { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, other };

Number number_of(hid_t type) {
    const std::pair<hid_t, Number> known[] = {{H5T_NATIVE_INT8, Number::i8},   {H5T_NATIVE_UINT8, Number::u8},
                                              {H5T_NATIVE_INT16, Number::i16}, {H5T_NATIVE_UINT16, Number::u16},
                                              {H5T_NATIVE_INT32, Number::i32}, {H5T_NATIVE_UINT32, Number::u32},
                                              {H5T_NATIVE_INT64, Number::i64}, {H5T_NATIVE_UINT64, Number::u64},
                                              {H5T_NATIVE_FLOAT, Number::f32}, {H5T_NATIVE_DOUBLE, Number::f64}};
    for (const auto& [native, number] : known)
        if (H5Tequal(type, native) > 0) return number;
    return Number::other;
}

/// A column of the builder, and where it lies in a row.
struct Member {
    std::string name;
    int column = 0;
    std::size_t offset = 0;
    Number number = Number::other;
};

struct Row {
    std::vector<Member> members;
    hdf5::Handle type;      ///< in memory
    std::size_t bytes = 0;  ///< in memory
};

/// All numeric members, as they lie in the file. `is_plain`: no member has a type that must be converted, or that needs memory of its own.
Row announce(hid_t file_type, const fs::path& path, LocalizationBuilder& builder, const Warn& warn, bool& is_plain) {
    const int count = H5Tget_nmembers(file_type);
    if (count < 0 || count > most_members)
        throw InputError(
            fmt::format("{}: /locs has {} columns, more than the limit of {}", path.string(), count, most_members));
    Row row;
    row.bytes = H5Tget_size(file_type);
    std::size_t bytes_left = row.bytes;
    is_plain = true;
    for (int k = 0; k < count; ++k) {
        char* raw = H5Tget_member_name(file_type, unsigned(k));
        const std::string name = raw ? raw : "";
        H5free_memory(raw);
        const hdf5::Handle type(H5Tget_member_type(file_type, unsigned(k)));
        // HDF5 would read outside the row for members that end beyond it, or that together are longer than the row.
        const std::size_t bytes = H5Tget_size(type), offset = H5Tget_member_offset(file_type, unsigned(k));
        const std::size_t end = offset + bytes;
        if (bytes == 0 || bytes > bytes_left || end < bytes || end > row.bytes)
            throw InputError(
                fmt::format("{}: column {} of /locs lies outside its row: the file is damaged; copy or write it "
                            "again",
                            path.string(), name));
        bytes_left -= bytes;
        const Number number = number_of(type);
        is_plain &= number != Number::other;
        if (!hdf5::is_numeric(type)) {
            if (warn) warn(fmt::format("{}: column {} is left out: it holds no numbers", path.string(), name));
            continue;
        }
        const int column = builder.add_column(name);
        if (column < 0) continue;
        if (H5Tget_class(type) == H5T_INTEGER) builder.set_integer(column);
        row.members.push_back({name, column, offset, number});
    }
    if (row.members.empty()) throw InputError(fmt::format("{}: /locs has no numeric column", path.string()));
    return row;
}

/// A row in which HDF5 makes each member a double.
void convert_to_doubles(Row& row) {
    row.bytes = row.members.size() * sizeof(double);
    row.type = hdf5::Handle(H5Tcreate(H5T_COMPOUND, row.bytes));
    for (std::size_t k = 0; k < row.members.size(); ++k) {
        row.members[k].offset = k * sizeof(double), row.members[k].number = Number::f64;
        H5Tinsert(row.type, row.members[k].name.c_str(), row.members[k].offset, H5T_NATIVE_DOUBLE);
    }
}

template <class T>
void take_as(const std::byte* rows, const Row& row, const Member& member, std::size_t first, std::size_t count,
             LocalizationBuilder& builder) {
    builder.set_values(member.column, first, count, [&](std::size_t k) {
        T value;
        std::memcpy(&value, rows + k * row.bytes + member.offset, sizeof value);
        return value;
    });
}

/// `count` rows, which are the table's from `first` on.
void take(const std::byte* rows, const Row& row, std::size_t first, std::size_t count, LocalizationBuilder& builder) {
    for (const Member& member : row.members) {
        const auto as = [&](auto value) { take_as<decltype(value)>(rows, row, member, first, count, builder); };
        switch (member.number) {
            case Number::i8: as(std::int8_t{}); break;
            case Number::u8: as(std::uint8_t{}); break;
            case Number::i16: as(std::int16_t{}); break;
            case Number::u16: as(std::uint16_t{}); break;
            case Number::i32: as(std::int32_t{}); break;
            case Number::u32: as(std::uint32_t{}); break;
            case Number::i64: as(std::int64_t{}); break;
            case Number::u64: as(std::uint64_t{}); break;
            case Number::f32: as(float{}); break;
            case Number::f64:
            case Number::other: as(double{}); break;
        }
    }
}

}  // namespace

void read_rows(hid_t dataset, hid_t file_type, hsize_t rows, const fs::path& path, LocalizationBuilder& builder,
               const Warn& warn) {
    bool is_plain = false;
    Row row = announce(file_type, path, builder, warn, is_plain);
    if (is_plain)
        row.type = hdf5::Handle(H5Tcopy(file_type));
    else
        convert_to_doubles(row);
    builder.resize(std::size_t(rows));
    const hsize_t block_rows = std::max<hsize_t>(1, block_bytes / row.bytes);
    std::vector<std::byte> block(std::size_t(std::min(rows, block_rows)) * row.bytes);
    const hdf5::Handle space(H5Dget_space(dataset));
    for (hsize_t first = 0; first < rows; first += block_rows) {
        const hsize_t count = std::min(block_rows, rows - first);
        const hdf5::Handle memory(H5Screate_simple(1, &count, nullptr));
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &count, nullptr);
        if (H5Dread(dataset, row.type, memory, space, H5P_DEFAULT, block.data()) < 0)
            throw InputError(
                fmt::format("{}: rows {} to {} of /locs cannot be read: the file is damaged; copy or "
                            "write it again",
                            path.string(), first, first + count - 1));
        in_own_arena([&] {
            using Range = tbb::blocked_range<std::size_t>;
            tbb::parallel_for(Range(0, std::size_t(count), 4096), [&](const Range& range) {
                take(block.data() + range.begin() * row.bytes, row, std::size_t(first) + range.begin(), range.size(),
                     builder);
            });
        });
    }
}

}  // namespace glint
