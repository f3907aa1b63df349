// From stacks of beads to a measured PSF, its errors and its usable range.
// SPDX-License-Identifier: MIT
#include "glint/calibrate_psf.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "analysis/lens/bead_sections.hpp"
#include "analysis/lens/choose_field.hpp"
#include "analysis/lens/choose_grid.hpp"
#include "analysis/lens/faulty_slices.hpp"
#include "analysis/lens/field_cells.hpp"
#include "analysis/lens/field_change.hpp"
#include "analysis/lens/find_beads.hpp"
#include "analysis/lens/held_out.hpp"
#include "analysis/lens/learn_spline.hpp"
#include "analysis/lens/measure_errors.hpp"
#include "analysis/lens/psf_shape.hpp"
#include "analysis/lens/psf_warnings.hpp"
#include "analysis/lens/reject_beads.hpp"
#include "base/arena.hpp"
#include "base/median.hpp"
#include "glint/error.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace lens {
namespace {

constexpr std::int64_t min_psf_slices = 7;
constexpr double min_step_nm = 0.5, max_slice_step_nm = 2000, max_depth_nm = 50000;
constexpr double max_center_nm = 1e5;  // z of fits has single precision: 0.01 nm there
constexpr double min_z_scale = 0.2, max_z_scale = 3;
constexpr int min_roi = 7, max_roi = 101;
constexpr std::size_t max_beads = 40;  // more hardly improve the PSF, and cost time
constexpr std::size_t max_field_beads = 100;
constexpr double max_offset_px = 0.6;  // of a bead from the middle of its window; else it is cut again
constexpr double min_stack_depth_nm = 100;

void check_options(const CalibratePsfOptions& options) {
    check_pixel_size(options.pixel_size_nm);
    const double step = std::abs(options.z_step_nm);
    if (!(step > 0) || !std::isfinite(step))
        throw OptionError("the distance of two slices must not be 0: `z_step=20nm`");
    if (step < min_step_nm || step > max_slice_step_nm)
        throw OptionError(
            fmt::format("a distance of slices of {:g} nm is not plausible: give nanometres, {:g} to {:g}, "
                        "as in `z_step=20nm`",
                        step, min_step_nm, max_slice_step_nm));
    if (!(std::abs(options.z_center_nm) <= max_center_nm))
        throw OptionError(
            fmt::format("a stage position of the middle slice of {:g} nm: it must lie between {:.0f} and {:.0f} nm; "
                        "leave it out if z is 0 in the middle of the stack",
                        options.z_center_nm, -max_center_nm, max_center_nm));
    if (!(options.z_scale >= min_z_scale && options.z_scale <= max_z_scale))
        throw OptionError(fmt::format("a scale of z of {:g}: it must lie between {:g} and {:g}", options.z_scale,
                                      min_z_scale, max_z_scale));
    if (options.roi_size != 0 &&
        (options.roi_size < min_roi || options.roi_size > max_roi || options.roi_size % 2 == 0))
        throw OptionError(
            fmt::format("a window of {} px for the PSF: give an odd number from {} to {}, as in "
                        "`roi_size=25`, or none",
                        options.roi_size, min_roi, max_roi));
}

void check_stack(const MovieInfo& info, const CalibratePsfOptions& options) {
    if (info.frames < min_psf_slices)
        throw InputError(fmt::format("{}: {} slices are too few for a PSF: give a stack of at least {}, better 50",
                                     info.name, info.frames, min_psf_slices));
    const double depth = double(info.frames - 1) * std::abs(options.z_step_nm);
    if (depth < min_stack_depth_nm || depth > max_depth_nm)
        throw InputError(
            fmt::format("{}: {} slices with a distance of {:g} nm cover {:g} nm, which must be {:g} to {:g}: "
                        "is `z_step` right?",
                        info.name, info.frames, std::abs(options.z_step_nm), depth, min_stack_depth_nm, max_depth_nm));
    if (std::min(info.width, info.height) < std::max(options.roi_size, min_roi))
        throw InputError(fmt::format("{}: frames of {} x {} px are smaller than the window of a bead, {} px", info.name,
                                     info.width, info.height, std::max(options.roi_size, min_roi)));
}

/// z of slices, given by their numbers, of a stack of `all` slices.
std::vector<double> find_z(const std::vector<std::int64_t>& slices, std::int64_t all,
                           const CalibratePsfOptions& options) {
    std::vector<double> z;
    for (const std::int64_t k : slices)
        z.push_back(options.z_scale * (options.z_center_nm + (double(k) - 0.5 * double(all - 1)) * options.z_step_nm));
    return z;
}

/// The planes that cover a range of z, rounded outwards to knots. Fits cannot leave the range of the table.
struct CroppedRange {
    PsfTable::Shape shape;
    PsfTable::Scale scale;
    std::size_t first_plane = 0;

    CroppedRange(const PsfTable& table, double z_min_nm, double z_max_nm) : shape(table.shape()), scale(table.scale()) {
        const int intervals = shape[0] - 3;
        const double step_nm = (scale.z_max_nm - scale.z_min_nm) / intervals, rounding = 1e-6;
        const int first =
            std::clamp(int(std::floor((z_min_nm - scale.z_min_nm) / step_nm + rounding)), 0, intervals - 1);
        const int last =
            std::clamp(int(std::ceil((z_max_nm - scale.z_min_nm) / step_nm - rounding)), first + 1, intervals);
        scale.z_max_nm = scale.z_min_nm + last * step_nm, scale.z_min_nm += first * step_nm;
        shape[0] = last - first + 3, first_plane = std::size_t(first);
    }
    std::size_t plane() const { return std::size_t(shape[1]) * std::size_t(shape[2]); }
    std::size_t size() const { return std::size_t(shape[0]) * plane(); }
    std::span<const float> of(std::span<const float> values) const {
        return values.subspan(first_plane * plane(), size());
    }
};

std::shared_ptr<const PsfTable> crop(const PsfTable& table, const CroppedRange& range) {
    const auto kept = range.of(table.values());
    return std::make_shared<const PsfTable>(range.shape, std::vector<float>(kept.begin(), kept.end()), range.scale);
}

/// The values of all cells: the PSF at the middle of each, with the light 1.
std::vector<float> evaluate_cells(const LearntPsf& learnt, const PsfField& field, const CroppedRange& range) {
    std::vector<float> values(std::size_t(field.cells()) * range.size());
    in_own_arena([&] {
        tbb::parallel_for(0, field.cells(), [&](int cell) {
            const double x = field.left_px + (cell % field.cells_x + 0.5) * field.cell_px,
                         y = field.top_px + (cell / field.cells_x + 0.5) * field.cell_px;
            const Spline here = learnt.at(x, y);
            const double light = find_light(here);
            float* to = values.data() + std::size_t(cell) * range.size();
            for (const float value : range.of(here.coefficients)) *to++ = float(double(value) / light);
        });
    });
    return values;
}

class PsfCalibrator {
  public:
    PsfCalibrator(std::span<Movie* const> stacks, const Camera& camera, const CalibratePsfOptions& options)
        : stacks_(stacks), options_(options) {
        for (Movie* stack : stacks) views_.emplace_back(camera, stack->info().width, stack->info().height);
    }

    PsfCalibration run() {
        find();
        cut();
        if (leave_out_dark_slices()) cut();
        align();
        estimate_and_reject();
        if (options_.field) require_field_beads();
        report(3);
        LearnOptions chosen = choose_grid_of_some(learn_options_with_field());
        report(4);
        std::optional<PsfFieldFit> field;
        if (options_.field) field = choose_field(beads_, chosen);
        if (field && field->degree == 0) chosen = choose_grid_of_some(learn_options());
        const LearntPsf learnt = learn_spline(beads_.windows, beads_.places, chosen);
        report(5);
        beads_.places = learnt.places;
        PsfCalibration out = describe(learnt, chosen);
        if (!measure_errors(beads_, chosen, learnt.spline, options_.z_step_nm * options_.z_scale, out))
            throw InputError(fmt::format(
                "{}: the PSF determines z nowhere: fits to {} miss z by more than 20 nm, or do not converge. Does the "
                "PSF change with z, is `z_step` right, and are the beads bright enough?{}",
                names(), describe_tested(out.judged_by_slices), hint_offset(" ")));
        add_sections(learnt, out);
        const LateralShift shift = measure_shift(learnt.spline, out.z_min_nm, out.z_max_nm);
        const double per_px_per_um = options_.pixel_size_nm / 1000;
        out.x_tilt = per_px_per_um * shift.x_px_per_um, out.y_tilt = per_px_per_um * shift.y_px_per_um;
        out.warnings = find_warnings(out, learnt.spline);
        out.field = field;
        const bool has_terms = chosen.field.degree > 0;
        if (std::string doubt = doubt_field(measure_field_change(beads_, learnt), has_terms); !doubt.empty())
            out.warnings.push_back(std::move(doubt));
        const CroppedRange range(*out.table, out.z_min_nm, out.z_max_nm);
        out.table = has_terms ? make_cells(learnt, range, out) : crop(*out.table, range);
        report(steps);
        return out;
    }

  private:
    static constexpr std::int64_t steps = 6;

    void poll() const {
        if (options_.stop && *options_.stop) throw Cancelled("the calibration of the PSF was stopped");
    }
    void report(std::int64_t done) const {
        poll();
        if (options_.progress) options_.progress(done, steps, -1);
    }
    LearnOptions learn_options() const {
        return {.finished_round = [this] { poll(); }};
    }

    /// With a plane over the field, if its change is measured: else beads at the edge of the field would not fit, and
    /// their misfit would hide that of the grid.
    LearnOptions learn_options_with_field() const {
        LearnOptions options = learn_options();
        if (options_.field) options.field = limit_terms(beads_, 1);
        return options;
    }

    /// Chooses the grid by at most max_beads beads: it depends on the lens and the slices.
    LearnOptions choose_grid_of_some(const LearnOptions& options) const {
        const std::size_t stride = (beads_.size() + max_beads - 1) / max_beads;
        std::vector<BeadWindow> windows;
        std::vector<BeadPlace> places;
        for (std::size_t b = 0; b < beads_.size(); b += stride)
            windows.push_back(beads_.windows[b]), places.push_back(beads_.places[b]);
        return choose_grid(windows, places, options, options_.z_step_nm * options_.z_scale);
    }

    /// Returns the table of a PSF that changes over the field, and sets the error of its cells.
    std::shared_ptr<const PsfTable> make_cells(const LearntPsf& learnt, const CroppedRange& range,
                                               PsfCalibration& out) const {
        const double error_nm_per_px =
            find_error_per_px(learnt, out.z_min_nm, out.z_max_nm, out.fit_roi_size, options_.pixel_size_nm);
        FieldCells cells = choose_cells(beads_.windows, error_nm_per_px, range.size());
        out.field->cell_error_nm = cells.error_nm;
        if (cells.error_nm > max_cell_error_nm * (1 + 1e-6))
            out.warnings.push_back(fmt::format(
                "{} x {} cells of {:.3g} px are the most that a PSF's file has, and x and y of molecules between them "
                "are wrong by up to {:.1f} nm: measure a smaller window, `roi_size`, or a part of the field, `region`",
                cells.field.cells_x, cells.field.cells_y, cells.field.cell_px, cells.error_nm));
        std::vector<float> values = evaluate_cells(learnt, cells.field, range);
        cells.field.left_px += options_.field_x_px, cells.field.top_px += options_.field_y_px;
        return std::make_shared<const PsfTable>(range.shape, std::move(values), range.scale, cells.field);
    }

    std::string names() const {
        const std::string first = stacks_[0]->info().name;
        return stacks_.size() == 1 ? first : fmt::format("{} and {} more", first, stacks_.size() - 1);
    }

    void find() {
        for (std::size_t file = 0; file < stacks_.size(); ++file) {
            slices_.emplace_back(std::size_t(stacks_[file]->info().frames));
            std::iota(slices_[file].begin(), slices_[file].end(), std::int64_t(0));
            projections_.push_back(project(*stacks_[file], views_[file], slices_[file], [this] { poll(); }));
            if (leave_out_slices(file, find_empty_slices(projections_[file], slices_[file])))
                projections_[file] = project(*stacks_[file], views_[file], slices_[file], [this] { poll(); });
            const auto found = find_candidates(projections_.back(), file);
            candidates_.insert(candidates_.end(), found.begin(), found.end());
        }
        if (candidates_.empty())
            throw InputError(
                fmt::format("{}: no bead: the mean of all slices has no spot above its noise; give a stack "
                            "of bright, sparse beads, and check `offset` and `gain`{}",
                            names(), hint_offset(". ")));
        window_ = options_.roi_size ? options_.roi_size : choose_window(projections_, candidates_);
        reject_candidates(projections_, window_, candidates_);
        keep_brightest();
        if (std::none_of(candidates_.begin(), candidates_.end(), [](const auto& b) { return b.rejected.empty(); }))
            throw InputError(no_bead_left());
        report(1);
    }

    bool leave_out_slices(std::size_t file, const std::vector<FaultySlices>& faults) {
        const MovieInfo& info = stacks_[file]->info();
        for (std::string& warning : leave_out(faults, info.name, info.frames, slices_[file]))
            slice_warnings_.push_back(std::move(warning));
        return !faults.empty();
    }

    /// Whether there were any.
    bool leave_out_dark_slices() {
        bool any = false;
        for (std::size_t file = 0; file < stacks_.size(); ++file) {
            std::vector<BeadWindow> windows;
            for (const BeadWindow& window : beads_.windows)
                if (window.file == file) windows.push_back(window);
            if (!windows.empty()) any |= leave_out_slices(file, find_dark_slices(windows, slices_[file]));
        }
        return any;
    }

    void keep_brightest() {
        std::vector<std::size_t> used;
        for (std::size_t k = 0; k < candidates_.size(); ++k)
            if (candidates_[k].rejected.empty()) used.push_back(k);
        std::stable_sort(used.begin(), used.end(),
                         [&](std::size_t a, std::size_t b) { return candidates_[a].light > candidates_[b].light; });
        const std::size_t most = options_.field ? max_field_beads : max_beads;
        for (std::size_t k = most; k < used.size(); ++k)
            candidates_[used[k]].rejected = fmt::format("the {} brightest beads are enough", most);
    }

    /// For the end of an error, after `separator`.
    std::string hint_offset(const char* separator) const {
        for (const Projection& projection : projections_)
            if (const std::string doubt = doubt_offset(projection); !doubt.empty()) return separator + doubt;
        return {};
    }

    std::vector<std::string> find_warnings(const PsfCalibration& found, const Spline& spline) const {
        std::vector<std::string> warnings = slice_warnings_;
        for (std::size_t file = 0; file < stacks_.size(); ++file)
            if (const std::string doubt = doubt_offset(projections_[file]); !doubt.empty())
                warnings.push_back(fmt::format("{}: {}", stacks_[file]->info().name, doubt));
        for (std::string& doubt : find_doubts(found, spline)) warnings.push_back(std::move(doubt));
        return warnings;
    }

    std::string no_bead_left() const {
        std::map<std::string, int> reasons;
        for (const BeadCandidate& bead : candidates_) {
            const std::string& why = bead.rejected;
            ++reasons[why.starts_with("another spot")
                          ? fmt::format("another spot nearer than {:g} px", min_distance_in_windows * window_)
                          : why];
        }
        std::string text;
        for (const auto& [why, count] : reasons)
            text +=
                candidates_.size() == 1 ? why : fmt::format("{}{} of them: {}", text.empty() ? "" : "; ", count, why);
        return fmt::format(
            "{}: no usable bead in {} spot{}, with a window of {} px ({}); give a sparser stack, a smaller "
            "`roi_size`, or a shorter exposure if beads are saturated",
            names(), candidates_.size(), candidates_.size() == 1 ? "" : "s", window_, text);
    }

    void cut() {
        beads_ = {};
        for (std::size_t file = 0; file < stacks_.size(); ++file) {
            auto windows = cut_windows(*stacks_[file], views_[file], file, window_, slices_[file],
                                       find_z(slices_[file], stacks_[file]->info().frames, options_), candidates_,
                                       [this] { poll(); });
            std::size_t next = 0;
            for (std::size_t k = 0; k < candidates_.size(); ++k) {
                if (candidates_[k].file != file || !candidates_[k].rejected.empty()) continue;
                BeadWindow& window = windows[next++];
                beads_.places.push_back({.x_px = candidates_[k].x_px - window.left - window_ / 2,
                                         .y_px = candidates_[k].y_px - window.top - window_ / 2});
                beads_.windows.push_back(std::move(window));
                beads_.candidates.push_back(k);
            }
        }
        report(2);
    }

    /// Start positions from the PSF of the brightest bead alone: beads may lie at different z.
    void align() {
        if (beads_.size() < 2) return;
        std::size_t brightest = 0;
        for (std::size_t b = 1; b < beads_.size(); ++b)
            if (candidates_[beads_.candidates[b]].light > candidates_[beads_.candidates[brightest]].light)
                brightest = b;
        LearnOptions options = learn_options();
        options.rounds = 3;
        const LearntPsf one = learn_spline({beads_.windows[brightest]}, {beads_.places[brightest]}, options);
        const SliceFitter fitter(one.spline, window_);
        const auto list = sample_slices(beads_);
        const std::vector<SliceFit> fits = fit_slices(fitter, beads_.windows, list);
        for (std::size_t b = 0; b < beads_.size(); ++b) {
            std::vector<double> x, y, z;
            for (std::size_t k = 0; k < list.size(); ++k) {
                if (list[k].first != b || !fits[k].converged) continue;
                x.push_back(fits[k].theta[fit_x]), y.push_back(fits[k].theta[fit_y]);
                z.push_back(fits[k].theta[fit_z] - beads_.windows[b].z_nm[list[k].second]);
            }
            if (z.size() >= 3) beads_.places[b] = {median(x), median(y), median(z), 0};
        }
        double mean = 0;
        for (const BeadPlace& place : beads_.places) mean += place.z_nm / double(beads_.size());
        for (BeadPlace& place : beads_.places) place.z_nm -= mean;
    }

    /// Learns, rejects the beads that do not fit, and cuts windows again that are not centred.
    void estimate_and_reject() {
        for (int round = 0;; ++round) {
            LearntPsf learnt = learn_spline(beads_.windows, beads_.places, learn_options_with_field());
            beads_.places = learnt.places;
            const bool last = round == 3;
            if (!last && reject_misfits(learnt, candidates_, beads_)) continue;
            if (!last && reject_drifts(learnt, candidates_, beads_)) continue;
            if (!last && recentre()) continue;
            return;
        }
    }

    void require_field_beads() const {
        constexpr std::size_t least = CalibratePsfOptions::min_field_beads;
        if (beads_.size() >= least) return;
        throw InputError(
            fmt::format("{}: {} usable bead{} of {} spots are too few to measure how the PSF changes over the field, "
                        "`field`, which "
                        "needs {}: record more stacks with beads all over the field, or leave `field` out",
                        names(), beads_.size(), beads_.size() == 1 ? "" : "s", candidates_.size(), least));
    }

    bool recentre() {
        bool any = false;
        for (std::size_t b = 0; b < beads_.size(); ++b) {
            BeadCandidate& bead = candidates_[beads_.candidates[b]];
            const BeadWindow& window = beads_.windows[b];
            bead.x_px = window.left + window_ / 2 + beads_.places[b].x_px;
            bead.y_px = window.top + window_ / 2 + beads_.places[b].y_px;
            any |= std::abs(beads_.places[b].x_px) > max_offset_px || std::abs(beads_.places[b].y_px) > max_offset_px;
        }
        if (!any) return false;
        std::vector<BeadCandidate> before = candidates_;
        reject_candidates(projections_, window_, candidates_);  // e.g. too near the edge now
        for (std::size_t k = 0; k < candidates_.size(); ++k)
            if (!before[k].rejected.empty()) candidates_[k].rejected = before[k].rejected;
        std::map<std::size_t, double> z;
        for (std::size_t b = 0; b < beads_.size(); ++b) z[beads_.candidates[b]] = beads_.places[b].z_nm;
        cut();
        if (beads_.size() == 0) throw InputError(no_bead_left());
        for (std::size_t b = 0; b < beads_.size(); ++b) beads_.places[b].z_nm = z[beads_.candidates[b]];
        return true;
    }

    PsfCalibration describe(const LearntPsf& learnt, const LearnOptions& chosen) const {
        const SplineGrid& grid = learnt.spline.grid;
        for (const float value : learnt.spline.coefficients)
            if (!std::isfinite(value))
                throw InputError(
                    fmt::format("{}: the beads determine no PSF: are `offset` and `gain` right?", names()));
        PsfCalibration out;
        out.table = std::make_shared<const PsfTable>(
            PsfTable::Shape{grid.nz, grid.nxy(), grid.nxy(), 1}, learnt.spline.coefficients,
            PsfTable::Scale{options_.pixel_size_nm, grid.z_min_nm, grid.z_max_nm, chosen.samples});
        out.roi_size = window_, out.knot_nm = grid.knot_nm();
        for (const BeadCandidate& bead : candidates_)
            out.beads.push_back({.file = bead.file, .x_px = bead.x_px, .y_px = bead.y_px, .rejected = bead.rejected});
        for (std::size_t b = 0; b < beads_.size(); ++b) {
            PsfBead& bead = out.beads[beads_.candidates[b]];
            const BeadWindow& window = beads_.windows[b];
            bead.x_px = window.left + window_ / 2 + learnt.places[b].x_px;
            bead.y_px = window.top + window_ / 2 + learnt.places[b].y_px;
            bead.z_nm = learnt.places[b].z_nm, bead.photons = learnt.places[b].photons;
            bead.misfit = learnt.misfit[b];
        }
        return out;
    }

    void add_sections(const LearntPsf& learnt, PsfCalibration& out) const {
        for (std::size_t b = 0; b < beads_.size(); ++b)
            out.beads[beads_.candidates[b]].sections =
                cut_sections(beads_.windows[b], learnt.places[b], learnt.background[b], learnt.at(beads_.windows[b]),
                             0.5 * (out.z_min_nm + out.z_max_nm));
    }

    std::span<Movie* const> stacks_;
    const CalibratePsfOptions& options_;
    std::vector<CameraView> views_;
    std::vector<Projection> projections_;
    std::vector<std::vector<std::int64_t>> slices_;  ///< of each stack, without those that are left out
    std::vector<std::string> slice_warnings_;
    std::vector<BeadCandidate> candidates_;
    int window_ = 0;
    BeadSet beads_;
};

}  // namespace
}  // namespace lens

PsfCalibration calibrate_psf(std::span<Movie* const> stacks, const Camera& camera, const CalibratePsfOptions& options) {
    lens::check_options(options);
    if (stacks.empty()) throw InputError("no stack of beads was given");
    for (Movie* stack : stacks) lens::check_stack(stack->info(), options);
    return lens::PsfCalibrator(stacks, camera, options).run();
}

}  // namespace glint
