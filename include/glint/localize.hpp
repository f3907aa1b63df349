// The pipeline from a movie to localizations, with bounded memory. A stopped run can be resumed.
//
//     const auto movie = glint::open_movie("movie.tif");
//     const glint::Camera camera = glint::read_camera("camera.toml").camera;
//     glint::LocalizeOptions options;
//     options.psf = {.model = glint::PsfModel::GaussianXYNB, .sigma_nm = 130};
//     options.pixel_size_nm = 100;
//     options.warn = [](const std::string& message) { std::fprintf(stderr, "%s\n", message.c_str()); };
//     const glint::LocalizeResult result = glint::localize(*movie, camera, "movie.hdf5", options);
//     std::printf("%lld localizations in %.1f s\n", (long long)result.localizations, result.seconds);
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

/// Options of localize(). `psf` and `pixel_size_nm` must be given. Placement and callbacks apply to the whole movie. A
/// stop keeps finished blocks.
struct LocalizeOptions : Placement, Callbacks {
    Psf psf;
    double pixel_size_nm = 0;  ///< must be given
    int roi_size = 0;          ///< px; 0: default_roi_size
    double threshold = 0;      ///< as DetectOptions
    FrameRange frames{0, -1};  ///< end < 0: all
    /// For a movie from crop_movie(): the region. Rows then have the coordinates of whole frames.
    std::optional<RegionOfFrames> region;
    FitSettings fit{.emitters = any_emitters, .psf_misfit = learn_misfit};
    /// With one emitter: number of times that overlapping spots are fitted again, with their neighbours' models as a
    /// known signal; 0: never.
    int neighbor_rounds = 3;
    /// Use pixels that appear defective in the movie, and hits of a single pixel in a frame. By default they are
    /// omitted.
    bool keep_defective = false;
    std::size_t memory_bytes = std::size_t(256) << 20;  ///< for frame blocks in flight
    bool keep_failed = false;                           ///< keep all fits, whatever their status; see localize()
    bool resume = false;     ///< continue the journal of a stopped run with the same input and options
    bool overwrite = false;  ///< replace an existing output, start over on an existing journal
    std::string estimated;   ///< for the metadata: names of the values of camera and PSF that were estimated
    std::string psf_file;    ///< for the metadata: the file of a measured PSF; empty: none
    /// For the metadata: starting_values_text() if the camera's values are from a preset.
    std::string starting_values;
    Warn warn;
};

/// Information about the PSF from lone, bright spots (docs/explanation/theory.md, section 10).
struct LoneSpots {
    int spots = 0;  ///< all spots in the examined frames; 0: not measured
    int found = 0;  ///< lone spots among them
    int count = 0;  ///< single molecules among the lone spots, by their width; 0: too few lone spots, or not measured
    double psf_misfit = 0;    ///< as FitSettings::psf_misfit: estimated or given
    int crowd_molecules = 0;  ///< molecules of crowded frames from which the misfit was measured instead; 0: none
    /// The part of the misfit by which lone spots differ from each other, e.g. by depth or by two kinds of emitters.
    double scatter = 0;
    /// Shares of a molecule's photons that the PSF's misfit alone would assign to a second molecule, at distances of 0,
    /// 0.5, ... 12 px.
    std::array<float, 25> satellites{};
    double width_nm = 0;  ///< median; from fits of a free width if the model's is given; 0 for models with neither
    double width_error_nm = 0;
    /// Share of the spots' light that the fitted photons lack because the PSF has wider tails than the model; a lower
    /// bound.
    double lost_light = 0, lost_light_error = 0;
    /// Excess of close pairs of spots over those of random molecules (p_single); 0: not measured.
    double pair_excess = 0;
    /// Bounds of free widths for overlapping molecules: those of lone spots, with a margin below; 0: no bounds.
    double min_width_nm = 0, max_width_nm = 0;
};

/// Background that is the same in all frames. If its structure would shift spots or be detected as spots, detection and
/// fits include it as known light (docs/explanation/theory.md, section 5).
struct StaticBackground {
    int frames = 0;    ///< measured frames; 0: not measured (short movies, or before the end of a growing one)
    double max_e = 0;  ///< maximum light above the floor, photoelectrons per pixel; 0: a flat background suffices
    /// Whether detection and fits use it. False with max_e > 0 for a pipe, whose frames were localized before the
    /// measurement.
    bool is_known = false;
    /// Estimated share of false spots in a few frames, from positions that are as dark as spots are bright.
    double share_false = 0;
    /// Part of the field in which the background changes over the movie by more than a frame's noise.
    double share_changed = 0;
};

/// The result of localize() and follow(): numbers of rows, and what was found in the movie.
struct LocalizeResult {
    std::int64_t frames = 0;          ///< finished, including resumed ones
    std::int64_t resumed_frames = 0;  ///< finished frames in the journal at the start
    std::int64_t localizations = 0;   ///< rows of the output
    std::int64_t spots = 0;           ///< found by the detection
    std::int64_t added = 0;           ///< molecules that joint fits found in addition to one per spot
    std::int64_t merged = 0;          ///< spots without a molecule of their own after joint fits
    /// Fitted molecules: spots + added - merged. Fits of the following three kinds are dropped unless `keep_failed`;
    /// the remaining ones are the localizations.
    std::int64_t molecules = 0;
    std::int64_t not_converged = 0;  ///< fits that did not converge, or ended at a bound not counted in at_bound
    /// Fits that left their starting spot. In a group: molecules with fewer photons than their uncertainty, or at the
    /// limit of positions beyond the frame.
    std::int64_t left_spot = 0;
    std::int64_t duplicates = 0;  ///< fits that ended on the molecule of a better fit
    /// Rows whose z ended at the bound of the calibrated range, or whose free width, in a group, ended at the bound of
    /// lone spots (FitStatus::at_bound).
    std::int64_t at_bound = 0;
    std::int64_t hidden_rows = 0;  ///< rows of the output that its format's own programs leave out (LocalizationWriter)
    std::int64_t bad_pixels = 0;   ///< NaN or infinite; omitted in detection and fits
    /// Frames with a border of zeros, e.g. from registration. The edges of the border cause false rows.
    std::int64_t zero_border_frames = 0;
    std::int64_t masked_pixels = 0;     ///< pixels of the movie without weight, by the camera's map of faults
    std::int64_t defective_pixels = 0;  ///< further pixels without weight, found defective in the movie
    std::int64_t hits = 0;              ///< dropped spots that were a single pixel in a single frame
    double saturation_adu = 0;          ///< the count at which pixels saturate; 0: no saturation was found
    std::int64_t saturated_spots = 0;   ///< spots with saturated pixels, which the fits omit
    std::int64_t mostly_saturated = 0;  ///< rows with most of their light in saturated pixels (FitStatus::saturated)
    bool complete = false;              ///< false after a stop
    std::filesystem::path written;      ///< the final file, or the partial one after a stop
    FitInfo fit;                        ///< of this run; seconds are summed over the threads
    double seconds = 0;
    double noise_check = 0;        ///< median over frames; 1 if the camera's parameters are correct
    double noise_check_error = 0;  ///< its standard error, from the scatter of the frames; 0: too few frames
    LoneSpots lone;                ///< with any_emitters
    StaticBackground background;
};

/// Returns the edge of a ROI that suits a PSF, px, odd. The ROI must contain the spot and some background, but as few
/// neighbours as possible. With a calibration, it has the size of the ROIs in which the widths were measured.
/// command_line.md explains the choice.
int default_roi_size(const Psf& psf, double pixel_size_nm);

/// Returns whether the PSF's calibration is valid for one ROI size only. Joint fits then use the same ROIs as single
/// fits.
bool has_calibrated_window(const Psf& psf);

/// Returns a warning about the error of z if the ROI size or the pixel size is not that of the calibration, or if the
/// ROI contains less than half of the light of a measured PSF. Else empty. Throws OptionError if the ROI is smaller
/// than the default and contains less than a quarter of that light: z is lost in it.
std::string calibration_warning(const Psf& psf, int roi_size, double pixel_size_nm);

/// Returns a warning if 5 % of the rows or more, and at least 10, have a z at the bound of the calibrated range. Else
/// empty. `at_bound`: number of such rows.
std::string z_bound_warning(const Psf& psf, std::int64_t at_bound, std::int64_t rows);

/// Localizes a movie into a file. The file's name determines its format (localization_format()).
///
/// Finished blocks are saved in a journal `OUT.journal` beside the file. When all blocks are finished, the file appears
/// under its name and the journal is removed. After a stop, the journal stays, and a valid file with `.partial` before
/// its extension contains the finished part. The same happens if the movie cannot be read to its end. A killed process
/// leaves the journal.
///
/// A row is a fit that
/// - converged,
/// - stayed at its starting spot: within one PSF width (at least 0.71 px), plus the stated precision of its pixel, and
/// - is no duplicate: if two fits of a frame end within half a PSF width of each other, only the one with the higher
///   detection score is kept.
///
/// A fit whose z ended at the bound of the calibrated range counts as converged, and its row has FitStatus::at_bound.
/// Its x and y are correct, z is at least that far from the focus, and lpz is meaningless. Overlapping molecules whose
/// free width ended at the bound of lone spots are treated in the same way. `keep_failed` keeps all fits.
///
/// The file is byte-identical for any number of threads, memory and interruptions. Existing files are replaced only
/// with `overwrite`: the output and the `.yaml` beside it, even if they appear during the run. The files of the movie
/// are never replaced.
///
/// Returns the numbers of frames, spots and rows, with LocalizeResult::complete false after a stop. Throws
/// - OptionError for an invalid option, if the output or a journal exists, and for `resume` if the journal is from
///   other options or input (the message names them)
/// - InputError if the movie cannot be read
/// - OutputError if the disk is full, or another process writes the same output; the journal keeps the finished part
/// - gpu::GpuError as fit()
LocalizeResult localize(Movie& movie, const Camera& camera, const std::filesystem::path& out,
                        const LocalizeOptions& options);

/// Progress of a run on a movie that is still being written; means and medians are over the frames since the last
/// report.
struct FollowStatus {
    std::int64_t complete_frames = 0;  ///< complete frames in the movie
    std::int64_t frames = 0;           ///< localized
    std::int64_t localizations = 0;    ///< rows in total
    double spots_per_frame = 0;        ///< found by the detection; NaN, as the values below, if no frame was localized
    double density_per_um2 = 0;        ///< rows per frame and square micrometre
    double precision_nm = 0;           ///< median square root of the CRLB, mean of x and y
    double photons = 0;                ///< median, photoelectrons
    double background = 0;             ///< median, photoelectrons per pixel
    double noise_check = 0;            ///< median
    /// Age of the oldest frame that is not localized yet, s, since the last scan that did not find it; 0: no such
    /// frame.
    double lag_s = 0;
};

/// Options of follow().
struct FollowOptions {
    double timeout_s = 30;                            ///< the movie ends after this time without a new frame
    double report_s = 1;                              ///< time between reports
    std::function<void(const FollowStatus&)> report;  ///< called by one thread at a time
    std::function<void()> before_rerun;               ///< called before the ended movie is localized again
    /// Called when the movie has ended. If it throws an Error, the finished part is kept, as after an InputError.
    std::function<void()> check_ended;
};

/// Localizes a movie during its acquisition, each frame when it is complete. After `timeout_s` without a new frame the
/// movie counts as ended, and the file appears under its name. A stop leaves the journal and the partial file; continue
/// with `resume`. An InputError leaves both too, for example if new frames do not match the movie.
///
/// localize() estimates the misfit of the PSF and the bounds of free widths from the whole movie. Before the movie's
/// end, follow() uses the defaults. If the ended movie gives other values, it is localized again, as by localize(), and
/// `progress` counts its frames. If stopped at this point, resume with localize(). For a pipe, whose frames cannot be
/// read again, the results with the defaults are final.
///
/// Returns and throws as localize().
LocalizeResult follow(GrowingMovie& movie, const Camera& camera, const std::filesystem::path& out,
                      const LocalizeOptions& options, const FollowOptions& follow);

/// Returns true if a run with `options.resume` has nothing to do: the output exists, and no journal.
///
/// Compares the file's metadata with the movie and the settings. If they differ, throws OptionError, which names them.
/// With `options.overwrite` returns false instead, also for a file that is not a table: that file will be replaced. A
/// .csv has no metadata: a warning reports that it was not compared.
bool is_already_localized(Movie& movie, const Camera& camera, const std::filesystem::path& out,
                          const LocalizeOptions& options);

/// Returns the path of the journal of an output.
std::filesystem::path journal_path(const std::filesystem::path& out);
/// Returns the path of the valid file that a stopped run leaves.
std::filesystem::path partial_path(const std::filesystem::path& out);

/// Localizes a movie without files: returns the rows. `result`, if not null, receives the numbers of localize(). Throws
/// Cancelled after a stop, otherwise as localize().
Localizations localize_frames(Movie& movie, const Camera& camera, const LocalizeOptions& options,
                              LocalizeResult* result = nullptr);

}  // namespace glint
