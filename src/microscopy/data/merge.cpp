// Merges several tables of localizations.
// SPDX-License-Identifier: MIT
#include "glint/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "data/table_facts.hpp"
#include "glint/error.hpp"
#include "glint/version.hpp"

namespace glint {
namespace {

/// Calls `visit(name, column)` for every column except the frame.
template <class Table, class Visit>
void for_each_column(Table& table, Visit visit) {
    for (const LocalizationColumn& column : localization_columns())
        visit(std::string(column.name), table.*column.values);
    visit(std::string("iterations"), table.iterations);
    visit(std::string("status"), table.status);
    for (auto& [name, column] : table.extra) visit(name, column.values);
}

std::set<std::string> names_in(const Localizations& table) {
    std::set<std::string> names;
    for_each_column(table, [&](const std::string& name, const auto& values) {
        if (!values.empty()) names.insert(name);
    });
    return names;
}

std::set<std::string> integers_in(const Localizations& table) {
    std::set<std::string> names;
    for (const auto& [name, column] : table.extra)
        if (column.is_integer) names.insert(name);
    return names;
}

/// Removes from `common` everything that is not in `names`.
void keep_common(std::set<std::string>& common, const std::set<std::string>& names) {
    std::erase_if(common, [&](const std::string& name) { return !names.contains(name); });
}

void warn_of_others(const std::set<std::string>& all, const std::set<std::string>& common, const Warn& warn) {
    std::string dropped;
    for (const std::string& name : all)
        if (!common.contains(name)) dropped += (dropped.empty() ? "" : ", ") + name;
    if (!dropped.empty() && warn) warn(fmt::format("left out, since not every table has them: {}", dropped));
}

/// Returns the pixel size of earlier tables, or of this table if they have none.
double common_pixel_size(double nm, const Localizations& table) {
    if (!are_same_pixels(nm, table.pixel_size_nm))
        throw OptionError(
            fmt::format("tables of pixels of {:g} and {:g} nm cannot be merged: their positions are in pixels", nm,
                        table.pixel_size_nm));
    return nm == 0 ? table.pixel_size_nm : nm;
}

/// Number of rows in each frame, and in all frames.
struct FrameCounts {
    std::map<std::uint32_t, std::size_t> rows_of;
    std::size_t rows = 0;

    void add(const Localizations& piece) {
        rows += piece.size();
        auto at = rows_of.end();
        for (const std::uint32_t frame : piece.frame) {  // mostly the frame of the previous row
            if (at == rows_of.end() || at->first != frame) at = rows_of.try_emplace(frame).first;
            ++at->second;
        }
    }
    std::int64_t frames() const { return rows_of.empty() ? 0 : std::int64_t(rows_of.rbegin()->first) + 1; }
};

/// Returns the last frame of each piece. Pieces have at most `most` rows, unless a single frame has more.
std::vector<std::uint32_t> last_frames_of_pieces(const FrameCounts& counts, std::size_t most) {
    std::vector<std::uint32_t> last;
    std::size_t rows = 0;
    for (const auto& [frame, more] : counts.rows_of) {
        if (last.empty() || rows + more > most) last.push_back(frame), rows = 0;
        last.back() = frame, rows += more;
    }
    return last;
}

std::vector<std::size_t> order_of_frames(const Localizations& table) {
    std::vector<std::size_t> rows(table.size());
    std::iota(rows.begin(), rows.end(), std::size_t(0));
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::size_t a, std::size_t b) { return table.frame[a] < table.frame[b]; });
    return rows;
}

}  // namespace

MergedTable::MergedTable(std::span<TablePieces* const> tables, FramesOfMerged frames, const Warn& warn,
                         std::size_t piece_bytes)
    : frames_(frames) {
    if (tables.empty()) throw OptionError("no tables to merge");
    std::set<std::string> all_names;
    FrameCounts all;
    std::int64_t before = 0, most = 0;
    double pixel_size_nm = 0;
    const auto take_columns = [&](const Localizations& row, bool is_first) {
        const std::set<std::string> names = names_in(row), integers = integers_in(row);
        if (is_first) names_ = names, integers_ = integers;
        keep_common(names_, names), keep_common(integers_, integers);
        all_names.insert(names.begin(), names.end());
    };
    for (TablePieces* table : tables) {
        const Localizations& like = table->like();
        FrameCounts counts;
        table->for_each([&](const Localizations& piece) { counts.add(piece); });
        pixel_size_nm = common_pixel_size(pixel_size_nm, like);
        like_.width = std::max(like_.width, like.width), like_.height = std::max(like_.height, like.height);
        const std::int64_t own_frames = std::max(like.frames, counts.frames());
        most = std::max(most, own_frames), rows_ += counts.rows;
        if (frames == FramesOfMerged::consecutive &&
            before + own_frames > std::int64_t(std::numeric_limits<std::uint32_t>::max()))
            throw OptionError("the merged tables would have more than 4294967295 frames");
        if (counts.rows > 0) {  // a table without rows may lack columns of other tables
            take_columns(like, parts_.empty());
            parts_.push_back({table, frames == FramesOfMerged::consecutive ? std::uint32_t(before) : 0});
            for (const auto& [frame, rows] : counts.rows_of) all.rows_of[frame] += rows;
        }
        before += own_frames;
    }
    for (TablePieces* table : tables)
        if (parts_.empty()) take_columns(make_example(*table), table == tables.front());
    warn_of_others(all_names, names_, warn);
    like_.pixel_size_nm = pixel_size_nm, like_.frames = frames == FramesOfMerged::consecutive ? before : most;
    like_.history = tables.front()->like().history;
    for (TablePieces* table : tables.subspan(1))  // keeps only the steps that all tables have
        for (const std::string& step : table->like().history)
            if (merged_blinks(step)) like_.history.push_back(step);
    like_.history.push_back(fmt::format("Generated by: glint {} merge\nTables: {}\nConsecutive frames: {}\n", version(),
                                        tables.size(), frames == FramesOfMerged::consecutive));
    if (parts_.empty()) {
        example_ = of_part(make_example(*tables.front()), {tables.front(), 0});
        return;
    }
    like_ = of_part(select(parts_.front().table->like(), std::array<std::size_t, 1>{}), parts_.front());
    if (frames == FramesOfMerged::as_they_are)
        last_frames_ = last_frames_of_pieces(all, std::max<std::size_t>(1, piece_bytes / row_bytes(like_)));
}

/// Returns rows of a table in the form of the merged table: with the common columns, the shifted frames and the merged
/// metadata.
Localizations MergedTable::of_part(const Localizations& piece, const Part& part) const {
    Localizations out = piece;
    for_each_column(out, [&](const std::string& name, auto& values) {
        if (!names_.contains(name)) values.clear();
    });
    std::erase_if(out.extra, [&](const auto& column) { return !names_.contains(column.first); });
    for (auto& [name, column] : out.extra) column.is_integer = integers_.contains(name);
    for (std::uint32_t& frame : out.frame) frame += part.frames_before;
    out.width = like_.width, out.height = like_.height, out.frames = like_.frames;
    out.pixel_size_nm = like_.pixel_size_nm, out.history = like_.history;
    return out;
}

void MergedTable::for_each(const Visit& visit) {
    if (parts_.empty()) return visit(like_);
    if (frames_ == FramesOfMerged::as_they_are) return in_order_of_frames(visit);
    for (const Part& part : parts_)
        part.table->for_each([&](const Localizations& piece) { visit(of_part(piece, part)); });
}

void MergedTable::in_order_of_frames(const Visit& visit) {
    std::uint32_t first = 0;
    for (const std::uint32_t last : last_frames_) {
        Localizations rows = select(like_, {});
        for (const Part& part : parts_)
            part.table->for_each([&](const Localizations& piece) {
                std::vector<std::size_t> chosen;
                for (std::size_t k = 0; k < piece.size(); ++k)
                    if (piece.frame[k] >= first && piece.frame[k] <= last) chosen.push_back(k);
                append(rows, of_part(select(piece, chosen), part));
            });
        visit(select(rows, order_of_frames(rows)));
        first = last + 1;
    }
}

Localizations merge(std::span<const Localizations> tables, FramesOfMerged frames, const Warn& warn) {
    std::vector<WholeTable> whole(tables.begin(), tables.end());
    std::vector<TablePieces*> pieces;
    for (WholeTable& table : whole) pieces.push_back(&table);
    MergedTable merged(pieces, frames, warn);
    return all_pieces(merged);
}

}  // namespace glint
