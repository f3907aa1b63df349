// Reads localizations and truth from CSV: lines in order, their numbers by all threads.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "base/arena.hpp"
#include "glint/error.hpp"
#include "io/csv/all_columns.hpp"
#include "io/csv/columns.hpp"
#include "io/csv/lines.hpp"
#include "io/decode/columns.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t most_columns = 1000;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// A column of the file with the builder's columns that it fills.
struct Target {
    const CsvColumn* column;
    std::vector<int> to;
    bool is_whole = true;  ///< every cell so far: digits alone
};

/// A line that is a row.
struct CsvRow {
    std::string_view text;
    std::size_t number;  ///< of the line
};

/// What some rows of a block, parsed by one thread, say beside their numbers.
struct CsvFindings {
    struct Text {
        bool is_there = false;
        std::string cell;
        std::size_t line = 0;
    };
    std::vector<char> has_real;  ///< a column: a cell that is not digits alone
    std::vector<Text> text;      ///< a column that may hold none: the first cell that is no number
    std::string error;           ///< of the first row that is none; nothing after it was parsed
    std::vector<std::string_view> cells;
    std::vector<std::string> scratch;
};

class CsvTable : public TableFile {
  public:
    CsvTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of, const TextConventions& text)
        : TableFile(from, warn_of), name_(from.string()), lines_(from) {
        is_text = true;
        about.pixel_size_nm = pixel_size_nm;
        const std::string_view line = find_header();
        split_csv(line, cells_, scratch_);
        if (cells_.size() > most_columns)
            throw InputError(
                fmt::format("{} has {} columns, more than the limit of {}", name_, cells_.size(), most_columns));
        for (const auto& [separator, word] : {std::pair(';', "semicolons"), std::pair('\t', "tabs")})
            if (cells_.size() == 1 && line.find(separator) != line.npos)
                throw InputError(
                    fmt::format("{}: its columns are separated by {}: tables are read with commas between columns, and "
                                "points in numbers",
                                name_, word));
        const bool is_header_terminated = lines_.terminated();
        header_ = understand(pixel_size_nm, text);
        first_frame = header_.first_frame, is_first_frame_known = header_.is_first_frame_known;
        origin = header_.from_centre ? "centre" : "outer edge";
        tell_apart = header_.tell_apart, idle = header_.idle;
        for (const CsvColumn& column : header_.columns) announce(column);
        builder.require_columns();
        for (const std::string& column : header_.not_photons)
            if (warn)
                warn(
                    fmt::format("{}: column \"{}\" is not in photons (photon, photoelectron, electron, e-): it is kept "
                                "under this name, and is neither photons nor background; multiply counts by the gain, "
                                "and rename the column",
                                name_, column));
        if (header_.needs_pixel_size && !(pixel_size_nm > 0))
            throw OptionError(
                fmt::format("{} does not tell the size of a camera pixel, which its lengths need: give it, "
                            "as in --pixel-size 100nm",
                            name_));
        if (!header_.is_data && !is_header_terminated && warn)
            warn(fmt::format("{}: there is a header alone, without the end of its line: is it cut off?", name_));
        restart();
        constexpr std::size_t some = 1000;
        likely_rows = next_rows(some) ? rows_.size() + rows_left() : 0;
        restart();
    }

    void restart() override { restart_at(header_.is_data ? header_line_ - 1 : header_line_); }

    std::size_t add_rows(std::size_t most) override {
        std::size_t added = 0, room = 0;
        while (added < most && next_rows(most - added)) {
            if (added + rows_.size() > room) {
                room = std::clamp(added + rows_.size() + rows_left(), added + rows_.size(), most);
                builder.resize(room);
            }
            parse_rows(added);
            added += rows_.size();
        }
        builder.resize(added);
        if (added < most) set_whole_columns();
        return added;
    }

  private:
    /// Behind so many lines.
    void restart_at(std::size_t lines) {
        lines_.restart();
        std::string_view line;
        for (std::size_t k = 0; k < lines; ++k) lines_.next(line);
    }

    /// The first line that is neither empty nor a comment.
    std::string_view find_header() {
        std::string_view line;
        while (lines_.next(line)) {
            if (lines_.number() == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
            if (line.find('\0') != line.npos)
                throw InputError(
                    fmt::format("{} is neither HDF5 nor CSV: localizations come as .hdf5 (Picasso, "
                                "SMLMAnalysis) or .csv (ThunderSTORM)",
                                name_));
            if (lines_.number() == 1) has_all_columns_ = begins_all_columns(line);
            if (line.starts_with("# DECODE EmitterSet")) is_decode_ = true;
            if (has_all_columns_)
                add_comment(line, about);
            else if (is_decode_)
                take_decode_meta(line);
            else
                refuse_programs(line);
            const bool is_comment = line.starts_with('#') || line.starts_with('%') || line.starts_with("//");
            if (is_comment && !has_all_columns_ && !is_decode_ &&
                names_columns(line)) {  // as numpy.savetxt writes a header
                line.remove_prefix(line.find_first_not_of("#%/ \t"));
                break;
            }
            if (!is_comment && line.find_first_not_of(" \t") != line.npos) break;
            line = {};
        }
        header_line_ = lines_.number();
        return line;
    }

    /// Whether a comment is a header: a list of columns with a frame.
    bool names_columns(std::string_view comment) {
        comment.remove_prefix(std::min(comment.find_first_not_of("#%/ \t"), comment.size()));
        split_csv(comment, cells_, scratch_);
        return cells_.size() >= 3 && std::any_of(cells_.begin(), cells_.end(), [](std::string_view cell) {
                   return cell == "frame" || cell == "Frame" || cell == "FRAME";
               });
    }

    /// Texts that are known by their first lines, and not read.
    void refuse_programs(std::string_view line) {
        const auto refuse = [&](const char* program, const char* remedy) {
            throw InputError(
                fmt::format("{}: is a table of {}, which glint does not read: {}", name_, program, remedy));
        };
        if (line.starts_with("# <localizations"))
            refuse("rapidSTORM",
                   "write its columns as CSV with the header frame,x [nm],y [nm],intensity [photon], as "
                   "numpy.savetxt does with delimiter=\",\"");
        split_csv(line, cells_, scratch_);
        if (std::find(cells_.begin(), cells_.end(), "frame_ix") != cells_.end())
            refuse(
                "DECODE without its three comments",
                "its first line should be \"# DECODE EmitterSet\", and the third one hold xy_unit; write it again in "
                "DECODE, or as CSV with the header frame,x [px],y [px],z [nm],intensity [photon], with x along "
                "columns");
    }

    void take_decode_meta(std::string_view line) {
        if (!line.starts_with("# {")) return;
        if (const DecodeMeta meta = decode_meta(line.substr(2)); !meta.xy_unit.empty()) decode_ = meta;
    }

    CsvHeader understand(double pixel_size_nm, const TextConventions& text) {
        if (!text.columns.empty() || !(has_all_columns_ || is_decode_))
            return understand_header(cells_, pixel_size_nm, name_, text.columns);
        if (has_all_columns_) return header_of_all_columns(cells_);
        complete_decode_meta(decode_, pixel_size_nm, name_);
        about.pixel_size_nm = decode_.px_size_y_nm;
        if (warn) warn(fmt::format("{}: {}", name_, decode_axes));
        const std::vector<std::string> names(cells_.begin(), cells_.end());  // the next line overwrites the buffer
        const bool uses_sig = first_row_has(names, "x_sig") || !first_row_has(names, "x_cr");
        return decode_header({names.begin(), names.end()}, decode_, uses_sig);
    }

    /// Whether the first row after the header has a number in a column.
    bool first_row_has(const std::vector<std::string>& names, const char* name) {
        const auto column = std::size_t(std::find(names.begin(), names.end(), name) - names.begin());
        restart_at(header_line_);
        std::string_view line;
        std::vector<std::string_view> cells;
        if (lines_.next(line)) split_csv(line, cells, scratch_);
        double value = NAN;
        return column < cells.size() && parse_cell(cells[column], value) && std::isfinite(value);
    }

    void announce(const CsvColumn& column) {
        Target target{&column, {}, true};
        for (const std::string& name : column.names)
            if (const int to = builder.add_column(name, column.scale, column.shift); to >= 0) target.to.push_back(to);
        targets_.push_back(std::move(target));
    }

    /// The next lines that are rows, in `rows_`: of some lines all may be blank. False: there are none.
    bool next_rows(std::size_t most) {
        const std::size_t before = lines_.number();
        lines_.next(block_, most);
        rows_.clear();
        bytes_of_block_ = 0;
        for (std::size_t k = 0; k < block_.size(); ++k) {
            std::string_view line = block_[k];
            const std::size_t number = before + k + 1;
            bytes_of_block_ += line.size() + 1;
            if (number == 1 && line.substr(0, 3) == byte_order_mark) line.remove_prefix(byte_order_mark.size());
            if (line.find_first_not_of(" \t") != line.npos) rows_.push_back({line, number});
        }
        leave_out_cut_row();
        return !block_.empty();
    }

    /// The last line of a file that is written, or was cut off.
    void leave_out_cut_row() {
        if (lines_.terminated() || rows_.empty() || rows_.back().number != lines_.number()) return;
        split_csv(rows_.back().text, cells_, scratch_);
        if (cells_.size() >= targets_.size()) {
            // Programs exist that end no last line; a file that was cut off there gives the first digits of a number.
            if (warn && !told_cut_ && !cells_.empty())
                warn(fmt::format(
                    "{}: the last line does not end: if the file is cut off, its last value, \"{}\" in line {}, is not "
                    "whole",
                    name_, cells_.back(), rows_.back().number));
            told_cut_ = true;
            return;
        }
        rows_.pop_back();
        if (warn && !told_cut_) warn(fmt::format("{}: the last line is cut off and is left out", name_));
        told_cut_ = true;
    }

    /// Rows that are still to come, if their lines are as long as those of the block.
    std::size_t rows_left() const {
        constexpr double margin = 1.02;
        const double line_bytes = double(bytes_of_block_) / double(std::max<std::size_t>(1, block_.size()));
        return std::size_t(margin * double(lines_.bytes_left()) / std::max(1.0, line_bytes));
    }

    void set_whole_columns() {
        for (const Target& target : targets_)
            for (int column : target.to)
                if (target.is_whole && !target.column->known) builder.set_integer(column);
    }

    /// Sets the rows of the builder from `first` on.
    void parse_rows(std::size_t first) {
        constexpr std::size_t at_once = 1024;
        std::vector<CsvFindings> found((rows_.size() + at_once - 1) / at_once);
        in_own_arena([&] {
            tbb::parallel_for(std::size_t{0}, found.size(), [&](std::size_t k) {
                CsvFindings& of = found[k];
                of.has_real.resize(targets_.size()), of.text.resize(targets_.size());
                const std::size_t end = std::min(rows_.size(), (k + 1) * at_once);
                for (std::size_t row = k * at_once; row < end && of.error.empty(); ++row)
                    parse_row(rows_[row], first + row, of);
            });
        });
        for (const CsvFindings& of : found) take_findings(of);
    }

    void parse_row(const CsvRow& row, std::size_t to, CsvFindings& found) {
        std::vector<std::string_view>& cells = found.cells;
        split_csv(row.text, cells, found.scratch);
        if (cells.size() == targets_.size() + 1 && cells.back().empty()) cells.pop_back();
        if (cells.size() != targets_.size()) {
            found.error = fmt::format("{}: line {} has {} columns, the header {}", name_, row.number, cells.size(),
                                      targets_.size());
            return;
        }
        for (std::size_t k = 0; k < cells.size(); ++k)
            if (!targets_[k].to.empty()) parse_cell_of(k, cells[k], row.number, to, found);
    }

    void parse_cell_of(std::size_t column, std::string_view cell, std::size_t line, std::size_t to,
                       CsvFindings& found) {
        const Target& target = targets_[column];
        double value;
        if (parse_cell(cell, value)) {
            if (target.is_whole && !target.column->known && !is_whole_number(cell)) found.has_real[column] = true;
            if (target.column->is_variance) value = std::sqrt(value);
            for (int of : target.to) builder.set_value(of, to, value);
        } else if (!target.column->known) {
            if (!found.text[column].is_there) found.text[column] = {true, std::string(cell.substr(0, 40)), line};
        } else if (found.error.empty()) {
            found.error = fmt::format("{}: line {}: \"{}\" in column {} is no number", name_, line, cell.substr(0, 40),
                                      target.column->header);
        }
    }

    /// In the order of rows.
    void take_findings(const CsvFindings& found) {
        for (std::size_t k = 0; k < targets_.size(); ++k) {
            Target& target = targets_[k];
            target.is_whole = target.is_whole && !found.has_real[k];
            if (!found.text[k].is_there) continue;
            for (int column : target.to)
                builder.drop_column(
                    column, fmt::format("\"{}\" in line {} is no number", found.text[k].cell, found.text[k].line));
            target.to.clear();
        }
        if (!found.error.empty()) throw InputError(found.error);
    }

    std::string name_;
    CsvLines lines_;
    CsvHeader header_;
    bool told_cut_ = false, has_all_columns_ = false, is_decode_ = false;
    DecodeMeta decode_;
    std::size_t header_line_ = 1;
    std::vector<Target> targets_;
    std::vector<std::string_view> block_, cells_;
    std::vector<CsvRow> rows_;  ///< of the block
    std::size_t bytes_of_block_ = 0;
    std::vector<std::string> scratch_;
};

}  // namespace

OpenTable open_csv(const fs::path& path, double pixel_size_nm, const Warn& warn, const TextConventions& text) {
    return std::make_unique<CsvTable>(path, pixel_size_nm, warn, text);
}

}  // namespace glint
