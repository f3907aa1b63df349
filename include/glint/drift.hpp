// The drift of the sample during a movie, from its localizations alone, and its correction (theory.md, "Drift").
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "glint/localizations.hpp"
#include "glint/progress.hpp"

namespace glint {

/// The source of fiducial beads.
enum class Beads {
    find,   ///< spots seen in at least 80 % of the frames, each time near the place before
    none,   ///< a bead is a molecule as others are, of many blinks
    given,  ///< at `DriftOptions::bead_places_px`
};

struct DriftOptions {
    Beads beads = Beads::find;
    /// x and y of each bead as in the table, px. Chooses the nearest bead within 1 um in any frame.
    std::vector<std::array<double, 2>> bead_places_px;
    /// Called with the finished and all steps, and -1 instead of a number of localizations.
    Progress progress;
    /// Called if a given bead lies elsewhere, a structure repeats itself, or parts of the field move apart.
    Warn warn;
    /// Polled between steps; throws Cancelled once it is set.
    const StopFlag* stop = nullptr;
};

/// A sudden shift between the frames `frame` - 1 and `frame`.
struct DriftJump {
    std::int64_t frame = 0;
    std::array<double, 3> by_nm{};  ///< x, y, z
};

/// A fiducial bead.
struct DriftBead {
    double x_px = 0, y_px = 0;       ///< its place, the drift taken out
    std::array<double, 3> own_nm{};  ///< x, y, z: RMS of its motion against the others and the molecules, beyond errors
    bool used = false;               ///< false: it moves by itself, or nothing confirms it
};

/// The drift of one axis.
struct AxisDrift {
    /// For each frame. The mean of all rows is 0. Constant before the first row and after the last.
    std::vector<double> nm;
    /// Its standard error for each frame; NaN before the first row and after the last; empty if unknown, as of a file.
    std::vector<double> error_nm;
};

/// Observed position = molecule + drift(frame). All in nm, z as well.
struct Drift {
    AxisDrift x, y, z;  ///< one value for each frame from 0; z is empty without z. Zeros where the drift was refused
    std::vector<DriftJump> jumps;
    std::vector<DriftBead> beads;  ///< those found or given; rows of theirs, used or not, are in no other estimate
    bool refused = false;          ///< the table cannot support an estimate: nothing is to be changed
    std::string why;               ///< a sentence, if refused
    /// Standard error of the mean drift of 100 frames, RMS over the rows, nm: x, y, z. From the differences between
    /// the molecules of two halves of the field, which have none in common, and from the smoother.
    /// Of movies of fewer than 200 frames that of a frame, which is more.
    std::array<double, 3> error_100_nm{};
    /// RMS difference between the drift of both halves of the field, nm: x, y, z. Of means over 100 frames; with
    /// fewer than 200 frames, of single frames.
    std::array<double, 3> halves_differ_nm{};
    /// RMS over the rows of the drift's means of 100 frames, nm: x, y, z. For movies of fewer than 200 frames: of the
    /// drift of single frames.
    std::array<double, 3> rms_100_nm{};
    /// Slow motion of two sides of the field against each other, RMS beyond errors, nm: sides along x, along y. If
    /// the axes are turned, along these.
    std::array<double, 2> sides_differ_nm{};
    double wrong_match = 0;        ///< mean probability that a segment of the first estimate lies elsewhere
    double wrong_match_nm = 0;     ///< how far elsewhere the least certain segment may lie
    std::int64_t blinks = 0;       ///< linked from the localizations
    int first_segment_frames = 0;  ///< length of the segments of the first, rough estimate
    double searched_nm = 0;        ///< how far the first estimate looked around the segment before

    std::int64_t frames() const { return std::int64_t(x.nm.size()); }
    std::int64_t used_beads() const {
        return std::count_if(beads.begin(), beads.end(), [](const DriftBead& b) { return b.used; });
    }
};

/// Estimates the drift. Needs the columns frame, x_px, y_px and pixel_size_nm; uses z_nm, lpx_px, lpy_px and lpz_nm
/// if present. What the data cannot support is refused (`Drift::refused`), not guessed. The result does not depend
/// on the number of threads. Throws InputError if pixel_size_nm is unknown, there are more than 2^24 frames, or no
/// bead is at a given place. Throws Cancelled if `stop` was set.
Drift estimate_drift(const Localizations& localizations, const DriftOptions& options = {});

/// Subtracts the drift from the positions: x - dx, y - dy, z - dz; a refused drift changes nothing. Throws InputError
/// if a row's frame is beyond the drift's, or pixel_size_nm is unknown.
void apply_drift(Localizations& localizations, const Drift& drift);

/// Adds the drift that `apply_drift` subtracted.
void undo_drift(Localizations& localizations, const Drift& drift);

/// Checks whether a drift, as of the file `name`, may belong to the table's movie. Throws InputError if the drift
/// ends before the table's last row. Messages name `name`. Warns if
/// - the movie has another number of frames,
/// - only one of the two has z, or
/// - by the table's history a drift was subtracted already or, with `put_back`, all subtracted drifts were added
///   again.
void check_drift(const Localizations& localizations, const Drift& drift, const std::string& name, const Warn& warn,
                 bool put_back = false);

/// Returns the entry of a table's history for a drift that was subtracted, or added again: lines of a YAML mapping.
/// Only estimates have statistics.
std::string drift_history(const Drift& drift, bool put_back = false);

}  // namespace glint
