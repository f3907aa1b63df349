// Writes SMAP's _sml.mat: MATLAB's version 7.3, which is HDF5 behind a header of 512 bytes.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/hdf5/writing.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/metadata.hpp"
#include "io/row_blocks.hpp"
#include "io/smap/columns.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using L = Localizations;

constexpr std::size_t user_block_bytes = 512;

/// Returns MATLAB's header: text, no subsystem data, version 0x0200, and the byte order mark.
std::string mat73_header() {
    constexpr std::size_t text_bytes = 116;
    std::string header = "MATLAB 7.3 MAT-file, Platform: glint, HDF5 schema 1.00 .";
    header.resize(text_bytes, ' ');
    header.append(8, '\0');
    header += std::string_view("\0\2IM", 4);
    header.resize(user_block_bytes, '\0');
    return header;
}

/// Writes MATLAB's variables into HDF5 groups. HDF5 arrays have their dimensions in reverse order.
class MatGroup {
  public:
    MatGroup(hid_t place, const char* name, const fs::path& path) : path_(path) {
        group_ = hdf5::create_group(place, name, path_);
        set_class(group_, "struct");
    }

    operator hid_t() const { return group_; }

    /// Creates a column; its numbers have the file's type.
    hdf5::Handle column(const std::string& name, bool is_double, std::size_t rows) {
        if (rows == 0) {
            const std::uint64_t dimensions[] = {0, 1};
            return empty(name, is_double ? "double" : "single", dimensions);
        }
        const hsize_t shape[] = {1, rows};
        hdf5::Handle dataset =
            hdf5::create_dataset(group_, name.c_str(), is_double ? H5T_IEEE_F64LE : H5T_IEEE_F32LE, shape, path_);
        set_class(dataset, is_double ? "double" : "single");
        return dataset;
    }

    /// Writes a row of numbers.
    void numbers(const char* name, const std::vector<double>& values) {
        const hsize_t shape[] = {values.size(), 1};
        hdf5::Handle dataset = hdf5::create_dataset(group_, name, H5T_IEEE_F64LE, shape, path_);
        set_class(dataset, "double");
        write(dataset, H5T_NATIVE_DOUBLE, values.data());
    }

    void text(const char* name, const std::string& text) {
        std::vector<std::uint16_t> letters;
        for (const unsigned char letter : text) letters.push_back(letter);
        const hsize_t shape[] = {letters.size(), 1};
        hdf5::Handle dataset = hdf5::create_dataset(group_, name, H5T_STD_U16LE, shape, path_);
        set_class(dataset, "char");
        set_number(dataset, "MATLAB_int_decode", H5T_STD_I32LE, std::int32_t(2));
        write(dataset, H5T_NATIVE_UINT16, letters.data());
    }

    void empty(const char* name) {
        const std::uint64_t dimensions[] = {0, 0};
        if (!empty(name, "double", dimensions).close()) throw_output_error(path_, 0);
    }

    void set_integer(hid_t dataset) { set_number(dataset, "glint_integer", H5T_STD_U8LE, std::uint8_t(1)); }

    void close() {
        if (!group_.close()) throw_output_error(path_, 0);
    }

  private:
    /// MATLAB stores the dimensions of an empty array instead of its values.
    hdf5::Handle empty(const std::string& name, const char* matlab_class, const std::uint64_t (&dimensions)[2]) {
        const hsize_t shape[] = {2};
        hdf5::Handle dataset = hdf5::create_dataset(group_, name.c_str(), H5T_STD_U64LE, shape, path_);
        set_class(dataset, matlab_class);
        set_number(dataset, "MATLAB_empty", H5T_STD_U8LE, std::uint8_t(1));
        const hdf5::Quiet quiet;
        if (H5Dwrite(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, dimensions) < 0)
            throw_output_error(path_, 0);
        return dataset;
    }

    void write(hdf5::Handle& dataset, hid_t memory_type, const void* values) {
        const hdf5::Quiet quiet;
        if (H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0 || !dataset.close())
            throw_output_error(path_, 0);
    }

    void set_class(hid_t object, const char* matlab_class) {
        const hdf5::Handle type(H5Tcopy(H5T_C_S1));
        if (H5Tset_size(type, std::strlen(matlab_class)) < 0) throw_output_error(path_, 0);
        hdf5::write_attribute(object, "MATLAB_class", type, matlab_class, path_);
    }

    template <class T>
    void set_number(hid_t object, const char* name, hid_t type, T value) {
        if (!host_is_little_endian) swap_bytes(reinterpret_cast<std::byte*>(&value), sizeof value, sizeof value);
        hdf5::write_attribute(object, name, type, &value, path_);
    }

    const fs::path& path_;
    hdf5::Handle group_;
};

/// The values of some rows, column by column.
struct SmapRows {
    std::vector<std::vector<double>> columns;
    std::size_t not_finite = 0;  ///< values written as 0
};

class SmapMatFile : public LocalizationWriter::Format {
  public:
    SmapMatFile(const fs::path& path, const L& like, std::size_t rows, const Target& target)
        : path_(path),
          file_(path, target.if_exists),
          warn_(target.warn),
          columns_(smap_columns(like)),
          hdf5_(hdf5::create_file(file_, user_block_bytes)),
          saveloc_(hdf5_, "saveloc", path_),
          loc_(saveloc_, "loc", path_),
          rows_(rows) {
        extent_.width = like.width, extent_.height = like.height, extent_.frames = like.frames;
        extent_.pixel_size_nm = like.pixel_size_nm, extent_.history = like.history;
        ends_.x_px = {0}, ends_.y_px = {0}, ends_.frame = {0};
        for (const SmapColumn& column : columns_) {
            datasets_.push_back(loc_.column(column.name, column.number != SmapColumn::float32, rows));
            if (column.is_copied && column.number == SmapColumn::whole) loc_.set_integer(datasets_.back());
        }
    }

    void append(const L& piece) override {
        rows_in_order<SmapRows>(
            piece.size(), [&](RowBlock block, SmapRows& rows) { make(piece, block, rows); },
            [&](RowBlock block, const SmapRows& rows) {
                for (std::size_t k = 0; k < columns_.size(); ++k)
                    write(datasets_[k], written_ + block.first, rows.columns[k]);
                not_finite_ += rows.not_finite;
                file_.check();
            });
        for (std::size_t row = 0; row < piece.size(); ++row) {
            ends_.x_px[0] = std::max(ends_.x_px[0], piece.x_px[row]);
            ends_.y_px[0] = std::max(ends_.y_px[0], piece.y_px[row]);
            ends_.frame[0] = std::max(ends_.frame[0], piece.frame[row]);
        }
        written_ += piece.size();
    }

    void close() override {
        write_file_info();
        bool is_closed = true;
        for (hdf5::Handle& dataset : datasets_) is_closed &= dataset.close();
        loc_.close(), saveloc_.close();
        if (!is_closed || !hdf5_.close()) throw_output_error(path_, 0);
        file_.check();
        const std::string header = mat73_header();
        file_.write_over(0, header.data(), header.size());
        file_.commit();
        if (warn_ && not_finite_ > 0) warn_(text_of_zeros(path_, not_finite_));
    }

  private:
    void make(const L& piece, RowBlock block, SmapRows& rows) const {
        rows.columns.resize(columns_.size()), rows.not_finite = 0;
        for (std::size_t k = 0; k < columns_.size(); ++k) {
            std::vector<double>& values = rows.columns[k];
            values.clear();
            for (std::size_t row = block.first; row < block.end; ++row) {
                double value = columns_[k].value(piece, row);
                if (!std::isfinite(value) && !columns_[k].is_copied) value = 0, ++rows.not_finite;
                values.push_back(value);
            }
        }
    }

    void write(hid_t dataset, std::size_t first_row, const std::vector<double>& values) {
        const hdf5::Quiet quiet;
        const hsize_t first[] = {0, first_row}, count[] = {1, values.size()};
        const hdf5::Handle memory(H5Screate_simple(2, count, nullptr)), space(H5Dget_space(dataset));
        if (H5Sselect_hyperslab(space, H5S_SELECT_SET, first, nullptr, count, nullptr) < 0 ||
            H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values.data()) < 0)
            throw_output_error(path_, 0);
    }

    /// Writes the fields that SMAP's initfile.m creates, with the movie's facts.
    void write_file_info() {
        ends_.width = extent_.width, ends_.height = extent_.height, ends_.frames = extent_.frames;
        if (rows_ == 0) ends_.frame.clear();
        fill_unknown_extent(ends_);
        MatGroup file(saveloc_, "file", path_), info(file, "info", path_);
        info.numbers("Width", {double(ends_.width)}), info.numbers("Height", {double(ends_.height)});
        info.numbers("roi", {0, 0, double(ends_.width), double(ends_.height)});
        info.numbers("cam_pixelsize_um", {extent_.pixel_size_nm / 1000, extent_.pixel_size_nm / 1000});
        info.numbers("numberOfFrames", {double(ends_.frames)});
        info.close();
        file.text("name", "glint_sml.mat");  // fixed, for reproducible bytes; SMAP replaces it
        file.numbers("number", {1}), file.numbers("numberOfTif", {0}), file.empty("average");
        for (const auto& [name, fields] : {std::pair("tif", std::pair("image", "info")), {"raw", {"image", "frame"}}}) {
            MatGroup part(file, name, path_);
            part.empty(fields.first), part.empty(fields.second);
            part.close();
        }
        file.close();
        if (!extent_.history.empty()) saveloc_.text("glint_history", to_json(extent_.history));
        MatGroup format(hdf5_, "fileformat", path_);
        format.text("name", "sml");
        format.close();
    }

    fs::path path_;
    AtomicFile file_;
    Warn warn_;
    std::vector<SmapColumn> columns_;
    hdf5::Handle hdf5_;
    MatGroup saveloc_, loc_;
    std::size_t rows_, written_ = 0, not_finite_ = 0;
    L extent_, ends_;  ///< metadata only; the outermost row
    std::vector<hdf5::Handle> datasets_;
};

}  // namespace

FormatWriter write_smap_mat(const fs::path& path, const L& like, std::size_t rows, const Target& target) {
    if (!(like.pixel_size_nm > 0))
        throw OptionError(fmt::format(
            "{} is in nanometres, so the pixel size must be known: give it, as in `written_pixel_size=100nm`",
            path.string()));
    return std::make_unique<SmapMatFile>(path, like, rows, target);
}

}  // namespace glint
