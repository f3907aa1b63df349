// Estimates the drift of the sample from the localizations of a movie, and corrects it (theory.md, section 15).
//
//     glint::Localizations table = glint::read_localizations("movie.hdf5");
//     const glint::Drift drift = glint::estimate_drift(table);
//     if (drift.refused) throw glint::InputError(drift.why);
//     std::printf("%.1f +- %.2f nm along x\n", drift.rms_100_nm[0], drift.error_100_nm[0]);
//     glint::apply_drift(table, drift);
//     table.history.push_back(glint::drift_history(drift));
//     glint::write_drift("drift.txt", drift, table.pixel_size_nm);
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
    find,   ///< spots in at least 80 % of the frames, each time near the previous position
    none,   ///< no beads: a bead is treated as a molecule with many blinks
    given,  ///< at `DriftOptions::bead_places_px`
};

/// Options of estimate_drift().
struct DriftOptions {
    Beads beads = Beads::find;
    /// x and y of each bead as in the table, px. The nearest bead within 1 um in any frame is used.
    std::vector<std::array<double, 2>> bead_places_px;
    /// Called with the number of finished steps, the number of all steps, and -1, as no localizations are counted.
    Progress progress;
    /// Called if a given bead is not at its position, a structure repeats itself, or parts of the field move apart.
    Warn warn;
    /// Polled between steps. After a stop, estimate_drift() throws Cancelled.
    const StopFlag* stop = nullptr;
};

/// A sudden shift between the frames `frame` - 1 and `frame`.
struct DriftJump {
    std::int64_t frame = 0;
    std::array<double, 3> by_nm{};  ///< x, y, z
};

/// A fiducial bead.
struct DriftBead {
    double x_px = 0, y_px = 0;  ///< position without drift
    /// RMS of its motion relative to other beads and the molecules, beyond errors: x, y, z.
    std::array<double, 3> own_nm{};
    bool used = false;  ///< false: it moves by itself, or other beads and molecules do not confirm its motion
};

/// The drift of one axis.
struct AxisDrift {
    /// One value per frame. The mean over all rows is 0. Constant before the first row and after the last.
    std::vector<double> nm;
    /// Standard error per frame; NaN before the first row and after the last. Empty if unknown, as for a drift file.
    std::vector<double> error_nm;
};

/// The drift of a movie: observed position = position of the molecule + drift(frame). All axes are in nm.
struct Drift {
    AxisDrift x, y, z;  ///< one value per frame, from frame 0; z is empty without z. Zeros if the drift was refused
    std::vector<DriftJump> jumps;
    std::vector<DriftBead> beads;  ///< found or given beads. Their rows are not used as molecules
    bool refused = false;          ///< the table cannot support an estimate, and must not be changed
    std::string why;               ///< the reason, a sentence; empty unless refused
    /// Standard error of the mean drift of 100 frames, RMS over the rows, nm: x, y, z. From the smoother, and from the
    /// differences between the molecules of two halves of the field. For movies of fewer than 200 frames: the larger
    /// standard error of a single frame.
    std::array<double, 3> error_100_nm{};
    /// RMS difference between the drift of both halves of the field, nm: x, y, z. Means over 100 frames are compared;
    /// with fewer than 200 frames, single frames.
    std::array<double, 3> halves_differ_nm{};
    /// RMS of the drift over the rows, nm: x, y, z. From means over 100 frames; with fewer than 200 frames, from single
    /// frames.
    std::array<double, 3> rms_100_nm{};
    /// Slow motion of two sides of the field against each other, RMS beyond errors, nm: sides along x, sides along y.
    /// If the axes are rotated, the sides along the rotated axes.
    std::array<double, 2> sides_differ_nm{};
    double wrong_match = 0;        ///< mean probability that a segment of the first estimate has a wrong shift
    double wrong_match_nm = 0;     ///< possible error of the shift of the least certain segment
    std::int64_t blinks = 0;       ///< linked from the localizations
    int first_segment_frames = 0;  ///< length of the segments of the first, rough estimate
    double searched_nm = 0;        ///< search radius of the first estimate around the previous segment

    /// Returns the number of frames.
    std::int64_t frames() const { return std::int64_t(x.nm.size()); }
    /// Returns the number of beads that the estimate uses.
    std::int64_t used_beads() const {
        return std::count_if(beads.begin(), beads.end(), [](const DriftBead& b) { return b.used; });
    }
};

/// Estimates the drift from molecules that are seen again and from fiducial beads (theory.md, section 15). Needs the
/// columns frame, x_px, y_px and pixel_size_nm; uses z_nm, lpx_px, lpy_px and lpz_nm if present.
///
/// Returns the drift of each frame with its errors. If the data cannot support an estimate, `Drift::refused` is true
/// and the drift is 0. The result does not depend on the number of threads. Throws Cancelled after a stop, and
/// InputError if
/// - pixel_size_nm is unknown,
/// - there are more than 2^24 frames,
/// - no bead is at a given position, or
/// - the rows are molecules with mean frames.
Drift estimate_drift(const Localizations& localizations, const DriftOptions& options = {});

/// Subtracts the drift from the positions: x - dx, y - dy, z - dz. A refused drift changes nothing. Throws InputError
/// if a row's frame is beyond the last frame of the drift, or pixel_size_nm is unknown.
void apply_drift(Localizations& localizations, const Drift& drift);

/// Adds the drift that apply_drift() subtracted. Throws as apply_drift().
void undo_drift(Localizations& localizations, const Drift& drift);

/// Checks whether a drift can belong to the movie of the table. `name`: the drift's file, for messages. Throws
/// InputError if the drift ends before the table's last row. Warns if
/// - the movie has another number of frames,
/// - only one of the two has z, or
/// - according to its history, a drift was already subtracted from the table or, with `put_back`, none was.
void check_drift(const Localizations& localizations, const Drift& drift, const std::string& name, const Warn& warn,
                 bool put_back = false);

/// Returns the entry of a table's history (lines of a YAML mapping) for a drift that was subtracted, refused or, with
/// `put_back`, added again. Contains statistics only for an estimated drift.
std::string drift_history(const Drift& drift, bool put_back = false);

}  // namespace glint
