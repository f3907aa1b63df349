// Builds a table of localizations from the columns of a file, with any names and types.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "glint/localizations.hpp"
#include "glint/progress.hpp"

namespace glint {

/// Announce the file's columns, and add their values in any order of columns. Then take the rows, in one piece or
/// in several.
class LocalizationBuilder {
  public:
    /// `file` is for messages.
    LocalizationBuilder(std::string file, const Warn& warn) : file_(std::move(file)), warn_(warn) {}

    /// A column under Picasso's name or an older alias; another name becomes an `extra` one. The table
    /// receives value * scale + shift. Returns its number, or -1 when the name is taken already (with a
    /// warning).
    int add_column(const std::string& name, double scale = 1, double shift = 0);

    void add_value(int column, double value) {
        Column& to = columns_[std::size_t(column)];
        value = value * to.scale + to.shift;
        if (to.target)
            to.floats.push_back(float(value));
        else
            to.doubles.push_back(value);
    }
    void add_values(int column, std::span<const double> values);
    /// Sets row `row`, for which `resize` made room. Thread-safe for different rows.
    void set_value(int column, std::size_t row, double value) {
        Column& to = columns_[std::size_t(column)];
        value = value * to.scale + to.shift;
        if (to.target)
            to.floats[row] = float(value);
        else
            to.doubles[row] = value;
    }

    /// Declares that a column's values are whole numbers: as an `extra` one it is a column of integers.
    void set_integer(int column) { columns_[std::size_t(column)].is_integer = true; }

    /// Room for so many rows in every column, to be filled by `set_values`: those that were added are kept.
    void resize(std::size_t rows);
    /// Sets `count` rows from `first` on to `value_of(k)`, k from 0. Thread-safe for different rows.
    template <class ValueOf>
    void set_values(int column, std::size_t first, std::size_t count, ValueOf value_of) {
        Column& to = columns_[std::size_t(column)];
        const auto set = [&, scale = to.scale, shift = to.shift](auto* values) {
            using Value = std::remove_pointer_t<decltype(values)>;
            for (std::size_t k = 0; k < count; ++k) values[k] = Value(double(value_of(k)) * scale + shift);
        };
        if (to.target)
            set(to.floats.data() + first);
        else
            set(to.doubles.data() + first);
    }

    /// Drops a column with a warning that says `why`.
    void drop_column(int column, const std::string& why);

    /// Whether a column of that name was announced.
    bool has(const std::string& name) const { return find(name) != nullptr; }

    /// Bytes that a row takes in memory.
    std::size_t row_bytes() const;

    /// Throws InputError where no column frame, x or y was announced.
    void require_columns() const;

    /// Scans the present rows for the first number of each known column without one, and for the first frame that
    /// is not a whole number. Returns whether it found one.
    bool find_numbers();
    /// Whether a frame was not a whole number: the rows are molecules with mean frames. `frame` is then rounded
    /// down, and the extra column mean_frame_column holds the values.
    bool has_mean_frames() const { return mean_frames_; }
    /// Whether all rows must be read to know if has_mean_frames() stays false.
    bool may_have_mean_frames() const { return !mean_frames_ && find("frame") && !find("frame")->is_integer; }
    /// Whether each known column has had a number.
    bool all_have_numbers() const;

    /// Drops known columns without a number, after the last row of the file. Throws InputError if frame, x or y is
    /// one.
    void settle();

    /// The rows that were added since the last call, without those that hold NaN or infinity in a known column. A
    /// column that has had no number yet counts as missing. Throws InputError for frame numbers that are none.
    Localizations take();

    /// One row of zeros with all columns that were announced and are not dropped.
    Localizations example() const;

    /// What follows are the file's rows from the first on.
    void restart();
    /// Warns of the rows left out since then, and of numbers that lost digits.
    void tell_losses() const;

  private:
    struct Column {
        std::string name;
        double scale = 1, shift = 0;
        bool known = false, dropped = false, is_integer = false, has_number = false;
        bool is_rounded = false;  ///< a value is so large that as a whole number it may have lost digits
        std::vector<float> Localizations::*target = nullptr;  ///< the float column that it is; else `doubles`
        std::vector<float> floats;
        std::vector<double> doubles;

        std::size_t size() const { return target ? floats.size() : doubles.size(); }
        bool finite(std::size_t row) const;
        bool counts() const { return known && !dropped; }
    };
    const Column* find(const std::string& name) const;
    static bool is_missing(const Column& column);  ///< of a table with rows
    std::vector<std::size_t> rows_to_keep();
    static ExtraColumn extra_column(Column& column, const std::vector<std::size_t>& keep);
    void move_into(Localizations& to, const std::vector<std::size_t>& keep);
    void warn(const std::string& message) const {
        if (warn_) warn_(file_ + ": " + message);
    }

    std::string file_;
    Warn warn_;
    std::vector<Column> columns_;
    bool mean_frames_ = false;
    std::size_t rows_ = 0, lost_ = 0;  ///< taken so far; left out of these
};

}  // namespace glint
