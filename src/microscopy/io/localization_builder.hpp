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

/// Announce the file's columns and add their values, in any order of columns. Then take the rows in one or several
/// pieces.
class LocalizationBuilder {
  public:
    /// `file` is for messages.
    LocalizationBuilder(std::string file, const Warn& warn) : file_(std::move(file)), warn_(warn) {}

    /// Adds a column under Picasso's name or an older alias; other names become `extra` columns. The table receives
    /// value * scale + shift. Returns the column's number, or -1 if the name is already used (with a warning).
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

    /// Declares that a column's values are whole numbers. If it is an `extra` column, it becomes a column of integers.
    void set_integer(int column) { columns_[std::size_t(column)].is_integer = true; }

    /// Makes room for `rows` rows in every column, to be filled by `set_values`; keeps existing rows.
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

    /// Drops a column with a warning that contains the reason `why`.
    void drop_column(int column, const std::string& why);

    /// Returns true if a column of that name was announced.
    bool has(const std::string& name) const { return find(name) != nullptr; }

    /// Returns the size of a row in memory.
    std::size_t row_bytes() const;

    /// Throws InputError if no column frame, x or y was announced.
    void require_columns() const;

    /// Scans the present rows for the first number of each known column without one, and for the first frame that is
    /// not a whole number. Returns true if it found one.
    bool find_numbers();
    /// Returns true if a frame was not a whole number: the rows are molecules with mean frames. `frame` is then rounded
    /// down, and the extra column mean_frame_column contains the values.
    bool has_mean_frames() const { return mean_frames_; }
    /// Returns true if has_mean_frames() may still become true, which only reading all rows can decide.
    bool may_have_mean_frames() const { return !mean_frames_ && find("frame") && !find("frame")->is_integer; }
    /// Returns true if each known column has had a number.
    bool all_have_numbers() const;

    /// Call it after the last row of the file. Drops known columns without a number. Throws InputError if frame, x or y
    /// has no number.
    void settle();

    /// Returns the rows added since the last call, without those with NaN or infinity in a known column. A column
    /// without any number so far counts as missing. Throws InputError for invalid frame numbers.
    Localizations take();

    /// Returns one row of zeros with all announced columns that are not dropped.
    Localizations example() const;

    /// Starts again with the file's first row.
    void restart();
    /// Warns of the rows left out since the last restart, and of numbers that lost digits.
    void tell_losses() const;

  private:
    struct Column {
        std::string name;
        double scale = 1, shift = 0;
        bool known = false, dropped = false, is_integer = false, has_number = false;
        bool is_rounded = false;  ///< a value is so large that it may have lost digits as a whole number
        std::vector<float> Localizations::*target = nullptr;  ///< its float column; null: it is in `doubles`
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
    std::size_t rows_ = 0, lost_ = 0;  ///< rows returned so far; rows left out
};

}  // namespace glint
