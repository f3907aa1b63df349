// Merges each track to one row (eq. 13.5).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/link/rows.hpp"
#include "data/table_facts.hpp"
#include "glint/error.hpp"
#include "glint/version.hpp"

namespace glint {
namespace {

/// Rows of each track, in the order of frames.
struct RowsOfTracks {
    std::vector<std::size_t> begin, rows;
    RowsOfTracks(const Localizations& table, std::span<const std::uint32_t> track_of, std::size_t count)
        : begin(count + 1), rows(table.size()) {
        for (const std::uint32_t track : track_of) ++begin.at(std::size_t(track) + 1);
        for (std::size_t k = 1; k < begin.size(); ++k) begin[k] += begin[k - 1];
        std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
        for (std::size_t row = 0; row < table.size(); ++row) rows[next[track_of[row]]++] = row;
        for (std::size_t k = 0; k + 1 < begin.size(); ++k)
            std::stable_sort(rows.begin() + std::ptrdiff_t(begin[k]), rows.begin() + std::ptrdiff_t(begin[k + 1]),
                             [&](std::size_t a, std::size_t b) { return table.frame[a] < table.frame[b]; });
    }
    std::size_t tracks() const { return begin.size() - 1; }
    std::size_t size(std::size_t track) const { return begin[track + 1] - begin[track]; }
    template <class Of>
    void each(std::size_t track, Of of) const {
        for (std::size_t k = begin[track]; k < begin[track + 1]; ++k) of(rows[k]);
    }
};

using Column = std::vector<float>;

/// Returns value(track) for each track. Empty if the column is empty.
template <class Value>
Column over_tracks(const RowsOfTracks& tracks, const Column& column, Value value) {
    Column out;
    if (column.empty()) return out;
    out.resize(tracks.tracks());
    for (std::size_t track = 0; track < out.size(); ++track) out[track] = float(value(track));
    return out;
}
Column sum(const RowsOfTracks& tracks, const Column& column) {
    return over_tracks(tracks, column, [&](std::size_t track) {
        double total = 0;
        tracks.each(track, [&](std::size_t row) { total += column[row]; });
        return total;
    });
}
Column mean(const RowsOfTracks& tracks, const Column& column) {
    return over_tracks(tracks, column, [&](std::size_t track) {
        double total = 0;
        tracks.each(track, [&](std::size_t row) { total += column[row]; });
        return total / double(tracks.size(track));
    });
}
Column most(const RowsOfTracks& tracks, const Column& column) {
    return over_tracks(tracks, column, [&](std::size_t track) {
        float value = -std::numeric_limits<float>::infinity();
        tracks.each(track, [&](std::size_t row) { value = std::max(value, column[row]); });
        return value;
    });
}
/// Returns the error of a mean of independent values, or of their sum if `of_mean` is false.
Column error(const RowsOfTracks& tracks, const Column& column, bool of_mean) {
    return over_tracks(tracks, column, [&](std::size_t track) {
        double squares = 0;
        tracks.each(track, [&](std::size_t row) { squares += double(column[row]) * column[row]; });
        return std::sqrt(squares) / (of_mean ? double(tracks.size(track)) : 1.0);
    });
}

/// Returns means with the weights 1 / precision^2, and their precisions if errors have the variance a + b precision^2.
/// Returns plain means if precisions are unknown.
std::pair<Column, Column> weighted(const RowsOfTracks& tracks, const Column& position, const Column& precision,
                                   double a, double b) {
    Column stated;
    if (position.empty()) return {};
    if (precision.empty()) return {mean(tracks, position), stated};
    Column positions(tracks.tracks());
    stated.resize(tracks.tracks());
    for (std::size_t track = 0; track < tracks.tracks(); ++track) {
        double w = 0, wx = 0, ww = 0;
        tracks.each(track, [&](std::size_t row) {
            const double weight = 1 / (double(precision[row]) * precision[row]);
            w += weight, wx += weight * position[row], ww += weight * weight;
        });
        if (std::isfinite(w) && std::isfinite(1 / w)) {
            positions[track] = float(wx / w), stated[track] = float(std::sqrt(b / w + a * ww / (w * w)));
        } else {  // without precisions above 0: a row alone in its track, or rows within a radius in nm
            double total = 0;
            tracks.each(track, [&](std::size_t row) { total += position[row]; });
            positions[track] = float(total / double(tracks.size(track)));
            stated[track] = precision[tracks.rows[tracks.begin[track]]];
        }
    }
    return {std::move(positions), std::move(stated)};
}

/// Returns a (nm^2) and b if they are known well enough to correct stated precisions. Otherwise returns 0 and 1.
std::pair<double, double> correction(const InTrackVariance& variance) {
    constexpr double min_known = 0.1;
    if (!(variance.b_error < min_known * variance.b)) return {0, 1};
    return variance.a_nm2 >= 0 ? std::pair(variance.a_nm2, variance.b) : std::pair(0.0, variance.b_without_a);
}

std::string text_of(const InTrackVariance& v) {
    return std::isnan(v.b)
               ? "unknown"
               : fmt::format("{:.3g} +- {:.2g} nm^2 + {:.3g} +- {:.2g} CRLB", v.a_nm2, v.a_error_nm2, v.b, v.b_error);
}

/// Adds the columns n, len and track. The first track has the number `first`.
void add_counts(Localizations& out, const Localizations& table, const RowsOfTracks& tracks, std::size_t first) {
    const std::vector<double> n_of = counts_of_rows(table, "n"), length_of = counts_of_rows(table, "len");
    ExtraColumn n{{}, true}, length{{}, true}, number{{}, true};
    for (std::size_t track = 0; track < tracks.tracks(); ++track) {
        double rows = 0, end = 0;
        tracks.each(track, [&](std::size_t row) {
            rows += n_of[row], end = std::max(end, double(table.frame[row]) + length_of[row]);
        });
        n.values.push_back(rows), number.values.push_back(double(first + track));
        length.values.push_back(end - double(out.frame[track]));
    }
    out.extra["n"] = std::move(n), out.extra["len"] = std::move(length), out.extra["track"] = std::move(number);
}

}  // namespace

std::string history_of_links(const Links& links, const Localizations& like, bool merged) {
    std::string text = fmt::format("Generated by: glint {} link\nMerged: {}\nLinked radius (nm): {:.4g}\n", version(),
                                   merged, links.radius_nm);
    if (links.radius_sigma > 0) text += fmt::format("Linked radius (sigma): {:.4g}\n", links.radius_sigma);
    text += fmt::format("Dark frames: {}\nTracks: {}\n", links.gap, links.tracks);
    if (links.radius_sigma > 0) text += fmt::format("In-track variance: {}\n", text_of(links.lateral));
    if (links.axial.pairs > 0) text += fmt::format("In-track variance (z): {}\n", text_of(links.axial));
    if (!like.z_nm.empty() && !links.uses_z) text += "Linked by: x and y alone, z has no precision\n";
    return text;
}

bool is_linked(const Localizations& table) {
    if (table.extra.contains("n") && table.extra.contains("len")) return true;
    return std::any_of(table.history.begin(), table.history.end(), merged_blinks);
}

std::string linked_warning(const Localizations& table) {
    if (!is_linked(table)) return "";
    return "its blinks were linked to one row each already. Linking now joins mostly different blinks, "
           "and the precisions that it reports do not hold: give the table from before linking";
}

std::vector<double> counts_of_rows(const Localizations& table, const char* name) {
    const auto column = table.extra.find(name);
    return column == table.extra.end() ? std::vector<double>(table.size(), 1) : column->second.values;
}

Localizations merged_rows(const Localizations& table, std::span<const std::uint32_t> track_of, std::size_t count,
                          std::size_t first, const Links& links) {
    const RowsOfTracks tracks(table, track_of, count);
    Localizations out;
    out.width = table.width, out.height = table.height, out.frames = table.frames;
    out.pixel_size_nm = table.pixel_size_nm, out.history = table.history;
    out.frame.resize(tracks.tracks());
    for (std::size_t track = 0; track < tracks.tracks(); ++track)
        out.frame[track] = table.frame[tracks.rows[tracks.begin[track]]];
    const auto [a, b] = correction(links.lateral);
    const double a_px2 = table.pixel_size_nm > 0 ? a / (table.pixel_size_nm * table.pixel_size_nm) : 0;
    std::tie(out.x_px, out.lpx_px) = weighted(tracks, table.x_px, table.lpx_px, a_px2, b);
    std::tie(out.y_px, out.lpy_px) = weighted(tracks, table.y_px, table.lpy_px, a_px2, b);
    const auto [a_z, b_z] = correction(links.axial);
    std::tie(out.z_nm, out.lpz_nm) = weighted(tracks, table.z_nm, links.uses_z ? table.lpz_nm : Column(), a_z, b_z);
    out.photons = sum(tracks, table.photons), out.photons_unc = error(tracks, table.photons_unc, false);
    out.bg = mean(tracks, table.bg), out.bg_unc = error(tracks, table.bg_unc, true);
    out.sx_px = mean(tracks, table.sx_px), out.sx_unc_px = error(tracks, table.sx_unc_px, true);
    out.sy_px = mean(tracks, table.sy_px), out.sy_unc_px = error(tracks, table.sy_unc_px, true);
    out.emitters = most(tracks, table.emitters), out.detection_score = most(tracks, table.detection_score);
    for (const auto& [name, column] : table.extra) {
        ExtraColumn merged{{}, column.is_integer};  // integers, such as groups: the first value
        for (std::size_t track = 0; track < tracks.tracks(); ++track) {
            double total = 0;
            tracks.each(track, [&total, &values = column.values](std::size_t row) { total += values[row]; });
            merged.values.push_back(column.is_integer ? column.values[tracks.rows[tracks.begin[track]]]
                                                      : total / double(tracks.size(track)));
        }
        out.extra[name] = std::move(merged);
    }
    add_counts(out, table, tracks, first);
    out.history.push_back(history_of_links(links, table, true));
    return out;
}

Localizations merge_tracks(const Localizations& table, const Links& links) {
    if (links.track.size() != table.size()) throw OptionError(links_of_another_table);
    return merged_rows(table, links.track, links.tracks, 0, links);
}

}  // namespace glint
