// The pipeline: a movie to localizations, in bounded memory, resumable.
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

constexpr double learn_misfit = -1;  ///< for FitSettings::psf_misfit of a movie

/// Placement and callbacks are those of the whole movie. A stop keeps what is finished.
struct LocalizeOptions : Placement, Callbacks {
    Psf psf;
    double pixel_size_nm = 0;  ///< must be given
    int roi_size = 0;          ///< px; 0: default_roi_size
    double threshold = 0;      ///< as DetectOptions
    FrameRange frames{0, -1};  ///< end < 0: all
    std::optional<RegionOfFrames>
        region;  ///< of a movie that is region_of() larger frames, in whose coordinates the rows are
    FitSettings fit{.emitters = any_emitters, .psf_misfit = learn_misfit};
    /// With one emitter: times that spots which overlap are fitted again, with their neighbours' models as a known signal; 0:
    /// never.
    int neighbor_rounds = 3;
    /// Uses pixels that the movie shows to be defective, and hits of one pixel in a frame. Otherwise these are left out.
    bool keep_defective = false;
    std::size_t memory_bytes = std::size_t(256) << 20;  ///< for frame blocks in flight
    bool keep_failed = false;                           ///< keep all fits, whatever their status; see `localize`
    bool resume = false;          ///< continue the journal of a stopped run with the same input and options
    bool overwrite = false;       ///< replace an existing output, start over on an existing journal
    std::string estimated;        ///< which of the camera's and PSF's values were estimated, for the file's metadata
    std::string starting_values;  ///< that the camera's values are a preset's (starting_values_text()), for the same
    Warn warn;
};

/// What lone, bright spots say about the PSF (docs/explanation/theory.md, section 10).
struct LoneSpots {
    int spots = 0;            ///< all spots in the frames that were looked at; 0: none was asked
    int found = 0;            ///< lone ones among them
    int count = 0;            ///< of those, single molecules by their width; 0: too few lone spots, or none was asked
    double psf_misfit = 0;    ///< as FitSettings has it: learnt, or given
    int crowd_molecules = 0;  ///< molecules of crowded frames from which it was measured instead; 0: none
    /// The part of it by which lone spots differ from each other, as with depth or with two kinds of emitters.
    double scatter = 0;
    /// Shares of a molecule's photons that the PSF's misfit alone would give to another one, at 0, 0.5, ... 12 px from it.
    std::array<float, 25> satellites{};
    double width_nm = 0;  ///< median, of a free width's fits where the model's is given; 0 for models with neither
    double width_error_nm = 0;
    /// Share of the spots' light that the fitted photons lack, where the PSF has wider tails than the model; at least that.
    double lost_light = 0, lost_light_error = 0;
    /// By how much close pairs of spots are more frequent than among random molecules (p_single); 0: not measured.
    double pair_excess = 0;
    /// Of free widths: their bounds where molecules overlap. No lone spot is wider, and none much narrower; 0: there are none.
    double least_width_nm = 0, most_width_nm = 0;
};

/// Background that is the same in all frames: where it has structure that would shift spots, or be taken for some, it is known
/// light in detection and fits (docs/explanation/theory.md, section 5).
struct StaticBackground {
    int frames = 0;    ///< from which it was measured; 0: of short movies, and while the end is unknown, it is not
    double max_e = 0;  ///< the greatest light of a pixel above the floor, photoelectrons; 0: a flat background suffices
    bool is_known = false;  ///< false with max_e > 0: of a pipe, whose frames were localized before it was measured
    double share_false =
        0;  ///< of the spots in a few frames, about so many are false, by places that are dark as spots are bright
    double share_changed =
        0;  ///< part of the field where its structure changes over the movie by more than a frame's noise
};

struct LocalizeResult {
    std::int64_t frames = 0;          ///< done in all, with resumed ones
    std::int64_t resumed_frames = 0;  ///< taken over from the journal
    std::int64_t localizations = 0;   ///< rows of the output
    std::int64_t spots = 0;           ///< found by the detection
    std::int64_t added = 0;           ///< molecules that joint fits found beside the one of a spot
    std::int64_t merged = 0;          ///< spots to which joint fits left no molecule of their own
    /// Fitted: spots + added - merged. Of these the following three are dropped (unless `keep_failed`); the others are
    /// the localizations.
    std::int64_t molecules = 0;
    std::int64_t not_converged = 0;  ///< did not converge, or with another bound
    /// Fits that left the spot they began at, dropped; of a group, molecules with fewer photons than their uncertainty, or at
    /// the limit of positions beyond the frame.
    std::int64_t left_spot = 0;
    std::int64_t duplicates = 0;  ///< ended on a molecule that a better fit has
    std::int64_t at_bound =
        0;  ///< of the rows, those whose z ended at the bound of the calibrated range, or whose free width, in a
            ///< group, at that of lone spots (FitStatus::at_bound)
    std::int64_t hidden_rows = 0;  ///< rows of the output that its format's own programs leave out (LocalizationWriter)
    std::int64_t bad_pixels = 0;   ///< not a number or infinite; left out of detection and fits
    std::int64_t zero_border_frames =
        0;                           ///< with a border of zeros, as registration leaves it: its edges make false rows
    std::int64_t masked_pixels = 0;  ///< of the movie's, by the camera's map of faults: without weight
    std::int64_t defective_pixels = 0;  ///< found in the movie beside these: without weight
    std::int64_t hits = 0;              ///< spots that were a hit of one pixel in one frame, dropped
    double saturation_adu = 0;          ///< the count at which pixels saturate; 0: none was seen
    std::int64_t saturated_spots = 0;   ///< spots with saturated pixels, which have no part in their fits
    std::int64_t mostly_saturated = 0;  ///< rows with more than half of their light in these (FitStatus::saturated)
    bool complete = false;              ///< false after a stop
    std::filesystem::path written;      ///< the final file, or the partial one after a stop
    FitInfo fit;                        ///< of this run; seconds are summed over the threads
    double seconds = 0;
    double noise_check = 0;        ///< median over frames; 1 when the camera's parameters are right
    double noise_check_error = 0;  ///< its standard error, by the scatter of the frames; 0: of too few to tell
    LoneSpots lone;                ///< with any_emitters
    StaticBackground background;
};

/// The ROI edge that suits a PSF, px, odd: the fit's window must hold the spot and some background, and as few
/// neighbours as may be; with a calibration, that in which the widths were measured. command_line.md says how it is
/// chosen.
int default_roi_size(const Psf& psf, double pixel_size_nm);

/// Whether the PSF's calibration holds in a window of one size only: joint fits then use the same windows as single fits.
bool has_calibrated_window(const Psf& psf);

/// What is wrong with z in a window that is not the calibration's, for a person; empty when all is well.
std::string calibration_warning(const Psf& psf, int roi_size, double pixel_size_nm);

/// Localizes a movie into a file (its format by `localization_format`). Finished blocks go to a journal
/// `OUT.journal` beside it; when all are done the file appears under its name and the journal goes. After a stop
/// the journal stays and a valid file `OUT` with `.partial` before its extension holds what is finished; a movie
/// that cannot be read to its end leaves the same, and the reader's InputError. A killed process leaves the journal.
///
/// Rows are the fits that converged, stayed at the spot they began at (within one PSF width, and at least 0.71 px,
/// plus the stated precision of its pixel) and are no duplicates: of two in a frame that end within half a PSF
/// width of each other, the one with the higher detection score stays. A fit whose z ended at the bound of the calibrated
/// range counts as converged, and its row has FitStatus::at_bound: x and y are right, z is that far from the focus or
/// farther, and lpz means nothing. So does one of overlapping molecules whose free width ended at the bound of what lone
/// spots have. `keep_failed` keeps all others too.
///
/// The result is byte-identical for any number of threads, memory and interruptions.
///
/// Nothing that stands there is replaced without `overwrite`: the output, the `.yaml` beside it, also where they appear
/// while it runs; and what the movie is read from is not replaced in any case.
///
/// Throws OptionError (also for an output or a journal that exists, and for `resume` with other options or input
/// than the journal's: the message says which), InputError and OutputError (disk full, or another process at work
/// on the same output; the journal keeps what is finished).
LocalizeResult localize(Movie& movie, const Camera& camera, const std::filesystem::path& out,
                        const LocalizeOptions& options);

/// What a run says of a movie that is still being written; means and medians are of the frames since the last report.
struct FollowStatus {
    std::int64_t frames_there = 0;   ///< complete in the movie
    std::int64_t frames = 0;         ///< localized
    std::int64_t localizations = 0;  ///< rows in all
    double spots_per_frame = 0;      ///< found by the detection; NaN, as what follows, where no frame was localized
    double density_per_um2 = 0;      ///< rows a frame and square micrometre
    double precision_nm = 0;         ///< median square root of the CRLB, mean of x and y
    double photons = 0;              ///< median, photoelectrons
    double background = 0;           ///< median, photoelectrons per pixel
    double noise_check = 0;          ///< median
    double lag_s = 0;  ///< since the look before the one that found the oldest frame not localized; 0: none
};

struct FollowOptions {
    double timeout_s = 30;  ///< the movie ends after so long without a new frame
    double report_s = 1;
    std::function<void(const FollowStatus&)> report;  ///< called by one thread at a time
    std::function<void()> once_more;                  ///< called before the ended movie is localized once more
    std::function<void()>
        check_ended;  ///< called when the movie has ended; an Error that it throws keeps what is finished, as an InputError does
};

/// `localize` of a movie while it is written, each frame as soon as it is complete. After `timeout_s` without a new frame the
/// file appears under its name, as if the movie had been localized then; a stop leaves the journal and the partial file, and
/// `resume` goes on; so does an InputError, also that of frames that cannot follow.
///
/// What localize() learns from the whole movie, the misfit of the PSF and the bounds of free widths, is not known before its end:
/// meanwhile the usual ones are taken. Where the ended movie says otherwise, it is localized once more, as by localize(): `progress` counts its frames
/// then, and a run that is stopped there is gone on with by localize(). Of a pipe, whose frames are gone, the usual ones stay.
LocalizeResult follow(GrowingMovie& movie, const Camera& camera, const std::filesystem::path& out,
                      const LocalizeOptions& options, const FollowOptions& follow);

/// Whether a run with `options.resume` has nothing to do: the output is there, and no journal. Throws OptionError where the
/// file tells that it was made from something else, or with other settings, and says which. A .csv tells nothing: that it
/// was not compared is a warning. With `options.overwrite` neither is finished, nor is what is no table: all are to be replaced.
bool finished_before(Movie& movie, const Camera& camera, const std::filesystem::path& out,
                     const LocalizeOptions& options);

/// The journal's name for an output, and the name of the valid file that a stopped run leaves.
std::filesystem::path journal_path(const std::filesystem::path& out);
std::filesystem::path partial_path(const std::filesystem::path& out);

/// The same in memory, without a journal: for what fits there. A stop throws Cancelled.
Localizations localize_frames(Movie& movie, const Camera& camera, const LocalizeOptions& options,
                              LocalizeResult* result = nullptr);

}  // namespace glint
