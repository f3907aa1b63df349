// Reads the HDF5 of storm-analysis: a group for each frame (`fr_0`), with a dataset for each column.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "glint/error.hpp"
#include "io/hdf5/file.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// Returns the number in a scalar attribute; 0 if there is none.
double number_attribute(hid_t object, const char* name) {
    if (H5Aexists(object, name) <= 0) return 0;
    const hdf5::Handle attribute(H5Aopen(object, name, H5P_DEFAULT));
    if (!attribute.valid()) return 0;
    const hdf5::Handle type(H5Aget_type(attribute)), space(H5Aget_space(attribute));
    double value = 0;
    if (!type.valid() || !hdf5::is_numeric(type) || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) < 0)
        return 0;
    return std::isfinite(value) ? value : 0;
}

int size_attribute(hid_t object, const char* name) {
    const double value = number_attribute(object, name);
    return value >= 1 && value <= 1e6 ? int(value) : 0;
}

/// Returns N of "fr_N".
std::optional<std::uint32_t> frame_of_group(std::string_view name) {
    if (!name.starts_with("fr_")) return std::nullopt;
    std::uint32_t frame = 0;
    const auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), frame);
    if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
    return frame;
}

/// Returns true if a dataset belongs to another channel than the first: "c1_x".
bool is_of_other_channel(std::string_view name) {
    const std::size_t digits = name.find_first_not_of("0123456789", 1);
    return name.starts_with('c') && digits != name.npos && digits > 1 && name[digits] == '_';
}

struct StormColumn {
    std::string dataset;
    std::vector<int> to;
    std::string drift;  ///< name of the group's attribute that is added to the column
    hdf5::Handle open;  ///< in the current group
};

class StormAnalysisTable : public TableFile {
  public:
    StormAnalysisTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of) : TableFile(from, warn_of) {
        const hdf5::Quiet quiet;
        file_ = hdf5::open_file(path);
        for (const std::string& name : hdf5::names_in(file_))
            if (const auto frame = frame_of_group(name)) groups_.emplace(*frame, name);
        if (groups_.empty())
            throw InputError(fmt::format(
                "{}: is a file of storm-analysis without localizations of single frames (/fr_0, ...){}", path.string(),
                hdf5::has(file_, "tracks") ? ": it has tracks alone, which glint does not read" : ""));
        about.pixel_size_nm = number_attribute(file_, "pixel_size");
        if (!(about.pixel_size_nm > 0)) about.pixel_size_nm = pixel_size_nm;
        about.width = size_attribute(file_, "movie_x"), about.height = size_attribute(file_, "movie_y");
        const double frames = number_attribute(file_, "movie_l");
        if (frames >= 1 && frames < 4294967296.0) about.frames = std::int64_t(frames);
        tell_apart = {"category"};
        add_columns();
        tell();
        restart();
    }

    void restart() override {
        const hdf5::Quiet quiet;
        at_ = groups_.begin();
        open_group();
    }

    std::size_t add_rows(std::size_t most) override {
        const hdf5::Quiet quiet;
        std::size_t added = 0;
        while (added < most && at_ != groups_.end()) {
            const hsize_t count = std::min<hsize_t>(most - added, rows_of_group_ - read_);
            for (const StormColumn& column : columns_) add_values(column, count);
            for (hsize_t k = 0; k < count; ++k) builder.add_value(frame_column_, at_->first);
            added += count, read_ += count;
            if (read_ == rows_of_group_) ++at_, open_group();
        }
        return added;
    }

  private:
    void add_values(const StormColumn& column, hsize_t count) {
        if (count == 0) return;
        std::vector<double> values = hdf5::read_doubles(column.open, column.dataset.c_str(), path, read_, count);
        if (!column.drift.empty())
            for (double& value : values) value += drift_[column.drift];
        for (const int to : column.to) builder.add_values(to, values);
    }

    /// Opens the first group that has rows, from the current one on.
    void open_group() {
        for (; at_ != groups_.end(); ++at_) {
            read_ = 0;
            const hdf5::Handle group = handle(at_->second);
            rows_of_group_ = hdf5::has(group, "x") ? rows_in(group, at_->second, "x") : 0;
            if (rows_of_group_ > 0 && !columns_.empty()) return open_columns(group, at_->second);
            if (rows_of_group_ > 0) return;
        }
    }

    void open_columns(hid_t group, const std::string& name) {
        for (StormColumn& column : columns_) {
            const std::string full = name + "/" + column.dataset;
            column.open = open_list(group, name, column.dataset.c_str());
            if (hdf5::shape_of(column.open).front() != rows_of_group_)
                throw InputError(fmt::format("{}: /{} has not as many values as /{}/x, {}: the file is damaged",
                                             path.string(), full, name, rows_of_group_));
            const hdf5::Handle type(H5Dget_type(column.open));
            if (!hdf5::is_numeric(type))
                throw InputError(fmt::format("{}: /{} is no list of numbers", path.string(), full));
        }
        for (const char* axis : {"dx", "dy", "dz"}) {
            drift_[axis] = number_attribute(group, axis);
            if (drift_[axis] == 0 || told_drift_) continue;
            told_drift_ = true;
            if (warn)
                warn(fmt::format(
                    "{}: the drift that storm-analysis measured (dx, dy and dz of each frame) is corrected: "
                    "do not correct it again",
                    path.string()));
        }
    }

    hdf5::Handle handle(const std::string& name) {
        if (!hdf5::has(file_, name.c_str())) throw InputError(fmt::format("{}: has no group /{}", path.string(), name));
        hdf5::Handle group(H5Gopen2(file_, name.c_str(), H5P_DEFAULT));
        if (!group.valid()) throw InputError(fmt::format("{}: /{} is not a group", path.string(), name));
        return group;
    }

    hdf5::Handle open_list(hid_t group, const std::string& name, const char* dataset) {
        if (H5Lexists(group, dataset, H5P_DEFAULT) == 0)
            throw InputError(fmt::format("{}: /{} has no {}, which other frames have", path.string(), name, dataset));
        hdf5::Handle list = hdf5::open_dataset(group, dataset, path);
        if (hdf5::shape_of(list).size() != 1)
            throw InputError(fmt::format("{}: /{}/{} is no list of numbers", path.string(), name, dataset));
        return list;
    }

    hsize_t rows_in(hid_t group, const std::string& name, const char* dataset) {
        return hdf5::shape_of(open_list(group, name, dataset)).front();
    }

    /// Adds the columns of the first frame with rows. If no frame has rows, adds the three columns that every table
    /// has.
    void add_columns() {
        frame_column_ = builder.add_column("frame");
        builder.set_integer(frame_column_);
        at_ = groups_.begin();
        open_group();
        std::vector<std::string> names = {"x", "y"};
        if (at_ != groups_.end()) names = hdf5::names_in(handle(at_->second));
        const bool has_sy = std::find(names.begin(), names.end(), "ysigma") != names.end();
        for (const std::string& name : names) {
            if (is_of_other_channel(name)) {
                has_channels_ = true;
                continue;
            }
            if (name == "x" || name == "y")
                add(name, {name}, 1, "d" + name);
            else if (name == "z") {
                if (has_depths()) add(name, {"z"}, 1000, "dz");
            } else if (name == "xsigma")
                add(name, has_sy ? std::vector<std::string>{"sx"} : std::vector<std::string>{"sx", "sy"});
            else if (name == "ysigma")
                add(name, {"sy"});
            else if (name == "sum")
                add(name, {"photons"});
            else if (name == "background")
                add(name, {"bg"});
            else
                add(name, {name == "status" ? "fit_status" : name});
        }
    }

    void add(const std::string& dataset, const std::vector<std::string>& names, double scale = 1,
             const std::string& drift = {}) {
        StormColumn column{dataset, {}, drift, {}};
        bool is_whole = false;
        if (at_ != groups_.end()) {
            const hdf5::Handle stored = hdf5::open_dataset(handle(at_->second), dataset.c_str(), path);
            const hdf5::Handle type(H5Dget_type(stored));
            if (!hdf5::is_numeric(type)) {
                if (warn)
                    warn(fmt::format("{}: column {} is left out: it is no list of numbers", path.string(), dataset));
                return;
            }
            is_whole = H5Tget_class(type) == H5T_INTEGER;
        }
        for (const std::string& name : names)
            if (const int to = builder.add_column(name, scale); to >= 0) {
                column.to.push_back(to);
                if (is_whole) builder.set_integer(to);
            }
        if (!column.to.empty()) columns_.push_back(std::move(column));
    }

    /// Returns true if a depth is not 0; 2D fits have only zeros. Reads frames up to the first such depth.
    bool has_depths() {
        for (const auto& [frame, name] : groups_) {
            const hdf5::Handle group = handle(name);
            if (!hdf5::has(group, "z") || rows_in(group, name, "z") == 0) continue;
            const hdf5::Handle stored = hdf5::open_dataset(group, "z", path);
            const std::vector<double> values = hdf5::read_doubles(stored, "z", path);
            if (std::any_of(values.begin(), values.end(), [](double z) { return z != 0; })) return true;
        }
        return false;
    }

    void tell() const {
        if (!warn) return;
        if (has_channels_)
            warn(fmt::format("{}: has several channels (c1_x, ...), of which the first is read", path.string()));
        if (hdf5::has(file_, "tracks"))
            warn(
                fmt::format("{}: localizations of single frames are read, not the tracks that the file has too: "
                            "`glint link` links them",
                            path.string()));
        if (H5Aexists(file_, "analysis_finished") > 0 && number_attribute(file_, "analysis_finished") == 0)
            warn(fmt::format("{}: storm-analysis had not finished: later frames may be missing", path.string()));
    }

    hdf5::Handle file_;
    std::map<std::uint32_t, std::string> groups_;  ///< by frame
    std::map<std::uint32_t, std::string>::const_iterator at_;
    std::vector<StormColumn> columns_;
    std::map<std::string, double> drift_;  ///< of the current group
    int frame_column_ = -1;
    hsize_t rows_of_group_ = 0, read_ = 0;
    bool has_channels_ = false, told_drift_ = false;
};

bool is_storm_analysis(hid_t file) { return H5Aexists(file, "sa_type") > 0 && H5Aexists(file, "version") > 0; }

OpenTable open_storm_analysis(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    return std::make_unique<StormAnalysisTable>(path, pixel_size_nm, warn);
}

}  // namespace

TableFormat storm_analysis_tables() {
    return {.name = "storm-analysis",
            .endings = {".hdf5"},
            .is = [](const TableContent& content) { return content.hdf5 >= 0 && is_storm_analysis(content.hdf5); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_storm_analysis(path, pixel_size_nm, warn); }};
}

}  // namespace glint
