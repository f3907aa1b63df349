// Joins the localizations of one blink across frames (docs/explanation/theory.md, section 13).
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

struct LinkOptions {
    static constexpr int auto_gap = -1;

    /// Largest distance, in standard deviations of the distance of two localizations (eq. 13.1). 0: from the data.
    double radius_sigma = 0;
    double radius_nm = 0;  ///< instead of it, the same for all rows, in x, y and z; 0: radius_sigma
    int gap = auto_gap;    ///< dark frames that a blink may have in a row; auto_gap: from the data
    Progress progress;     ///< frames
    const StopFlag* stop = nullptr;
};

/// In-track variance = a + b CRLB (eq. 13.4), with standard errors. Where stated precisions are honest, a is 0 and b is 1.
/// NaN where there are too few pairs to tell.
struct InTrackVariance {
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    double a_nm2 = unknown, a_error_nm2 = unknown;
    double b = unknown, b_error = unknown;
    double b_without_a = unknown;  ///< with a = 0
    std::size_t pairs = 0;         ///< of localizations in consecutive frames, unrelated ones subtracted
    bool is_known() const { return b_error < b; }
};

/// Which localizations are one blink: what `link` finds.
struct Links {
    std::vector<std::uint32_t> track;  ///< of each row, numbered from 0 in the order of first frames
    std::size_t tracks = 0, links = 0;
    double radius_sigma = 0;  ///< as chosen or given; 0: radius_nm
    double radius_nm = 0;     ///< of localizations of the median precision, or as given
    int gap = 0;
    std::size_t unlinkable = 0;  ///< rows whose position is no number or precision not above 0: each a track of its own
    bool is_radius_chosen = false, is_gap_chosen = false;  ///< from the data
    bool uses_z = false;  ///< distances are in x, y and z; else the table has no z, or no precision of it
    /// Expected numbers of wrong links and of links not made; NaN where the movie is too short to tell.
    double false_links = 0, missed_links = 0;
    InTrackVariance lateral, axial;  ///< of x and y; of z
};

/// Joins rows of a blink to tracks, by one-to-one assignment of tracks to rows frame by frame (eq. 13.1 to 13.3). Rows may be
/// in any order. Needs lpx and lpy, but with `radius_nm`, and the pixel size; without an lpz above 0, distances are those in x and y.
/// O(rows) memory. The result does not depend on the number of threads. Throws OptionError, Cancelled; InputError where no row can be
/// linked.
Links link(const Localizations& table, const LinkOptions& options = {});

/// Returns "17 % of the links are expected to be chance" if more than a tenth are, else an empty text.
std::string chance_warning(const Links& links);

/// A row for each track, in the order of `Links::track`: first frame, positions weighted by their precisions, photons
/// summed, precisions of the weighted means as the in-track variance says (eq. 13.5); columns `n` (localizations), `len` (frames from the
/// first to the last) and `track`. z without lpz is a plain mean. Columns that make no sense for a sum of localizations (p_value,
/// log_likelihood, iterations, status) are left out.
Localizations merge_tracks(const Localizations& table, const Links& links);

/// Whether blinks are one row each already: the history has a step that merged them, of `merge_tracks`, or the table has the columns `n` and
/// `len`, as one that Picasso linked.
bool is_linked(const Localizations& table);

/// For a person who is about to link it: that `table` is linked already. Else empty.
std::string linked_warning(const Localizations& table);

/// All rows, with the columns `track` and `n`. Both add a step to the history.
Localizations with_tracks(const Localizations& table, const Links& links);

/// The same rows of a table in pieces. The arguments must outlive what is returned, which throws OptionError where the links are of another
/// table. Merged rows are made in one visit of a table in the order of frames, in memory for `piece_bytes` of its rows; of others, and
/// where long tracks or unlinkable rows keep that many waiting, in several.
std::unique_ptr<TablePieces> merged_pieces(TablePieces& table, const Links& links,
                                           std::size_t piece_bytes = usual_piece_bytes / 4);
std::unique_ptr<TablePieces> pieces_with_tracks(TablePieces& table, const Links& links);

}  // namespace glint
