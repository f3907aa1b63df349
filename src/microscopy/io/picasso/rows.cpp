// Reads rows as stored in the file, and extracts the columns with all threads.
//
// HDF5 would convert row by row in one thread, which takes ten times as long as reading. It does so only if a member is
// not a native number of this computer (other byte order, 16 or 128 bits).
// SPDX-License-Identifier: MIT
#include "io/picasso/rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/arena.hpp"
#include "glint/error.hpp"
#include "io/hdf5/file.hpp"
#include "io/picasso/pandas.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t locs_block_bytes = 16 << 20;
constexpr int max_locs_members = 1000;

MemberType member_type_of(hid_t type) {
    const std::pair<hid_t, MemberType> known[] = {
        {H5T_NATIVE_INT8, MemberType::i8},   {H5T_NATIVE_UINT8, MemberType::u8},
        {H5T_NATIVE_INT16, MemberType::i16}, {H5T_NATIVE_UINT16, MemberType::u16},
        {H5T_NATIVE_INT32, MemberType::i32}, {H5T_NATIVE_UINT32, MemberType::u32},
        {H5T_NATIVE_INT64, MemberType::i64}, {H5T_NATIVE_UINT64, MemberType::u64},
        {H5T_NATIVE_FLOAT, MemberType::f32}, {H5T_NATIVE_DOUBLE, MemberType::f64}};
    for (const auto& [native, number] : known)
        if (H5Tequal(type, native) > 0) return number;
    return MemberType::other;
}

/// Returns the names of a member that is a list of numbers, as pandas writes columns of one type; else empty.
std::vector<std::string> names_of_list(hid_t dataset, const std::string& member, hid_t type) {
    if (H5Tget_class(type) != H5T_ARRAY || H5Tget_array_ndims(type) != 1) return {};
    hsize_t count = 0;
    H5Tget_array_dims2(type, &count);
    const auto kind = hdf5::read_string_attribute(dataset, (member + "_kind").c_str());
    std::vector<std::string> names = kind ? pickled_texts(*kind) : std::vector<std::string>();
    return names.size() == count ? names : std::vector<std::string>();
}

bool has_lists(hid_t dataset) { return H5Aexists(dataset, "index_kind") > 0; }

void announce_list(const std::vector<std::string>& names, hid_t type, std::size_t offset, const fs::path& path,
                   LocalizationBuilder& builder, LocsRow& row) {
    const hdf5::Handle base(H5Tget_super(type));
    const MemberType number = member_type_of(base);
    if (number == MemberType::other)
        throw InputError(
            fmt::format("{}: its columns {} have numbers of a type that is not read: write it again with "
                        "df.astype('float32')",
                        path.string(), fmt::join(names, ", ")));
    for (std::size_t k = 0; k < names.size(); ++k) {
        const int column = builder.add_column(names[k]);
        if (column < 0) continue;
        if (H5Tget_class(base) == H5T_INTEGER) builder.set_integer(column);
        row.members.push_back({names[k], column, offset + k * H5Tget_size(base), number});
    }
}

/// Returns all numeric members, as stored in the file. `is_plain`: no member must be converted or needs memory of its
/// own.
LocsRow row_as_stored(hid_t dataset, hid_t file_type, const fs::path& path, LocalizationBuilder& builder,
                      const Warn& warn, bool& is_plain) {
    const int count = H5Tget_nmembers(file_type);
    if (count < 0 || count > max_locs_members)
        throw InputError(
            fmt::format("{}: /locs has {} columns, more than the limit of {}", path.string(), count, max_locs_members));
    LocsRow row;
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
        if (const std::vector<std::string> names = names_of_list(dataset, name, type); !names.empty()) {
            announce_list(names, type, offset, path, builder, row);
            continue;
        }
        if (name == "index" && has_lists(dataset)) continue;  // pandas' numbers of rows
        const MemberType number = member_type_of(type);
        is_plain &= number != MemberType::other;
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

/// Makes HDF5 convert each member of a row to a double.
void convert_row_to_doubles(LocsRow& row) {
    row.bytes = row.members.size() * sizeof(double);
    row.type = hdf5::Handle(H5Tcreate(H5T_COMPOUND, row.bytes));
    for (std::size_t k = 0; k < row.members.size(); ++k) {
        row.members[k].offset = k * sizeof(double), row.members[k].number = MemberType::f64;
        H5Tinsert(row.type, row.members[k].name.c_str(), row.members[k].offset, H5T_NATIVE_DOUBLE);
    }
}

template <class T>
void take_rows_as(const std::byte* rows, const LocsRow& row, const LocsMember& member, std::size_t first,
                  std::size_t count, LocalizationBuilder& builder) {
    builder.set_values(member.column, first, count, [&](std::size_t k) {
        T value;
        std::memcpy(&value, rows + k * row.bytes + member.offset, sizeof value);
        return value;
    });
}

/// Adds `count` rows to the builder, from its row `first` on.
void take_rows(const std::byte* rows, const LocsRow& row, std::size_t first, std::size_t count,
               LocalizationBuilder& builder) {
    for (const LocsMember& member : row.members) {
        const auto as = [&](auto value) { take_rows_as<decltype(value)>(rows, row, member, first, count, builder); };
        switch (member.number) {
            case MemberType::i8: as(std::int8_t{}); break;
            case MemberType::u8: as(std::uint8_t{}); break;
            case MemberType::i16: as(std::int16_t{}); break;
            case MemberType::u16: as(std::uint16_t{}); break;
            case MemberType::i32: as(std::int32_t{}); break;
            case MemberType::u32: as(std::uint32_t{}); break;
            case MemberType::i64: as(std::int64_t{}); break;
            case MemberType::u64: as(std::uint64_t{}); break;
            case MemberType::f32: as(float{}); break;
            case MemberType::f64:
            case MemberType::other: as(double{}); break;
        }
    }
}

}  // namespace

LocsRow announce_row(hid_t dataset, hid_t file_type, const fs::path& path, LocalizationBuilder& builder,
                     const Warn& warn) {
    bool is_plain = false;
    LocsRow row = row_as_stored(dataset, file_type, path, builder, warn, is_plain);
    if (is_plain)
        row.type = hdf5::Handle(H5Tcopy(file_type));
    else
        convert_row_to_doubles(row);
    return row;
}

void read_rows(hid_t dataset, const LocsRow& row, hsize_t first, hsize_t count, const fs::path& path,
               LocalizationBuilder& builder) {
    builder.resize(std::size_t(count));
    const hsize_t block_rows = std::max<hsize_t>(1, locs_block_bytes / row.bytes);
    std::vector<std::byte> block(std::size_t(std::min(count, block_rows)) * row.bytes);
    const hdf5::Handle space(H5Dget_space(dataset));
    for (hsize_t at = 0; at < count; at += block_rows) {
        const hsize_t here = std::min(block_rows, count - at), in_file = first + at;
        const hdf5::Handle memory(H5Screate_simple(1, &here, nullptr));
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &in_file, nullptr, &here, nullptr);
        if (H5Dread(dataset, row.type, memory, space, H5P_DEFAULT, block.data()) < 0)
            throw InputError(
                fmt::format("{}: rows {} to {} of /locs cannot be read: the file is damaged; copy or "
                            "write it again",
                            path.string(), in_file, in_file + here - 1));
        in_own_arena([&] {
            using Range = tbb::blocked_range<std::size_t>;
            tbb::parallel_for(Range(0, std::size_t(here), 4096), [&](const Range& range) {
                take_rows(block.data() + range.begin() * row.bytes, row, std::size_t(at) + range.begin(), range.size(),
                          builder);
            });
        });
    }
}

}  // namespace glint
