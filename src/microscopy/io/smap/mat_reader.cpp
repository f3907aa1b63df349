// Reads SMAP's _sml.mat as a table.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>
#include "io/hdf5/file.hpp"

#include <algorithm>
#include <set>

#include "glint/error.hpp"
#include "io/localization_formats.hpp"
#include "io/smap/columns.hpp"
#include "io/smap/contents.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

class SmapTable : public TableFile {
  public:
    SmapTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of, SmapContents contents)
        : TableFile(from, warn_of), columns_(std::move(contents.columns)) {
        first_frame = 1;
        tell_apart = idle = smap_tell_apart;
        movie_ = movie_of(contents.movies);
        if (movie_.pixel_x_nm == 0) movie_.pixel_x_nm = movie_.pixel_y_nm = pixel_size_nm;
        if (!(movie_.pixel_x_nm > 0))
            throw OptionError(
                fmt::format("{} has no saveloc.file.info.cam_pixelsize_um, so the pixel size must be given, as in "
                            "`table_pixel_size=100nm`",
                            path.string()));
        require_frames();
        std::vector<std::string> other_lengths;
        std::erase_if(columns_, [&](const SmapArray& column) {
            const bool is_other = column.count != *rows;
            if (is_other && column.count > 0)
                other_lengths.push_back(fmt::format("{} ({} values)", column.name, column.count));
            return is_other;
        });
        if (warn && !other_lengths.empty())
            warn(fmt::format("{}: fields that have not as many values as frame, {}, are left out: {}", path.string(),
                             *rows, fmt::join(other_lengths, ", ")));
        if (warn && !contents.skipped.empty())
            warn(fmt::format("{}: fields that are no list of real numbers are left out: {}", path.string(),
                             fmt::join(contents.skipped, ", ")));
        announce();
        about.pixel_size_nm = movie_.pixel_x_nm;
        about.width = int(movie_.width), about.height = int(movie_.height), about.frames = std::int64_t(movie_.frames);
        about.history = std::move(contents.history);
    }

    void restart() override { read_ = 0; }

    std::size_t add_rows(std::size_t most) override {
        const auto count = std::size_t(std::min<std::uint64_t>(most, *rows - read_));
        std::vector<double> values;
        for (std::size_t k = 0; k < columns_.size(); ++k) {
            if (targets_[k].empty() || count == 0) continue;
            values.resize(count);
            columns_[k].read(read_, values);
            for (const int column : targets_[k]) builder.add_values(column, values);
        }
        read_ += count;
        return count;
    }

  private:
    /// Combined files have their positions on the same camera.
    SmapMovie movie_of(const std::vector<SmapMovie>& movies) const {
        if (movies.empty()) return {};
        for (const SmapMovie& movie : movies)
            if (movie.pixel_x_nm != movies.front().pixel_x_nm || movie.pixel_y_nm != movies.front().pixel_y_nm ||
                movie.corner_x_px != movies.front().corner_x_px || movie.corner_y_px != movies.front().corner_y_px)
                throw InputError(
                    fmt::format("{}: holds localizations of {} movies whose pixel sizes or ROIs differ: save each "
                                "alone in SMAP",
                                path.string(), movies.size()));
        SmapMovie movie = movies.front();
        for (const SmapMovie& other : movies) movie.frames = std::max(movie.frames, other.frames);
        return movie;
    }

    void require_frames() {
        for (const char* name : {"frame", "xnm", "ynm"}) {
            const auto found = std::find_if(columns_.begin(), columns_.end(),
                                            [&](const SmapArray& column) { return column.name == name; });
            if (found == columns_.end())
                throw InputError(fmt::format("{}: saveloc.loc has no numeric field {}, so it is no table of SMAP",
                                             path.string(), name));
            if (rows && *rows != found->count)
                throw InputError(fmt::format("{}: saveloc.loc.{} has {} values, frame has {}: the file is damaged",
                                             path.string(), name, found->count, *rows));
            rows = std::size_t(found->count);
        }
    }

    void announce() {
        std::vector<std::string> names;
        for (const SmapArray& column : columns_) names.push_back(column.name);
        const std::vector<SmapMeaning> meanings = smap_meanings(names);
        for (std::size_t k = 0; k < columns_.size(); ++k) {
            std::vector<int> targets;
            for (const std::string& name : meanings[k].names) {
                const auto [scale, shift] = conversion_to(name, meanings[k].kind);
                if (const int column = builder.add_column(name, scale, shift); column >= 0) {
                    targets.push_back(column);
                    if (columns_[k].is_integer) builder.set_integer(column);
                }
            }
            targets_.push_back(std::move(targets));
        }
    }

    /// Returns the conversion to px from the centre of the movie's first pixel.
    std::pair<double, double> conversion_to(const std::string& name, SmapMeaning::Kind kind) const {
        const bool is_y = name == "sy" || name == "lpy";
        switch (kind) {
            case SmapMeaning::position_x: return {1 / movie_.pixel_x_nm, -1 - movie_.corner_x_px};
            case SmapMeaning::position_y: return {1 / movie_.pixel_y_nm, -1 - movie_.corner_y_px};
            case SmapMeaning::lateral: return {1 / (is_y ? movie_.pixel_y_nm : movie_.pixel_x_nm), 0};
            default: return {1, 0};
        }
    }

    std::vector<SmapArray> columns_;
    std::vector<std::vector<int>> targets_;  ///< numbers of the builder's columns, for each column
    SmapMovie movie_;
    std::uint64_t read_ = 0;
};

}  // namespace

OpenTable open_smap_hdf5(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    return std::make_unique<SmapTable>(path, pixel_size_nm, warn, smap_contents_of_hdf5(path, warn));
}

OpenTable open_smap_mat5(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    return std::make_unique<SmapTable>(path, pixel_size_nm, warn, smap_contents_of_elements(path));
}

namespace {

OpenTable open_smap(const fs::path& path, double pixel_size_nm, const Warn& warn, const TextConventions&) {
    return is_smap_mat5(path) ? open_smap_mat5(path, pixel_size_nm, warn) : open_smap_hdf5(path, pixel_size_nm, warn);
}

}  // namespace

TableFormat smap_tables() {
    return {.name = "SMAP",
            .endings = {"_sml.mat"},
            .is =
                [](const TableContent& content) {
                    return content.hdf5 >= 0 ? hdf5::has(content.hdf5, "saveloc") : is_smap_mat5(content.path);
                },
            .open = open_smap,
            .write = write_smap_mat,
            .left_out = left_out_of_smap,
            .cannot_hold = "columns whose names are none of MATLAB's or have another meaning in SMAP",
            .history = history_in<open_smap>};
}

}  // namespace glint
