// Reads localizations and truth from CSV.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "glint/error.hpp"
#include "io/csv/columns.hpp"
#include "io/csv/lines.hpp"
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

class CsvTable : public TableFile {
  public:
    CsvTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of)
        : TableFile(from, warn_of), name_(from.string()), lines_(from) {
        is_text = true;
        about.pixel_size_nm = pixel_size_nm;
        std::string_view line;
        lines_.next(line);
        if (line.substr(0, 3) == byte_order_mark) line.remove_prefix(byte_order_mark.size());
        if (line.find('\0') != line.npos)
            throw InputError(
                fmt::format("{} is neither HDF5 nor CSV: localizations come as .hdf5 (Picasso, "
                            "SMLMAnalysis) or .csv (ThunderSTORM)",
                            name_));
        split_csv(line, cells_, scratch_);
        if (cells_.size() > most_columns)
            throw InputError(
                fmt::format("{} has {} columns, more than the limit of {}", name_, cells_.size(), most_columns));
        header_ = understand_header(cells_, pixel_size_nm, name_);
        frames_from_one = header_.frames_from_one;
        for (const CsvColumn& column : header_.columns) announce(column);
        builder.require_columns();
        if (header_.needs_pixel_size && !(pixel_size_nm > 0))
            throw OptionError(
                fmt::format("{} does not tell the size of a camera pixel, which its lengths need: give it, "
                            "as in --pixel-size 100nm",
                            name_));
        if (!header_.is_data && !lines_.terminated() && warn)
            warn(fmt::format("{}: there is a header alone, without the end of its line: is it cut off?", name_));
        restart();
    }

    void restart() override {
        lines_.restart();
        std::string_view line;
        if (!header_.is_data) lines_.next(line);
    }

    std::size_t add_rows(std::size_t most) override {
        std::size_t added = 0;
        for (std::string_view line; added < most && next_row(line); ++added) add_row();
        if (added < most) set_whole_columns();
        return added;
    }

  private:
    void announce(const CsvColumn& column) {
        Target target{&column, {}, true};
        for (const std::string& name : column.names)
            if (const int to = builder.add_column(name, column.scale, column.shift); to >= 0) target.to.push_back(to);
        targets_.push_back(std::move(target));
    }

    /// Splits the next line that is a row into cells; false: there is none.
    bool next_row(std::string_view& line) {
        do {
            if (!lines_.next(line)) return false;
            if (lines_.number() == 1 && line.substr(0, 3) == byte_order_mark)
                line.remove_prefix(byte_order_mark.size());
        } while (line.find_first_not_of(" \t") == line.npos);
        split_csv(line, cells_, scratch_);
        if (cells_.size() == targets_.size() + 1 && cells_.back().empty()) cells_.pop_back();
        if (cells_.size() >= targets_.size() || lines_.terminated()) return true;
        if (warn && !told_cut_) warn(fmt::format("{}: the last line is cut off and is left out", name_));
        told_cut_ = true;
        return false;
    }

    void set_whole_columns() {
        for (const Target& target : targets_)
            for (int column : target.to)
                if (target.is_whole && !target.column->known) builder.set_integer(column);
    }

    void add_row() {
        if (cells_.size() != targets_.size())
            throw InputError(fmt::format("{}: line {} has {} columns, the header {}", name_, lines_.number(),
                                         cells_.size(), targets_.size()));
        for (std::size_t k = 0; k < cells_.size(); ++k)
            if (!targets_[k].to.empty()) add_cell(targets_[k], cells_[k]);
    }

    void add_cell(Target& target, std::string_view cell) {
        double value;
        if (parse_cell(cell, value)) {
            target.is_whole = target.is_whole && is_whole_number(cell);
            for (int column : target.to) builder.add_value(column, value);
            return;
        }
        if (target.column->known)
            throw InputError(fmt::format("{}: line {}: \"{}\" in column {} is no number", name_, lines_.number(),
                                         cell.substr(0, 40), target.column->header));
        for (int column : target.to)
            builder.drop_column(column,
                                fmt::format("\"{}\" in line {} is no number", cell.substr(0, 40), lines_.number()));
        target.to.clear();
    }

    std::string name_;
    CsvLines lines_;
    CsvHeader header_;
    bool told_cut_ = false;
    std::vector<Target> targets_;
    std::vector<std::string_view> cells_;
    std::vector<std::string> scratch_;
};

}  // namespace

OpenTable open_csv(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    return std::make_unique<CsvTable>(path, pixel_size_nm, warn);
}

}  // namespace glint
