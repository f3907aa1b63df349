// Tables of blinks in pieces: merged, or with the track of each row.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "analysis/link/rows.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

void require_own_links(bool are_own) {
    if (!are_own) throw OptionError(links_of_another_table);
}

/// Returns the number of localizations of each track. Rows that earlier links merged count as several.
std::vector<double> localizations_of_tracks(TablePieces& table, const Links& links) {
    std::vector<double> sums(links.tracks);
    std::size_t before = 0;
    table.for_each([&](const Localizations& piece) {
        require_own_links(before + piece.size() <= links.track.size());
        const std::vector<double> n_of = counts_of_rows(piece, "n");
        for (std::size_t k = 0; k < piece.size(); ++k) sums.at(links.track[before + k]) += n_of[k];
        before += piece.size();
    });
    require_own_links(before == links.track.size());
    return sums;
}

Localizations with_track(const Localizations& piece, std::size_t before, const Links& links,
                         const std::vector<double>& localizations) {
    Localizations out = piece;
    ExtraColumn number{std::vector<double>(piece.size()), true}, n = number;
    for (std::size_t k = 0; k < piece.size() && before != ChangedTable::of_example; ++k) {
        const std::uint32_t track = links.track[before + k];
        number.values[k] = track, n.values[k] = localizations[track];
    }
    out.extra["track"] = std::move(number), out.extra["n"] = std::move(n);
    out.history.push_back(history_of_links(links, piece, false));
    return out;
}

/// The tracks from `first` to before `last`, and the number of their rows.
struct TrackRange {
    std::size_t first, last, rows;
};

/// Divides the tracks into ranges of at most `most` rows. A track with more rows is a range by itself.
std::vector<TrackRange> ranges_of_tracks(const Links& links, std::size_t most) {
    std::vector<std::size_t> sizes(links.tracks);
    for (const std::uint32_t track : links.track) ++sizes.at(track);
    std::vector<TrackRange> ranges;
    for (std::size_t track = 0; track < sizes.size(); ++track) {
        if (ranges.empty() || ranges.back().rows + sizes[track] > most) ranges.push_back({track, track, 0});
        ranges.back().last = track + 1, ranges.back().rows += sizes[track];
    }
    return ranges;
}

/// The rows of a range that were read so far, and the track of each within the range.
struct RowsOfRange {
    Localizations rows;
    std::vector<std::uint32_t> track;
};

class MergedTracks final : public TablePieces {
  public:
    MergedTracks(TablePieces& table, const Links& links, std::size_t piece_bytes)
        : table_(table),
          links_(links),
          max_rows_(piece_bytes / row_bytes(table.like())),
          ranges_(ranges_of_tracks(links, max_rows_ / at_once)) {
        constexpr std::array<std::size_t, 1> first_row{};
        like_ = track_of(
            select(table.like(), std::span(first_row).first(std::min<std::size_t>(table.like().size(), 1))), links);
    }
    const Localizations& like() const override { return like_; }
    void for_each(const Visit& visit) override {
        if (ranges_.empty()) visit(like_);
        for (std::size_t next = 0; next < ranges_.size();) next = visit_from(next, visit);
    }
    Localizations example() const override {
        Links links = links_;
        links.uses_z = true;  // as for rows with a precision of z
        return track_of(make_example(table_), links);
    }

  private:
    static constexpr std::size_t at_once = 8;  // ranges whose rows fit into memory together

    /// Visits the table once and passes merged ranges from `next` on to `visit`. Rows of incomplete ranges wait. If too
    /// many rows wait, the last ranges are left to another visit. Returns the first range that is left.
    std::size_t visit_from(std::size_t next, const Visit& visit) {
        constexpr std::size_t some = 1 << 16;
        std::map<std::size_t, RowsOfRange> waiting;
        std::size_t end = ranges_.size(), rows = 0, before = 0;
        table_.for_each([&](const Localizations& piece) {
            require_own_links(before + piece.size() <= links_.track.size());
            for (std::size_t first = 0; first < piece.size(); first += some) {
                const std::size_t last = std::min(first + some, piece.size());
                rows += add_rows(piece, first, std::span(links_.track).subspan(before + first, last - first), next, end,
                                 waiting);
                for (; !waiting.empty() && is_complete(*waiting.begin(), next); ++next) {
                    visit(merged(waiting.begin()->second, ranges_[next]));
                    rows -= ranges_[next].rows, waiting.erase(waiting.begin());
                }
                while (rows > max_rows_ && waiting.size() > 1) {
                    end = waiting.rbegin()->first;
                    rows -= waiting.rbegin()->second.track.size(), waiting.erase(end);
                }
            }
            before += piece.size();
        });
        require_own_links(before == links_.track.size());
        return next;
    }

    /// Returns the row, or an empty table, as a merged track.
    static Localizations track_of(const Localizations& row, const Links& links) {
        return merged_rows(row, std::vector<std::uint32_t>(row.size()), row.size(), 0, links);
    }

    bool is_complete(const std::pair<const std::size_t, RowsOfRange>& of, std::size_t next) const {
        return of.first == next && of.second.track.size() == ranges_[next].rows;
    }

    Localizations merged(const RowsOfRange& of, const TrackRange& range) const {
        return merged_rows(of.rows, of.track, range.last - range.first, range.first, links_);
    }

    /// Adds rows of `piece` to the ranges `next` to `end`. `tracks` are the tracks of its rows from `first` on. Returns
    /// the number of rows added.
    std::size_t add_rows(const Localizations& piece, std::size_t first, std::span<const std::uint32_t> tracks,
                         std::size_t next, std::size_t end, std::map<std::size_t, RowsOfRange>& waiting) const {
        std::map<std::size_t, std::vector<std::size_t>> chosen;
        std::size_t count = 0;
        for (std::size_t k = 0; k < tracks.size(); ++k) {
            const auto of = std::upper_bound(ranges_.begin(), ranges_.end(), tracks[k],
                                             [](std::uint32_t track, const TrackRange& r) { return track < r.last; });
            const auto range = std::size_t(of - ranges_.begin());
            if (range < next || range >= end) continue;
            chosen[range].push_back(first + k), ++count;
            waiting[range].track.push_back(std::uint32_t(tracks[k] - of->first));
        }
        for (const auto& [range, rows] : chosen) {
            Localizations& to = waiting[range].rows;
            if (to.size() == 0) to = select(piece, {});  // copies the metadata
            append(to, select(piece, rows));
        }
        return count;
    }

    TablePieces& table_;
    const Links& links_;
    std::size_t max_rows_;  ///< maximum of waiting rows
    std::vector<TrackRange> ranges_;
    Localizations like_;
};

}  // namespace

std::unique_ptr<TablePieces> merged_pieces(TablePieces& table, const Links& links, std::size_t piece_bytes) {
    return std::make_unique<MergedTracks>(table, links, piece_bytes);
}

std::unique_ptr<TablePieces> pieces_with_tracks(TablePieces& table, const Links& links) {
    return std::make_unique<ChangedTable>(
        table, [&links, of = localizations_of_tracks(table, links)](const Localizations& piece, std::size_t before) {
            return with_track(piece, before, links, of);
        });
}

Localizations with_tracks(const Localizations& table, const Links& links) {
    WholeTable whole(table);
    return all_pieces(*pieces_with_tracks(whole, links));
}

}  // namespace glint
