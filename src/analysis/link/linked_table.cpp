// Tables of blinks in pieces: merged, or with the track of each row.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>

#include "analysis/link/merged_rows.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::size_t pieces_in_memory = 8;  // those that wait for their last rows together

/// The rows of each track.
std::vector<std::size_t> sizes_of_tracks(const Links& links) {
    std::vector<std::size_t> sizes(links.tracks);
    for (const std::uint32_t track : links.track) ++sizes.at(track);
    return sizes;
}

/// As earlier links counted them.
std::vector<double> localizations_of_tracks(TablePieces& table, const Links& links) {
    std::vector<double> sums(links.tracks);
    std::size_t before = 0;
    table.for_each([&](const Localizations& piece) {
        const std::vector<double> n_of = counts_of_rows(piece, "n");
        for (std::size_t k = 0; k < piece.size(); ++k) sums[links.track.at(before + k)] += n_of[k];
        before += piece.size();
    });
    return sums;
}

}  // namespace

/// Rows of a piece that are there already, and the track of each, from 0.
struct LinkedTable::Waiting {
    Localizations rows;
    std::vector<std::uint32_t> track;
};

LinkedTable::LinkedTable(TablePieces& table, const Links& links, LinkedRows rows, std::size_t piece_bytes)
    : table_(table), links_(links), rows_(rows) {
    if (rows == LinkedRows::all) {
        localizations_of_track_ = localizations_of_tracks(table, links);
        like_ = with_track(table.like(), 0);
        return;
    }
    most_rows_ = std::max<std::size_t>(1, piece_bytes / row_bytes(table.like()));
    std::size_t track = 0;
    for (const std::size_t size : sizes_of_tracks(links)) {
        if (pieces_.empty() || pieces_.back().rows + size > most_rows_ / pieces_in_memory)
            pieces_.push_back({track, 0, 0});
        pieces_.back().last = ++track, pieces_.back().rows += size;
    }
    constexpr std::array<std::size_t, 1> first_row{};
    const std::size_t known = std::min<std::size_t>(table.like().size(), 1);
    like_ = merged_rows(select(table.like(), std::span(first_row).first(known)), std::vector<std::uint32_t>(known),
                        known, 0, links);
}

void LinkedTable::for_each(const Visit& visit) {
    if (rows_ == LinkedRows::merged && pieces_.empty()) return visit(like_);
    if (rows_ == LinkedRows::merged)
        for (std::size_t next = 0; next < pieces_.size();) next = visit_merged(next, visit);
    else
        ChangedTable(table_, [this](const Localizations& piece, std::size_t before) {
            return with_track(piece, before);
        }).for_each(visit);
}

/// Hands on the pieces from `next` on, as many as one visit of the table can make: rows of those that are not complete wait, and where
/// these are too many, the last pieces are left to another visit. Returns the first piece that is left.
std::size_t LinkedTable::visit_merged(std::size_t next, const Visit& visit) {
    constexpr std::size_t some = 1 << 16;
    std::map<std::size_t, Waiting> waiting;
    std::size_t end = pieces_.size(), rows_waiting = 0, before = 0;
    table_.for_each([&](const Localizations& piece) {
        for (std::size_t first = 0; first < piece.size(); first += some) {
            rows_waiting += add_rows(waiting, piece, first, std::min(first + some, piece.size()), before, next, end);
            while (!waiting.empty() && waiting.begin()->first == next &&
                   waiting.begin()->second.track.size() == pieces_[next].rows) {
                const Waiting& all = waiting.begin()->second;
                const Piece& of = pieces_[next++];
                visit(merged_rows(all.rows, all.track, of.last - of.first, of.first, links_));
                rows_waiting -= of.rows, waiting.erase(waiting.begin());
            }
            while (rows_waiting > most_rows_ && waiting.size() > 1) {
                end = waiting.rbegin()->first;
                rows_waiting -= waiting.rbegin()->second.track.size(), waiting.erase(end);
            }
        }
        before += piece.size();
    });
    if (before != links_.track.size()) throw OptionError(links_of_another_table);
    return next;
}

/// Adds those of the rows `first` to `last` that are of the pieces `next` to `end`, and returns how many.
std::size_t LinkedTable::add_rows(std::map<std::size_t, Waiting>& waiting, const Localizations& piece,
                                  std::size_t first, std::size_t last, std::size_t before, std::size_t next,
                                  std::size_t end) const {
    std::map<std::size_t, std::vector<std::size_t>> chosen;
    std::size_t count = 0;
    for (std::size_t row = first; row < last; ++row) {
        const std::uint32_t track = links_.track.at(before + row);
        const auto of = std::upper_bound(pieces_.begin(), pieces_.end(), track,
                                         [](std::uint32_t t, const Piece& p) { return t < p.last; });
        const auto number = std::size_t(of - pieces_.begin());
        if (number < next || number >= end) continue;
        chosen[number].push_back(row), waiting[number].track.push_back(std::uint32_t(track - of->first)), ++count;
    }
    for (const auto& [number, rows] : chosen) {
        Localizations& to = waiting[number].rows;
        if (to.size() == 0) to = select(piece, {});  // its metadata
        append(to, select(piece, rows));
    }
    return count;
}

Localizations LinkedTable::with_track(const Localizations& piece, std::size_t before) const {
    if (before + piece.size() > links_.track.size()) throw OptionError(links_of_another_table);
    Localizations out = piece;
    const std::span of_piece = std::span(links_.track).subspan(before, piece.size());
    ExtraColumn number{{of_piece.begin(), of_piece.end()}, true}, n{{}, true};
    for (const std::uint32_t track : of_piece) n.values.push_back(localizations_of_track_[track]);
    out.extra["track"] = std::move(number), out.extra["n"] = std::move(n);
    out.history.push_back(history_of_links(links_, piece, false));
    return out;
}

Localizations with_tracks(const Localizations& table, const Links& links) {
    if (links.track.size() != table.size()) throw OptionError(links_of_another_table);
    WholeTable whole(table);
    LinkedTable linked(whole, links, LinkedRows::all);
    return all_pieces(linked);
}

}  // namespace glint
