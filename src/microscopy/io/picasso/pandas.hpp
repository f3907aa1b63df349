// Tables that pandas' to_hdf wrote instead of Picasso's dataset, as versions 0.9 and 0.10 of Picasso read them.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/hdf5/file.hpp"
#include "io/localization_builder.hpp"

namespace glint {

/// Returns true if /locs is a group of pandas, with format="fixed" or "table".
bool is_pandas_fixed(hid_t file);
bool is_pandas_table(hid_t file);

/// Columns of one type, in a dataset of (rows, columns).
struct PandasBlock {
    hdf5::Handle values;
    std::string name;          ///< of the dataset
    std::vector<int> columns;  ///< numbers of the builder's columns; -1: skipped
};

/// Announces the columns of format="fixed" and sets `rows` to their number. Throws InputError.
std::vector<PandasBlock> announce_pandas_blocks(hid_t file, const std::filesystem::path& path,
                                                LocalizationBuilder& builder, const Warn& warn, hsize_t& rows);

/// Adds rows [first, first + count) to the builder.
void read_pandas_rows(const std::vector<PandasBlock>& blocks, hsize_t first, hsize_t count,
                      const std::filesystem::path& path, LocalizationBuilder& builder);

/// Returns the texts of a list that Python pickled with protocol 0, as PyTables writes names of columns:
/// "(lp0\nVx\np1\naVy\np2\na.".
std::vector<std::string> pickled_texts(const std::string& pickle);

}  // namespace glint
