// Reads localizations and truth from CSV: lines in order, with their numbers parsed by all threads.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "base/arena.hpp"
#include "glint/error.hpp"
#include "io/csv/columns.hpp"
#include "io/csv/layout.hpp"
#include "io/csv/lines.hpp"
#include "io/decode/columns.hpp"
#include "io/files/input_file.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t max_columns = 1000, max_labels = 100;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// A column of the file with the builder's columns that it fills.
struct Target {
    const CsvColumn* column;
    std::vector<int> to;
    bool is_whole = true;  ///< every cell so far contains only digits
};

/// A line that is a row.
struct CsvRow {
    std::string_view text;
    std::size_t number;  ///< of the line
};

/// Findings of one thread about some rows of a block, in addition to their numbers.
struct CsvFindings {
    struct Text {
        bool is_there = false;
        std::string cell;
        std::size_t line = 0;
    };
    Text comma;                  ///< the first number with a decimal comma
    std::vector<char> has_real;  ///< per column: a cell contains more than digits
    std::vector<Text> text;      ///< per column that may contain text: the first cell that is not a number
    std::string error;           ///< of the first invalid row; parsing ended there
    std::vector<std::string_view> cells;
    std::vector<std::string> scratch;
};

class CsvTable : public TableFile {
  public:
    CsvTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of, const TextConventions& text)
        : TableFile(from, warn_of), name_(from.string()), lines_(from) {
        about.pixel_size_nm = pixel_size_nm;
        const std::string_view line = find_header();
        separator_ = separator_of(line);
        split_csv(line, cells_, scratch_, separator_);
        if (cells_.size() == 1 && line.starts_with('"')) {  // a spreadsheet has quoted the whole header
            quoted_header_ = cells_.front();
            separator_ = separator_of(quoted_header_);
            split_csv(quoted_header_, cells_, scratch_, separator_);
        }
        if (cells_.size() > max_columns)
            throw InputError(
                fmt::format("{} has {} columns, more than the limit of {}", name_, cells_.size(), max_columns));
        const bool is_header_terminated = lines_.terminated();
        header_ = understand(pixel_size_nm, text);
        if (header_.is_data && text.columns.empty()) tell_guess();
        begin(pixel_size_nm, is_header_terminated);
    }

    CsvTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of, const TextConventions& text,
             TextLayout layout)
        : TableFile(from, warn_of), name_(from.string()), lines_(from), layout_(std::move(layout)) {
        separator_ = layout_.separator;
        if (layout_.about.pixel_size_nm > 0) pixel_size_nm = layout_.about.pixel_size_nm;
        about = layout_.about;
        about.pixel_size_nm = pixel_size_nm;
        header_line_ = layout_.header_lines;
        header_ = layout_header(pixel_size_nm, text);
        begin(pixel_size_nm, true);
        idle = layout_.idle;
    }

    void restart() override { restart_at(header_.is_data ? header_line_ - 1 : header_line_); }

    std::size_t add_rows(std::size_t most) override {
        std::size_t added = 0, room = 0;
        while (added < most && next_rows(most - added)) {
            if (added + rows_.size() > room) {
                room = std::clamp(added + rows_.size() + rows_left(), added + rows_.size(), most);
                builder.resize(room);
            }
            number_labels();
            parse_rows(added);
            added += rows_.size();
        }
        builder.resize(added);
        if (added < most) set_whole_columns(), tell_labels();
        return added;
    }

  private:
    /// Returns the columns by the format's and the user's names; the user's have precedence.
    CsvHeader layout_header(double pixel_size_nm, const TextConventions& text) {
        if (layout_.headers.size() > max_columns)
            throw InputError(fmt::format("{} has {} columns, more than the limit of {}", name_, layout_.headers.size(),
                                         max_columns));
        std::map<std::string, std::string> columns = text.columns;
        for (const auto& [name, header] : layout_.columns) {
            const auto is_given = [&, &known = header](const auto& given) { return given.second == known; };
            if (std::none_of(text.columns.begin(), text.columns.end(), is_given)) columns.emplace(name, header);
        }
        const std::vector<std::string_view> cells(layout_.headers.begin(), layout_.headers.end());
        CsvHeader header = understand_header(cells, pixel_size_nm, name_, columns);
        header.first_frame = layout_.first_frame, header.is_first_frame_known = true, header.is_data = false;
        header.from_centre = layout_.from_centre;
        header.tell_apart.insert(header.tell_apart.end(), layout_.tell_apart.begin(), layout_.tell_apart.end());
        for (CsvColumn& column : header.columns) {
            if (layout_.from_centre) column.shift = 0;
            if (const auto factor = layout_.factors.find(column.header); factor != layout_.factors.end())
                column.scale *= factor->second;
            const auto is_given = [&](const auto& given) { return given.second == column.header; };
            const bool is_left_out =
                std::find(layout_.left_out.begin(), layout_.left_out.end(), column.header) != layout_.left_out.end();
            if (is_left_out && std::none_of(columns.begin(), columns.end(), is_given)) column.names.clear();
            if (!layout_.labels.empty() && column.header == layout_.labels) column.is_label = column.known = true;
        }
        return header;
    }

    void begin(double pixel_size_nm, bool is_header_terminated) {
        is_text = true;
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
                fmt::format("{} does not state the size of a camera pixel, which its lengths need: give it, "
                            "as in `table_pixel_size=100nm`",
                            name_));
        if (!header_.is_data && !is_header_terminated && warn)
            warn(fmt::format("{}: there is a header alone, without the end of its line: is it cut off?", name_));
        restart();
        constexpr std::size_t some = 1000;
        likely_rows = next_rows(some) ? rows_.size() + rows_left() : 0;
        restart();
    }

    /// Restarts the file and skips so many lines.
    void restart_at(std::size_t lines) {
        lines_.restart();
        has_ended_ = false;
        std::string_view line;
        for (std::size_t k = 0; k < lines; ++k) lines_.next(line);
    }

    /// The first line that is neither empty nor a comment.
    std::string_view find_header() {
        std::string_view line;
        while (lines_.next(line)) {
            if (lines_.number() == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
            if (lines_.number() == 1 && (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF")))
                throw InputError(
                    fmt::format("{} is text in UTF-16, and tables are read in UTF-8: save it as UTF-8, or `iconv -f "
                                "UTF-16 -t UTF-8 {} > utf8.csv`",
                                name_, fs::path(name_).filename().string()));
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

    /// A guessed header may interpret positions as frames, so it is reported with the first row's values.
    void tell_guess() {
        std::string text;
        for (std::size_t k = 0; k < cells_.size(); ++k)
            text += fmt::format("{}{} {}", k ? ", " : "", header_.columns[k].header, cells_[k]);
        if (warn)
            warn(fmt::format(
                "{}: there is no header, and the meaning of the columns is a guess, as the SMLM challenge's truth "
                "has them, in nm. The first row is then {}. If that is wrong, say what the columns are by their "
                "numbers, as in {}",
                name_, text, columns_by_number));
    }

    /// Returns true if a comment is a header: a list of columns with a frame.
    bool names_columns(std::string_view comment) {
        comment.remove_prefix(std::min(comment.find_first_not_of("#%/ \t"), comment.size()));
        split_csv(comment, cells_, scratch_, separator_of(comment));
        return cells_.size() >= 3 && std::any_of(cells_.begin(), cells_.end(), [](std::string_view cell) {
                   return cell == "frame" || cell == "Frame" || cell == "FRAME";
               });
    }

    /// Rejects texts of other programs that are recognised by their first lines.
    void refuse_programs(std::string_view line) {
        const auto refuse = [&](const char* program, const char* remedy) {
            throw InputError(
                fmt::format("{}: is a table of {}, which glint does not read: {}", name_, program, remedy));
        };
        split_csv(line, cells_, scratch_, separator_of(line));
        const auto has = [&](const char* name) {
            return std::find(cells_.begin(), cells_.end(), name) != cells_.end();
        };
        if (has("frame_ix") && !has("frame"))
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

    /// Returns true if the first row after the header has a number in one of the columns.
    bool first_row_has(const std::vector<std::string>& names, const char* name) {
        const auto column = std::size_t(std::find(names.begin(), names.end(), name) - names.begin());
        restart_at(header_line_);
        std::string_view line;
        std::vector<std::string_view> cells;
        if (lines_.next(line)) split_csv(line, cells, scratch_, separator_);
        double value = NAN;
        return column < cells.size() && parse_cell(cells[column], value) && std::isfinite(value);
    }

    void announce(const CsvColumn& column) {
        Target target{&column, {}, true};
        for (const std::string& name : column.names)
            if (const int to = builder.add_column(name, column.scale, column.shift); to >= 0) target.to.push_back(to);
        targets_.push_back(std::move(target));
    }

    /// Gets the next rows into `rows_`; all of several lines may be blank. Returns false if there are no more.
    bool next_rows(std::size_t most) {
        const std::size_t before = lines_.number();
        rows_.clear();
        if (has_ended_) return false;
        lines_.next(block_, most);
        bytes_of_block_ = 0;
        for (std::size_t k = 0; k < block_.size(); ++k) {
            std::string_view line = block_[k];
            const std::size_t number = before + k + 1;
            bytes_of_block_ += line.size() + 1;
            if (number == 1 && line.substr(0, 3) == byte_order_mark) line.remove_prefix(byte_order_mark.size());
            const bool is_blank =
                line.find_first_not_of(" \t") == line.npos || (layout_.ends_at_blank && line.front() == '\0');
            has_ended_ = is_blank && layout_.ends_at_blank;
            if (has_ended_) break;
            if (!is_blank) rows_.push_back({line, number});
        }
        if (!has_ended_) leave_out_cut_row();
        return !block_.empty();
    }

    /// Leaves out the last line of a file that is still being written, or was truncated.
    void leave_out_cut_row() {
        if (lines_.terminated() || rows_.empty() || rows_.back().number != lines_.number()) return;
        split_csv(rows_.back().text, cells_, scratch_, separator_);
        if (cells_.size() >= targets_.size()) {
            // Some programs do not end the last line. In a truncated file, its last number may be incomplete.
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

    /// Estimates the remaining rows, assuming lines as long as those of the block.
    std::size_t rows_left() const {
        constexpr double margin = 1.02;
        const double line_bytes = double(bytes_of_block_) / double(std::max<std::size_t>(1, block_.size()));
        return std::size_t(margin * double(lines_.bytes_left()) / std::max(1.0, line_bytes));
    }

    void set_whole_columns() {
        for (const Target& target : targets_)
            for (int column : target.to)
                if (target.column->is_label || (target.is_whole && !target.column->known)) builder.set_integer(column);
    }

    static std::string_view label_of(std::string_view cell) { return cell.substr(0, 100); }

    /// Numbers words that did not occur before, in the order of rows.
    void number_labels() {
        const auto target = std::find_if(targets_.begin(), targets_.end(),
                                         [](const Target& one) { return one.column->is_label && !one.to.empty(); });
        if (target == targets_.end()) return;
        const auto column = std::size_t(target - targets_.begin());
        for (const CsvRow& row : rows_) {
            split_csv(row.text, cells_, scratch_, separator_);
            if (column >= cells_.size()) return;  // an error when the row is parsed
            if (std::find(labels_.begin(), labels_.end(), label_of(cells_[column])) != labels_.end()) continue;
            if (labels_.size() == max_labels)
                throw InputError(fmt::format("{}: line {}: column {} has more than {} different values: is it damaged?",
                                             name_, row.number, target->column->header, max_labels));
            labels_.emplace_back(label_of(cells_[column]));
        }
    }

    void tell_labels() {
        if (labels_.size() < 2 || told_labels_ || !warn) return;
        std::string list;
        for (std::size_t k = 0; k < labels_.size(); ++k)
            list += fmt::format("{}{} is \"{}\"", list.empty() ? "" : ", ", k, labels_[k]);
        warn(fmt::format("{}: {} is written as numbers: {}", name_, layout_.labels, list));
        told_labels_ = true;
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
        split_csv(row.text, cells, found.scratch, separator_);
        if (cells.size() == targets_.size() + 1 && cells.back().empty()) cells.pop_back();
        if (cells.size() != targets_.size()) {
            found.error = fmt::format(
                "{}: line {} has {} columns, the header {}{}", name_, row.number, cells.size(), targets_.size(),
                separator_ == ',' && cells.size() > targets_.size()
                    ? ": where decimals stand behind a comma, columns are separated by semicolons or tabs"
                    : "");
            return;
        }
        for (std::size_t k = 0; k < cells.size(); ++k)
            if (!targets_[k].to.empty()) parse_cell_of(k, cells[k], row.number, to, found);
    }

    void parse_cell_of(std::size_t column, std::string_view cell, std::size_t line, std::size_t to,
                       CsvFindings& found) {
        const Target& target = targets_[column];
        double value;
        const bool may_have_comma = separator_ != ',';
        if (target.column->is_label) {
            const auto label = std::find(labels_.begin(), labels_.end(), label_of(cell));
            for (int of : target.to) builder.set_value(of, to, double(label - labels_.begin()));
        } else if (may_have_comma ? parse_cell_with_comma(cell, value) : parse_cell(cell, value)) {
            if (may_have_comma && !found.comma.is_there && cell.find(',') != cell.npos)
                found.comma = {true, std::string(cell), line};
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

    /// Adds the findings of a thread. Called in row order.
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
        if (!found.comma.is_there || told_comma_) return;
        told_comma_ = true;
        std::string as_point = found.comma.cell;
        as_point[as_point.find(',')] = '.';
        if (warn)
            warn(fmt::format("{}: numbers have decimal commas: \"{}\" in line {} is read as {}", name_,
                             found.comma.cell, found.comma.line, as_point));
    }

    std::string name_;
    CsvLines lines_;
    TextLayout layout_;
    CsvHeader header_;
    std::vector<std::string> labels_;
    bool told_cut_ = false, told_comma_ = false, told_labels_ = false;
    bool has_ended_ = false;  ///< the remaining lines are not rows
    char separator_ = ',';
    std::string quoted_header_;  // which cells_ point into
    bool has_all_columns_ = false, is_decode_ = false;
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

OpenTable open_text(const fs::path& path, double pixel_size_nm, const Warn& warn, const TextConventions& text,
                    TextLayout layout) {
    return std::make_unique<CsvTable>(path, pixel_size_nm, warn, text, std::move(layout));
}

std::string first_line(const fs::path& path) {
    constexpr std::size_t longest = std::size_t(1) << 20;
    const InputFile file(path);
    std::string line(std::size_t(std::min<std::uint64_t>(file.size(), longest)), '\0');
    line.resize(file.read_at(0, reinterpret_cast<std::byte*>(line.data()), line.size()));
    line.resize(std::min(line.find_first_of("\r\n"), line.size()));
    if (line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    return line;
}

std::vector<std::string> cells_of(const std::string& line, char separator) {
    std::vector<std::string_view> cells;
    std::vector<std::string> scratch;
    split_csv(line, cells, scratch, separator);
    return {cells.begin(), cells.end()};
}

void leave_out_empty_depths(const fs::path& path, TextLayout& layout, const std::string& name) {
    const auto depths = layout.columns.find(name);
    if (depths == layout.columns.end()) return;
    const auto& headers = layout.headers;
    const auto column = std::size_t(std::find(headers.begin(), headers.end(), depths->second) - headers.begin());
    CsvLines lines(path);
    std::string_view line;
    std::vector<std::string_view> cells;
    std::vector<std::string> scratch;
    for (std::size_t k = 0; k < layout.header_lines; ++k) lines.next(line);
    while (lines.next(line) && !(layout.ends_at_blank && line.empty())) {
        split_csv(line, cells, scratch, layout.separator);
        double value;
        if (column < cells.size() && parse_cell(cells[column], value) && std::isfinite(value) && value != 0) return;
    }
    layout.left_out.push_back(depths->second);
    layout.columns.erase(depths);
}

void warn_of_origin(const fs::path& path, const char* program, const Warn& warn) {
    if (warn)
        warn(
            fmt::format("{}: {} does not document where positions are measured from: taken as the first pixel's outer "
                        "edge; beside other tables or the movie, they may be off by half a pixel",
                        path.string(), program));
}

}  // namespace glint
