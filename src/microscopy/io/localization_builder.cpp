// Names and aliases of columns, and the selection of valid rows.
// SPDX-License-Identifier: MIT
#include "io/localization_builder.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/arena.hpp"
#include "base/large_vector.hpp"
#include "base/utf8.hpp"
#include "data/table_facts.hpp"
#include "data/whole_numbers.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

std::vector<float> Localizations::*float_column(const std::string& name) {
    for (const LocalizationColumn& column : localization_columns())
        if (column.name == name) return column.values;
    return nullptr;
}

bool is_integer_column(const std::string& name) { return name == "frame" || name == "iterations" || name == "status"; }

constexpr const char* required_columns[] = {"frame", "x", "y"};

template <class To, class From>
std::vector<To> pick(std::vector<From>& from, const std::vector<std::size_t>& keep) {
    if constexpr (std::is_same_v<To, From>)
        if (keep.size() == from.size()) return std::move(from);
    std::vector<To> out;
    out.reserve(keep.size());
    for (std::size_t row : keep) {
        if constexpr (std::is_integral_v<To>)
            out.push_back(To(std::clamp(from[row], 0.0, double(std::numeric_limits<To>::max()))));
        else
            out.push_back(To(from[row]));
    }
    return out;
}

}  // namespace

bool LocalizationBuilder::Column::finite(std::size_t row) const {
    return target ? std::isfinite(floats[row]) : std::isfinite(doubles[row]);
}

int LocalizationBuilder::add_column(const std::string& name, double scale, double shift) {
    const std::string known_as = name == "likelihood" ? "log_likelihood" : utf8_or_latin1(name);
    if (known_as.size() > name.size() && known_as != "log_likelihood")
        warn(fmt::format("the name of column {} is no UTF-8, and is taken for Latin-1", known_as));
    if (find(known_as)) {
        warn(fmt::format("there are two columns {}; the second one is left out", name));
        return -1;
    }
    Column column;
    column.name = known_as, column.scale = scale, column.shift = shift;
    column.target = float_column(known_as);
    column.known = column.target || is_integer_column(known_as);
    columns_.push_back(std::move(column));
    return int(columns_.size()) - 1;
}

void LocalizationBuilder::add_values(int column, std::span<const double> values) {
    for (double value : values) add_value(column, value);
}

void LocalizationBuilder::resize(std::size_t rows) {
    for (Column& column : columns_)
        if (column.target)
            resize_large(column.floats, rows);
        else
            resize_large(column.doubles, rows);
}

void LocalizationBuilder::drop_column(int column, const std::string& why) {
    Column& dropped = columns_[std::size_t(column)];
    dropped.dropped = true;
    warn(fmt::format("column {} is left out: {}", dropped.name, why));
}

const LocalizationBuilder::Column* LocalizationBuilder::find(const std::string& name) const {
    for (const Column& column : columns_)
        if (column.name == name && !column.dropped) return &column;
    return nullptr;
}

std::size_t LocalizationBuilder::row_bytes() const {
    std::size_t bytes = 0;
    for (const Column& column : columns_) bytes += column.target ? sizeof(float) : sizeof(double);
    return bytes;
}

void LocalizationBuilder::require_columns() const {
    for (const char* name : required_columns) {
        if (find(name)) continue;
        std::string found;
        for (const Column& column : columns_) found += (found.empty() ? "" : ", ") + column.name;
        throw InputError(fmt::format("{} has no column {}: it has {}", file_, name, found.empty() ? "none" : found));
    }
}

bool LocalizationBuilder::find_numbers() {
    bool found = false;
    for (Column& column : columns_) {
        if (!column.counts() || column.has_number) continue;
        for (std::size_t row = 0; row < column.size() && !column.has_number; ++row)
            column.has_number = column.finite(row);
        found |= column.has_number;
    }
    if (!may_have_mean_frames()) return found;
    for (const double frame : find("frame")->doubles)
        if (std::isfinite(frame) && frame != std::floor(frame)) {
            mean_frames_ = true;
            warn(
                fmt::format("has a frame of {}, which is no whole number: its rows are taken as molecules with mean "
                            "frames; frame is rounded down, and column {} keeps the values",
                            frame, mean_frame_column));
            return true;
        }
    return found;
}

bool LocalizationBuilder::all_have_numbers() const {
    return std::all_of(columns_.begin(), columns_.end(),
                       [](const Column& column) { return !column.counts() || column.has_number; });
}

void LocalizationBuilder::settle() {
    if (rows_ == 0 && find("frame")->size() == 0) return;  // a table without rows keeps all columns
    for (std::size_t k = 0; k < columns_.size(); ++k)
        if (columns_[k].counts() && !columns_[k].has_number) drop_column(int(k), "it holds no number in any row");
    for (const char* name : required_columns)
        if (!find(name)) throw InputError(fmt::format("{}: no row of column {} holds a number", file_, name));
}

bool LocalizationBuilder::is_missing(const Column& column) {
    const auto* const end = std::end(required_columns);
    return column.dropped ||
           (column.known && !column.has_number && std::find(std::begin(required_columns), end, column.name) == end);
}

std::vector<std::size_t> LocalizationBuilder::rows_to_keep() {
    const std::vector<double>& frames = find("frame")->doubles;
    std::vector<char> bad(frames.size(), 0);
    in_own_arena([&] {
        using Range = tbb::blocked_range<std::size_t>;
        tbb::parallel_for(Range(0, bad.size(), 1 << 14), [&](const Range& range) {
            for (const Column& column : columns_) {
                if (!column.known || is_missing(column)) continue;
                for (std::size_t row = range.begin(); row < range.end(); ++row) bad[row] |= !column.finite(row);
            }
        });
    });
    std::vector<std::size_t> keep;
    keep.reserve(bad.size());
    for (std::size_t row = 0; row < bad.size(); ++row) {
        if (bad[row]) continue;
        if (frames[row] < 0 || frames[row] > 4294967295.0 || (frames[row] != std::floor(frames[row]) && !mean_frames_))
            throw InputError(fmt::format("{}: row {} has the frame number {}, which is none (0 to 4294967295)", file_,
                                         rows_ + row + 1, frames[row]));
        keep.push_back(row);
    }
    rows_ += bad.size(), lost_ += bad.size() - keep.size();
    return keep;
}

ExtraColumn LocalizationBuilder::extra_column(Column& column, const std::vector<std::size_t>& keep) {
    ExtraColumn extra{pick<double>(column.doubles, keep), column.is_integer};
    const auto is_rounded = [](double value) { return std::abs(value) >= largest_exact_integer; };
    column.is_rounded |= std::any_of(extra.values.begin(), extra.values.end(), is_rounded);
    return extra;
}

void LocalizationBuilder::move_into(Localizations& to, const std::vector<std::size_t>& keep) {
    for (Column& column : columns_) {
        if (is_missing(column))
            ;  // not in the table
        else if (column.target)
            to.*column.target = pick<float>(column.floats, keep);
        else if (column.name == "frame") {
            to.frame = pick<std::uint32_t>(column.doubles, keep);
            if (mean_frames_ && !find(mean_frame_column))
                to.extra[mean_frame_column] = {pick<double>(column.doubles, keep), false};
        } else if (column.name == "iterations")
            to.iterations = pick<std::uint32_t>(column.doubles, keep);
        else if (column.name == "status")
            to.status = pick<std::uint8_t>(column.doubles, keep);
        else
            to.extra[column.name] = extra_column(column, keep);
        std::vector<float>().swap(column.floats);
        std::vector<double>().swap(column.doubles);
    }
}

Localizations LocalizationBuilder::take() {
    Localizations out;
    const std::vector<std::size_t> keep = rows_to_keep();
    move_into(out, keep);
    return out;
}

Localizations LocalizationBuilder::example() const {
    Localizations row;
    for (const Column& column : columns_) {
        if (column.dropped) continue;
        if (column.target)
            row.*column.target = {0};
        else if (column.name == "frame") {
            row.frame = {0};
            if (mean_frames_ && !find(mean_frame_column)) row.extra[mean_frame_column] = {{0}, false};
        } else if (column.name == "iterations")
            row.iterations = {0};
        else if (column.name == "status")
            row.status = {0};
        else
            row.extra[column.name] = {{0}, column.is_integer};
    }
    return row;
}

void LocalizationBuilder::restart() {
    rows_ = lost_ = 0;
    for (Column& column : columns_) column.floats.clear(), column.doubles.clear();
}

void LocalizationBuilder::tell_losses() const {
    if (lost_ > 0) warn(fmt::format("{} of {} rows hold NaN or infinity and are left out", lost_, rows_));
    for (const Column& column : columns_)
        if (column.is_integer && column.is_rounded)
            warn(fmt::format("column {} has whole numbers of {:.0f} or more, which lose their last digits", column.name,
                             largest_exact_integer));
}

}  // namespace glint
