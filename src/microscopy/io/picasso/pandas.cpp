// Reads the groups of pandas' HDFStore.
// SPDX-License-Identifier: MIT
#include "io/picasso/pandas.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "glint/error.hpp"

namespace glint {
namespace {

constexpr int max_pandas_blocks = 64;
constexpr hsize_t max_block_columns = 1000, longest_column_name = 1024;

std::string pandas_type(hid_t file) {
    if (!hdf5::has(file, "locs")) return {};
    const hdf5::Handle group(H5Gopen2(file, "locs", H5P_DEFAULT));
    return group.valid() ? hdf5::read_string_attribute(group, "pandas_type").value_or("") : "";
}

/// Returns the names of a block: texts of fixed length.
std::vector<std::string> names_of(hid_t file, const std::string& name, const std::filesystem::path& path) {
    const hdf5::Handle items = hdf5::open_dataset(file, name.c_str(), path);
    const hdf5::Handle type(H5Dget_type(items));
    const std::vector<hsize_t> shape = hdf5::shape_of(items);
    const std::size_t bytes = H5Tget_size(type);
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0 || shape.size() != 1 ||
        shape[0] > max_block_columns || bytes == 0 || bytes > longest_column_name)
        throw InputError(
            fmt::format("{}: /{} is no list of names of columns: write the table again with columns that "
                        "have texts as names",
                        path.string(), name));
    std::string text(std::size_t(shape[0]) * bytes, '\0');
    if (H5Dread(items, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0)
        throw InputError(fmt::format("{}: /{} cannot be read: the file is damaged", path.string(), name));
    std::vector<std::string> names;
    for (std::size_t k = 0; k < shape[0]; ++k) {
        const std::string one = text.substr(k * bytes, bytes);
        names.push_back(one.substr(0, one.find('\0')));
    }
    return names;
}

}  // namespace

bool is_pandas_fixed(hid_t file) { return pandas_type(file) == "frame"; }
bool is_pandas_table(hid_t file) { return pandas_type(file) == "frame_table"; }

std::vector<PandasBlock> announce_pandas_blocks(hid_t file, const std::filesystem::path& path,
                                                LocalizationBuilder& builder, const Warn& warn, hsize_t& rows) {
    std::vector<PandasBlock> blocks;
    for (int k = 0; k < max_pandas_blocks; ++k) {
        PandasBlock block;
        block.name = fmt::format("locs/block{}_values", k);
        if (!hdf5::has(file, block.name.c_str())) break;
        const std::vector<std::string> names = names_of(file, fmt::format("locs/block{}_items", k), path);
        block.values = hdf5::open_dataset(file, block.name.c_str(), path);
        const hdf5::Handle type(H5Dget_type(block.values));
        const std::vector<hsize_t> shape = hdf5::shape_of(block.values);
        if (!hdf5::is_numeric(type)) {
            for (const std::string& name : names)
                if (warn) warn(fmt::format("{}: column {} is left out: it holds no numbers", path.string(), name));
            continue;
        }
        if (blocks.empty()) rows = shape.empty() ? 0 : shape[0];
        if (shape.size() != 2 || shape[0] != rows || shape[1] != names.size())
            throw InputError(fmt::format("{}: /{} is no table of {} columns and {} rows: the file is damaged",
                                         path.string(), block.name, names.size(), rows));
        for (const std::string& name : names) {
            block.columns.push_back(builder.add_column(name));
            if (block.columns.back() >= 0 && H5Tget_class(type) == H5T_INTEGER)
                builder.set_integer(block.columns.back());
        }
        blocks.push_back(std::move(block));
    }
    if (blocks.empty())
        throw InputError(fmt::format("{}: /locs, which pandas wrote, has no numeric column", path.string()));
    return blocks;
}

void read_pandas_rows(const std::vector<PandasBlock>& blocks, hsize_t first, hsize_t count,
                      const std::filesystem::path& path, LocalizationBuilder& builder) {
    constexpr hsize_t rows_at_once = 1 << 16;
    std::vector<double> values;
    builder.resize(std::size_t(count));
    for (const PandasBlock& block : blocks) {
        const hsize_t width = block.columns.size();
        const hdf5::Handle space(H5Dget_space(block.values));
        for (hsize_t at = 0; at < count; at += rows_at_once) {
            const hsize_t shape[2] = {std::min(rows_at_once, count - at), width}, begin[2] = {first + at, 0};
            values.resize(std::size_t(shape[0] * width));
            const hdf5::Handle memory(H5Screate_simple(2, shape, nullptr));
            H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, nullptr, shape, nullptr);
            if (H5Dread(block.values, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values.data()) < 0)
                throw InputError(fmt::format("{}: /{} cannot be read: the file is damaged; copy or write it again",
                                             path.string(), block.name));
            for (std::size_t k = 0; k < width; ++k)
                if (block.columns[k] >= 0)
                    builder.set_values(block.columns[k], std::size_t(at), std::size_t(shape[0]),
                                       [&](std::size_t row) { return values[row * width + k]; });
        }
    }
}

std::vector<std::string> pickled_texts(const std::string& pickle) {
    std::vector<std::string> texts;
    for (std::size_t begin = 0; begin < pickle.size();) {
        const std::size_t end = std::min(pickle.find('\n', begin), pickle.size());
        std::string line = pickle.substr(begin, end - begin);
        if (line.starts_with('a')) line.erase(0, 1);
        if (line.starts_with("(lp")) line.erase();
        if (line.starts_with('V')) texts.push_back(line.substr(1));
        if (line.starts_with("S'") && line.ends_with('\'') && line.size() >= 3)
            texts.push_back(line.substr(2, line.size() - 3));
        begin = end + 1;
    }
    return texts;
}

}  // namespace glint
