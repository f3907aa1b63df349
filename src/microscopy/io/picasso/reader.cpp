// Reads Picasso's HDF5: one compound dataset `/locs`, its metadata in `.yaml` or in the file.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/hdf5/file.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/metadata.hpp"
#include "io/picasso/pandas.hpp"
#include "io/picasso/rows.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

fs::path yaml_beside(const fs::path& path) { return fs::path(path).replace_extension(".yaml"); }

Steps steps_beside(const fs::path& yaml, const Warn& warn) {
    std::error_code failed;
    if (!fs::is_regular_file(yaml, failed)) return {};
    std::ifstream in(yaml, std::ios::binary);
    if (!in) require_descriptors(yaml.string(), errno);
    const std::uintmax_t bytes = fs::file_size(yaml, failed);
    std::string text(failed ? 0 : std::size_t(std::min<std::uintmax_t>(bytes, largest_metadata_bytes + 1)), '\0');
    in.read(text.data(), std::streamsize(text.size()));
    text.resize(std::size_t(in.gcount()));
    return understood_steps(yaml.string(), text, steps_from_yaml, warn);
}

/// Reads the steps that are stored inside the file: Picasso uses a dataset of that name, some writers an attribute.
Steps steps_inside(hid_t file, const fs::path& path, const Warn& warn) {
    auto text = hdf5::read_string_dataset(file, "metadata");
    if (!text) text = hdf5::read_string_attribute(file, "metadata");
    return text ? understood_steps(path.string() + ": /metadata", *text, steps_from_json, warn) : Steps();
}

class PicassoTable : public TableFile {
  public:
    PicassoTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of) : TableFile(from, warn_of) {
        const hdf5::Quiet quiet;
        file_ = hdf5::open_file(path);
        if (is_pandas_fixed(file_)) {
            hsize_t count = 0;
            blocks_ = announce_pandas_blocks(file_, path, builder, warn, count);
            rows = count;
        } else {
            open_rows(is_pandas_table(file_) ? "locs/table" : "locs");
        }
        take_facts(picasso_history(path, file_, warn), pixel_size_nm);
    }

    void restart() override { read_ = 0; }

    std::size_t add_rows(std::size_t most) override {
        const hdf5::Quiet quiet;
        const hsize_t count = std::min<hsize_t>(most, *rows - read_);
        if (blocks_.empty())
            read_rows(dataset_, row_, read_, count, path, builder);
        else
            read_pandas_rows(blocks_, read_, count, path, builder);
        read_ += count;
        return std::size_t(count);
    }

  private:
    void open_rows(const char* name) {
        dataset_ = hdf5::open_dataset(file_, name, path);
        const hdf5::Handle type(H5Dget_type(dataset_));
        const std::vector<hsize_t> shape = hdf5::shape_of(dataset_);
        if (H5Tget_class(type) != H5T_COMPOUND || shape.size() != 1)
            throw InputError(
                fmt::format("{}: /{} is not a table (a 1-D dataset of compound type)", path.string(), name));
        rows = shape[0];
        row_ = announce_row(dataset_, type, path, builder, warn);
    }

    void take_facts(Steps steps, double pixel_size_nm) {
        if (steps.empty() && warn)
            warn(fmt::format(
                "{} has no metadata (no .yaml beside it, no /metadata in it): the movie's size is taken from "
                "the rows",
                path.string()));
        const MovieFacts facts = facts_in(steps);
        about.width = facts.width, about.height = facts.height, about.frames = facts.frames;
        about.pixel_size_nm = facts.pixel_size_nm > 0 ? facts.pixel_size_nm : pixel_size_nm;
        about.history = std::move(steps);
    }

    hdf5::Handle file_, dataset_;
    LocsRow row_;
    std::vector<PandasBlock> blocks_;  ///< used instead of `row_`
    hsize_t read_ = 0;
};

}  // namespace

std::vector<std::string> picasso_history(const fs::path& path, hid_t file, const Warn& warn) {
    const fs::path yaml = yaml_beside(path);
    Steps steps = steps_beside(yaml, warn);
    if (!steps.empty()) return steps;
    steps = steps_inside(file, path, warn);
    std::error_code failed;
    if (!steps.empty() && warn && fs::is_regular_file(yaml, failed))
        warn(fmt::format("{} says nothing that can be read: what {}: /metadata says is taken", yaml.string(),
                         path.string()));
    return steps;
}

OpenTable open_picasso(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    return std::make_unique<PicassoTable>(path, pixel_size_nm, warn);
}

TableFormat picasso_tables() {
    return {.name = "Picasso",
            .endings = {".hdf5", ".h5"},
            .is = [](const TableContent& content) { return content.hdf5 >= 0 && hdf5::has(content.hdf5, "locs"); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_picasso(path, pixel_size_nm, warn); },
            .write = write_picasso,
            .companion = ".yaml",
            .history = [](const fs::path& path, hid_t file) { return picasso_history(path, file); }};
}

}  // namespace glint
