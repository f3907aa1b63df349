// The pipeline: from a movie to localizations, in bounded memory, resumable.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "glint/camera.hpp"
#include "glint/detect.hpp"
#include "glint/fit.hpp"
#include "glint/localizations.hpp"
#include "glint/movie.hpp"
#include "glint/movie_region.hpp"
#include "glint/progress.hpp"
#include "glint/psf.hpp"

namespace glint {

constexpr double learn_misfit = -1;  ///< for FitSettings::psf_misfit: estimate it from the movie

/// Placement and callbacks apply to the whole movie. A stop keeps finished blocks.
struct LocalizeOptions : Placement, Callbacks {
    Psf psf;
    double pixel_size_nm = 0;  ///< must be given
    int roi_size = 0;          ///< px; 0: default_roi_size
    double threshold = 0;      ///< as DetectOptions
    FrameRange frames{0, -1};  ///< end < 0: all
        /// For a movie that is region_of() larger frames: the region, in whose frames' coordinates the rows are.
    std::optional<RegionOfFrames> region;
    FitSettings fit{.emitters = any_emitters, .psf_misfit = learn_misfit};
    /// With one emitter: number of times that overlapping spots are fitted again, with their neighbours' models as a
    /// known signal; 0: never.
    int neighbor_rounds = 3;
    /// Uses pixels that the movie shows to be defective, and hits of a single pixel in a frame. By default they are
    /// left out.
    bool keep_defective = false;
    std::size_t memory_bytes = std::size_t(256) << 20;  ///< for frame blocks in flight
    bool keep_failed = false;                           ///< keep all fits, whatever their status; see localize()
    bool resume = false;     ///< continue the journal of a stopped run with the same input and options
    bool overwrite = false;  ///< replace an existing output, start over on an existing journal
    std::string estimated;   ///< names of the camera's and PSF's values that were estimated, for the file's metadata
    /// For the metadata: that the camera's values are a preset's (starting_values_text()).
    std::string starting_values;
    Warn warn;
};

/// Information about the PSF from lone, bright spots (docs/explanation/theory.md, section 10).
struct LoneSpots {
    int spots = 0;  ///< all spots in the examined frames; 0: not measured
    int found = 0;  ///< lone ones among them
    int count = 0;  ///< single molecules among the lone ones, by their width; 0: too few lone spots, or not measured
    double psf_misfit = 0;    ///< as FitSettings::psf_misfit: estimated or given
    int crowd_molecules = 0;  ///< molecules of crowded frames from which it was measured instead; 0: none
    /// The part of the misfit by which lone spots differ from each other, as with depth or with two kinds of emitters.
    double scatter = 0;
    /// Shares of a molecule's photons that the PSF's misfit alone would give to another molecule, at 0, 0.5, ... 12 px
    /// from it.
    std::array<float, 25> satellites{};
    double width_nm = 0;  ///< median; from fits of a free width if the model's is given; 0 for models with neither
    double width_error_nm = 0;
    /// Share of the spots' light that the fitted photons lack because the PSF has wider tails than the model; a lower
    /// bound.
    double lost_light = 0, lost_light_error = 0;
    /// By how much close pairs of spots are more frequent than among random molecules (p_single); 0: not measured.
    double pair_excess = 0;
    /// Bounds of free widths for overlapping molecules. No lone spot is wider, and none much narrower; 0: no bounds.
    double least_width_nm = 0, most_width_nm = 0;
};

/// Background that is the same in all frames. If it has structure that would shift spots or pass for spots, it is known
/// light in detection and fits (docs/explanation/theory.md, section 5).
struct StaticBackground {
    int frames = 0;  ///< from which it was measured; 0: not measured (short movies, or before the end of a growing one)
    double max_e = 0;       ///< maximum light above the floor, photoelectrons per pixel; 0: a flat background suffices
    bool is_known = false;  ///< false with max_e > 0: a pipe, whose frames were localized before it was measured
        /// Estimated share of false spots in a few frames, from places that are as dark as spots are bright.
    double share_false = 0;
    /// Part of the field in which its structure changes over the movie by more than a frame's noise.
    double share_changed = 0;
};

struct LocalizeResult {
    std::int64_t frames = 0;          ///< finished, including resumed ones
    std::int64_t resumed_frames = 0;  ///< finished frames in the journal at the start
    std::int64_t localizations = 0;   ///< rows of the output
    std::int64_t spots = 0;           ///< found by the detection
    std::int64_t added = 0;           ///< molecules that joint fits found in addition to one per spot
    std::int64_t merged = 0;          ///< spots without a molecule of their own after joint fits
        /// Fitted: spots + added - merged. Fits of the following three kinds are dropped (unless `keep_failed`); the
        /// others are the localizations.
    std::int64_t molecules = 0;
    std::int64_t not_converged = 0;  ///< did not converge, or ended at another bound
    /// Fits that left their starting spot, dropped. In a group: molecules with fewer photons than their uncertainty, or
    /// at the limit of positions beyond the frame.
    std::int64_t left_spot = 0;
    std::int64_t duplicates = 0;  ///< ended on a molecule that a better fit has
        /// Rows whose z ended at the bound of the calibrated range, or whose free width, in a group, ended at the bound
        /// of lone spots (FitStatus::at_bound).
    std::int64_t at_bound = 0;
    std::int64_t hidden_rows = 0;  ///< rows of the output that its format's own programs leave out (LocalizationWriter)
    std::int64_t bad_pixels = 0;   ///< not a number or infinite; left out of detection and fits
    /// Frames with a border of zeros, as registration leaves it. The border's edges cause false rows.
    std::int64_t zero_border_frames = 0;
    std::int64_t masked_pixels = 0;     ///< pixels of the movie without weight, by the camera's map of faults
    std::int64_t defective_pixels = 0;  ///< further pixels without weight, found defective in the movie
    std::int64_t hits = 0;              ///< spots that were a hit of one pixel in one frame, dropped
    double saturation_adu = 0;          ///< the count at which pixels saturate; 0: no saturation was seen
    std::int64_t saturated_spots = 0;   ///< spots with saturated pixels, which are left out of their fits
    std::int64_t mostly_saturated = 0;  ///< rows with more than half of their light in these (FitStatus::saturated)
    bool complete = false;              ///< false after a stop
    std::filesystem::path written;      ///< the final file, or the partial one after a stop
    FitInfo fit;                        ///< of this run; seconds are summed over the threads
    double seconds = 0;
    double noise_check = 0;        ///< median over frames; 1 if the camera's parameters are right
    double noise_check_error = 0;  ///< its standard error, from the scatter of the frames; 0: too few frames
    LoneSpots lone;                ///< with any_emitters
    StaticBackground background;
};

/// Returns the ROI edge that suits a PSF, px, odd. The window must contain the spot and some background, but as few
/// neighbours as possible. With a calibration, it is the window in which the widths were measured. command_line.md
/// explains the choice.
int default_roi_size(const Psf& psf, double pixel_size_nm);

/// Returns true if the PSF's calibration holds in a window of one size only: joint fits then use the same windows as
/// single fits.
bool has_calibrated_window(const Psf& psf);

/// Returns a text about the error of z in a window that is not the calibration's; empty if there is none.
std::string calibration_warning(const Psf& psf, int roi_size, double pixel_size_nm);

/// Localizes a movie into a file (its format by `localization_format`). Finished blocks go to a journal `OUT.journal`
/// beside it. When all are finished the file appears under its name and the journal is removed. After a stop the
/// journal stays, and a valid file `OUT` with `.partial` before its extension contains the finished part. If the movie
/// cannot be read to its end, both stay too, and the reader's InputError is thrown. A killed process leaves the
/// journal.
///
/// A row is a fit that
/// - converged,
/// - stayed at its starting spot: within one PSF width, and at least 0.71 px, plus the stated precision of its pixel,
/// - is no duplicate: if two in a frame end within half a PSF width of each other, the one with the higher detection
///   score stays.
///
/// A fit whose z ended at the bound of the calibrated range counts as converged, and its row has FitStatus::at_bound: x
/// and y are right, z is at least that far from the focus, and lpz is meaningless. The same holds for overlapping
/// molecules whose free width ended at the bound of lone spots. `keep_failed` keeps all other fits too.
///
/// The result is byte-identical for any number of threads, memory and interruptions.
///
/// Existing files are replaced only with `overwrite`: the output and the `.yaml` beside it, even if they appear during
/// the run. The files of the movie are never replaced.
///
/// Throws
/// - OptionError, also if the output or a journal exists, and for `resume` if the journal has other options or input:
///   the message names them
/// - InputError if the movie cannot be read
/// - OutputError if the disk is full, or another process writes the same output; the journal keeps the finished part
LocalizeResult localize(Movie& movie, const Camera& camera, const std::filesystem::path& out,
                        const LocalizeOptions& options);

/// Progress of a run on a movie that is still being written; means and medians are over the frames since the last
/// report.
struct FollowStatus {
    std::int64_t frames_there = 0;   ///< complete frames in the movie
    std::int64_t frames = 0;         ///< localized
    std::int64_t localizations = 0;  ///< rows in all
    double spots_per_frame = 0;      ///< found by the detection; NaN, as the values below, if no frame was localized
    double density_per_um2 = 0;      ///< rows per frame and square micrometre
    double precision_nm = 0;         ///< median square root of the CRLB, mean of x and y
    double photons = 0;              ///< median, photoelectrons
    double background = 0;           ///< median, photoelectrons per pixel
    double noise_check = 0;          ///< median
    /// Delay of the oldest frame that is not localized, s, from the last scan that did not find it yet; 0: no such
    /// frame.
    double lag_s = 0;
};

struct FollowOptions {
    double timeout_s = 30;  ///< the movie ends after this time without a new frame
    double report_s = 1;
    std::function<void(const FollowStatus&)> report;  ///< called by one thread at a time
    std::function<void()> once_more;                  ///< called before the ended movie is localized again
        /// Called when the movie has ended. An Error that it throws keeps the finished part, as an InputError does.
    std::function<void()> check_ended;
};

/// localize() for a movie during its acquisition, each frame once complete. After `timeout_s` without a new
/// frame the file appears under its name, as if the movie had been localized then. A stop leaves the journal and the
/// partial file; continue with `resume`. An InputError leaves both too, also if new frames do not match the movie.
///
/// localize() estimates the misfit of the PSF and the bounds of free widths from the whole movie. Before the movie's
/// end, follow() uses the defaults. If the ended movie gives other values, it is localized again, as by localize(), and
/// `progress` counts its frames. If stopped at this point, resume with localize(). A pipe, whose frames are gone, keeps
/// the defaults.
///
/// Returns and throws as localize().
LocalizeResult follow(GrowingMovie& movie, const Camera& camera, const std::filesystem::path& out,
                      const LocalizeOptions& options, const FollowOptions& follow);

/// Returns true if a run with `options.resume` has nothing to do: the output exists, and no journal. With
/// `options.overwrite` returns false for an output from another movie or other settings, or a file that is no table:
/// all are to be replaced. Throws OptionError if the file's metadata show another movie or other settings; the message
/// names them. A .csv has no metadata: a warning reports that it was not compared.
bool finished_before(Movie& movie, const Camera& camera, const std::filesystem::path& out,
                     const LocalizeOptions& options);

/// Returns the journal's name for an output, and the name of the valid file that a stopped run leaves.
std::filesystem::path journal_path(const std::filesystem::path& out);
std::filesystem::path partial_path(const std::filesystem::path& out);

/// Localizes a movie in memory, without a journal. Writes the counts to `result` if that is not null. Throws Cancelled
/// after a stop, otherwise as localize().
Localizations localize_frames(Movie& movie, const Camera& camera, const LocalizeOptions& options,
                              LocalizeResult* result = nullptr);

}  // namespace glint
