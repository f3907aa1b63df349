// Reads the rows of Picasso's `/locs`.
// SPDX-License-Identifier: MIT
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "io/hdf5/file.hpp"
#include "io/localization_builder.hpp"

namespace glint {

enum class MemberType { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, other };

/// A column of the builder, and its position in a row.
struct LocsMember {
    std::string name;
    int column = 0;
    std::size_t offset = 0;
    MemberType number = MemberType::other;
};

struct LocsRow {
    std::vector<LocsMember> members;
    hdf5::Handle type;      ///< in memory
    std::size_t bytes = 0;  ///< in memory
};

/// Announces the numeric members of the compound `file_type` as columns; `warn` names all other members. In pandas'
/// tables, a list member has a column for each value, with names in an attribute of `dataset`. Throws InputError.
LocsRow announce_row(hid_t dataset, hid_t file_type, const std::filesystem::path& path, LocalizationBuilder& builder,
                     const Warn& warn);

/// Adds rows [first, first + count) to the builder, which has none. Throws InputError.
void read_rows(hid_t dataset, const LocsRow& row, hsize_t first, hsize_t count, const std::filesystem::path& path,
               LocalizationBuilder& builder);

}  // namespace glint
