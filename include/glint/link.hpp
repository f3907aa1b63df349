// Joins the localizations of one blink across frames (docs/explanation/theory.md, section 13).
//
//     const glint::Localizations table = glint::read_localizations("movie.hdf5");
//     const glint::Links links = glint::link(table);  // radius and gap from the data
//     std::printf("%zu blinks, about %.0f of %zu links are wrong\n", links.tracks, links.false_links, links.links);
//     if (links.lateral.is_known()) std::printf("variances must be multiplied by %.2f\n", links.lateral.b);
//     glint::write_localizations("linked.hdf5", glint::merge_tracks(table, links));
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "glint/localizations.hpp"
#include "glint/progress.hpp"
#include "glint/table_pieces.hpp"

namespace glint {

/// Options of link().
struct LinkOptions {
    static constexpr int auto_gap = -1;

    /// Maximum distance of a localization from its track, in standard deviations of that distance (eq. 13.1). At most
    /// 1e6. 0: chosen from the data (eq. 13.2), or given by radius_nm.
    double radius_sigma = 0;
    double radius_nm = 0;  ///< instead: maximum distance for all rows in x, y and z, nm; 1e-3 to 1e9; 0: radius_sigma
    int gap = auto_gap;    ///< maximum number of consecutive dark frames within a blink; auto_gap: from the data
    Progress progress;     ///< receives the finished frames, all frames and the tracks so far
    const StopFlag* stop = nullptr;
};

/// The variance of positions within a track: a + b * CRLB (eq. 13.4), with standard errors. If the stated precisions
/// are correct, a is 0 and b is 1. All values are NaN if there are too few pairs.
struct InTrackVariance {
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    double a_nm2 = unknown, a_error_nm2 = unknown;
    double b = unknown, b_error = unknown;
    double b_without_a = unknown;  ///< b of a fit in which a is 0
    std::size_t pairs = 0;         ///< pairs of localizations in consecutive frames, without the expected chance pairs
    /// Returns whether the standard error of b is below b.
    bool is_known() const { return b_error < b; }
};

/// The result of link(): which localizations are one blink.
struct Links {
    std::vector<std::uint32_t> track;  ///< track of each row, numbered from 0 in the order of first frames
    std::size_t tracks = 0, links = 0;
    double radius_sigma = 0;     ///< as chosen or given; 0: radius_nm was given
    double radius_nm = 0;        ///< as given, or the radius between two localizations of the median precision
    int gap = 0;                 ///< dark frames, as chosen or given
    std::size_t unlinkable = 0;  ///< rows without a finite position or a precision above 0; each is a track of its own
    bool is_radius_chosen = false, is_gap_chosen = false;  ///< chosen from the data, not given
    /// True: distances are in x, y and z. False: in x and y, because the table lacks z or its precision.
    bool uses_z = false;
    /// Expected numbers of wrong and of missing links. NaN if the movie is too short to estimate them; missed_links
    /// also with LinkOptions::radius_nm.
    double false_links = 0, missed_links = 0;
    InTrackVariance lateral, axial;  ///< of x and y; of z. Unknown with LinkOptions::radius_nm
};

/// Joins the rows of a blink to a track. Assigns tracks to rows one to one, frame by frame (eq. 13.1 to 13.3). Rows may
/// be in any order.
///
/// Needs pixel_size_nm, lpx and lpy; lpx and lpy may be missing with `radius_nm`. Distances include z if lpz is above 0
/// in any row, or with `radius_nm`. Needs O(rows) memory. The result does not depend on the number of threads.
///
/// Returns the track of each row. Throws
/// - OptionError if the table lacks one of these columns or the pixel size, an option is out of range, or both radii
///   are given
/// - InputError if no row can be linked, or the rows are molecules with mean frames
/// - Cancelled after a stop
Links link(const Localizations& table, const LinkOptions& options = {});

/// Returns "17 % of the links are expected to be chance" if more than a tenth of them are; else an empty text.
std::string chance_warning(const Links& links);

/// Returns one row for each track, in the order of `Links::track`:
/// - frame: the first frame of the track
/// - positions: means weighted by 1 / precision^2; z without lpz is a plain mean
/// - lpx, lpy, lpz: precisions of these means, corrected by the in-track variance (eq. 13.5)
/// - photons: the sum; background and widths: the mean
/// - new columns: `n` (localizations), `len` (frames from the first to the last) and `track`
///
/// Omits p_value, log_likelihood, iterations and status, which are not defined for a track. The history gets a step.
/// Throws OptionError if the links are of another table.
Localizations merge_tracks(const Localizations& table, const Links& links);

/// Returns whether the rows of the table are whole blinks already: the history contains the step of merge_tracks(), or
/// the table has Picasso's columns `n` and `len`.
bool is_linked(const Localizations& table);

/// Returns a warning that linking again would join different blinks, if `table` is linked already. Else empty.
std::string linked_warning(const Localizations& table);

/// Returns all rows, with the added columns `track` and `n` (localizations of the track). The history gets a step.
/// Throws OptionError if the links are of another table.
Localizations with_tracks(const Localizations& table, const Links& links);

/// Returns the rows of merge_tracks(), or of with_tracks(), for a table in pieces. The result refers to `table` and
/// `links`, which must outlive it. Reading it throws OptionError if the links are of another table.
///
/// merged_pieces() visits a table in the order of frames once, and keeps `piece_bytes` of its rows in memory. Other
/// tables, and tables with long tracks or many unlinkable rows, need several visits.
std::unique_ptr<TablePieces> merged_pieces(TablePieces& table, const Links& links,
                                           std::size_t piece_bytes = default_piece_bytes / 4);
std::unique_ptr<TablePieces> pieces_with_tracks(TablePieces& table, const Links& links);

}  // namespace glint
