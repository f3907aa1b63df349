// Reads localizations and truth from CSV.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "glint/error.hpp"
#include "io/csv/columns.hpp"
#include "io/csv/lines.hpp"
#include "io/localization_builder.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t most_columns = 1000;

/// A column of the file with the builder's columns that it fills.
struct Target {
    const CsvColumn* column;
    std::vector<int> to;
    bool is_whole = true;  ///< every cell so far: digits alone
};

class CsvTable {
  public:
    CsvTable(const fs::path& path, double pixel_size_nm, const Warn& warn)
        : name_(path.string()), warn_(warn), lines_(path), builder_(name_, warn) {
        std::string_view line;
        lines_.next(line);
        if (line.substr(0, 3) == "\xEF\xBB\xBF") line.remove_prefix(3);  // a byte order mark
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
        for (const CsvColumn& column : header_.columns) announce(column);
        for (const char* name : {"frame", "x", "y"})
            if (!builder_.has(name)) builder_.finish();  // throws, naming the columns that there are
        if (header_.needs_pixel_size && !(pixel_size_nm > 0))
            throw OptionError(
                fmt::format("{} does not tell the size of a camera pixel, which its lengths need: give it, "
                            "as in --pixel-size 100nm",
                            name_));
        if (header_.is_data) add_row();
    }

    Localizations read() {
        std::string_view line;
        while (lines_.next(line)) {
            if (line.find_first_not_of(" \t") == line.npos) continue;
            split_csv(line, cells_, scratch_);
            if (cells_.size() == targets_.size() + 1 && cells_.back().empty()) cells_.pop_back();
            if (cells_.size() < targets_.size() && !lines_.terminated()) {
                if (warn_) warn_(fmt::format("{}: the last line is cut off and is left out", name_));
                break;
            }
            add_row();
        }
        if (lines_.number() == 1 && !header_.is_data && !lines_.terminated() && warn_)
            warn_(fmt::format("{}: there is a header alone, without the end of its line: is it cut off?", name_));
        for (const Target& target : targets_)
            for (int column : target.to)
                if (target.is_whole && !target.column->known) builder_.set_integer(column);
        Localizations out = builder_.finish();
        count_frames_from_zero(out);
        return out;
    }

  private:
    void announce(const CsvColumn& column) {
        Target target{&column, {}, true};
        for (const std::string& name : column.names)
            if (const int to = builder_.add_column(name, column.scale, column.shift); to >= 0) target.to.push_back(to);
        targets_.push_back(std::move(target));
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
            for (int column : target.to) builder_.add_value(column, value);
            return;
        }
        if (target.column->known)
            throw InputError(fmt::format("{}: line {}: \"{}\" in column {} is no number", name_, lines_.number(),
                                         cell.substr(0, 40), target.column->header));
        for (int column : target.to)
            builder_.drop_column(column,
                                 fmt::format("\"{}\" in line {} is no number", cell.substr(0, 40), lines_.number()));
        target.to.clear();
    }

    void count_frames_from_zero(Localizations& out) const {
        if (!header_.frames_from_one || out.frame.empty()) return;
        if (*std::min_element(out.frame.begin(), out.frame.end()) == 0) {
            if (warn_)
                warn_(fmt::format("{}: frames should count from 1, but there is a frame 0: taken as counted from 0",
                                  name_));
            return;
        }
        for (std::uint32_t& frame : out.frame) --frame;
    }

    std::string name_;
    Warn warn_;
    CsvLines lines_;
    LocalizationBuilder builder_;
    CsvHeader header_;
    std::vector<Target> targets_;
    std::vector<std::string_view> cells_;
    std::vector<std::string> scratch_;
};

}  // namespace

Localizations read_csv(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    Localizations out = CsvTable(path, pixel_size_nm, warn).read();
    out.pixel_size_nm = pixel_size_nm;
    fill_unknown_extent(out);
    return out;
}

}  // namespace glint
