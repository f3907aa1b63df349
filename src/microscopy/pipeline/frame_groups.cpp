// Divides groups into blocks, assigns turns to the blocks, computes the light that blocks receive from each other, and
// writes rows.
// SPDX-License-Identifier: MIT
#include "pipeline/frame_groups.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "pipeline/groups.hpp"

namespace glint {
namespace {

// Larger blocks change neither the localizations of crowded movies nor the time of a fit, but a GPU's teams need more
// memory.
constexpr std::size_t windows_of_a_block = 12;

// With fewer other molecules, a fit before the search costs time and changes nothing.
constexpr std::size_t many_others = 8;

/// Bisects along the longer side until each block is small enough.
void divide(const Rois& rois, std::span<std::size_t> windows, std::vector<std::span<std::size_t>>& blocks) {
    if (windows.size() <= windows_of_a_block) return blocks.push_back(windows);
    const auto extent = [&](const std::vector<std::int32_t>& corner) {
        const auto [low, high] = std::minmax_element(
            windows.begin(), windows.end(), [&](std::size_t a, std::size_t b) { return corner[a] < corner[b]; });
        return corner[*high] - corner[*low];
    };
    const auto& along = extent(rois.x_corner) >= extent(rois.y_corner) ? rois.x_corner : rois.y_corner;
    std::stable_sort(windows.begin(), windows.end(), [&](std::size_t a, std::size_t b) { return along[a] < along[b]; });
    const std::size_t half = windows.size() / 2;
    divide(rois, windows.first(half), blocks);
    divide(rois, windows.subspan(half), blocks);
}

}  // namespace

FrameGroups::FrameGroups(const GroupInput& input, std::size_t begin, std::size_t end)
    : input_(input), windows_(end - begin) {
    std::iota(windows_.begin(), windows_.end(), begin);
    // Out of focus, images of an astigmatic lens extend beyond the windows of the fits.
    const std::vector<Windows> groups =
        groups_of(describe(input.fits.model).calibrated ? input.wide : input.rois, windows_);
    blocks_.reserve(groups.size());
    std::vector<Windows> parts;
    for (const Windows group : groups) {
        parts.assign(1, group);
        if (group.size() > windows_of_a_block) {
            // Cuts first where the windows of the fits end, because molecules share the least light there.
            parts.clear();
            for (const Windows close : groups_of(input.rois, group)) divide(input.rois, close, parts);
        }
        const bool stays = is_explained(group);
        for (const Windows part : parts) {
            GroupBlock& block = blocks_.emplace_back();
            block.windows = part;
            if (stays || has_bad_pixels(part)) continue;  // rows of bad pixels report it
            block.work = std::make_unique<Work>();
            block.work->group = molecules_.size(), block.work->is_part = parts.size() > 1;
            block.work->rectangle = rectangle_of(input.wide, part);
            start(part, block.work->fit);
        }
        if (!stays) molecules_.push_back(0);
    }
    if (molecules_.empty()) return;
    clear_cells();
    for (std::size_t b = 0; b < blocks_.size(); ++b) measure(blocks_[b]), note_light(b);
    take_turns();
}

/// Assigns each block the first turn that no block sharing pixels with it has. Two blocks that search the same pixels
/// simultaneously would both find the same molecule.
void FrameGroups::take_turns() {
    const auto share = [&](const GroupBlock& a, const GroupBlock& b) {
        const Rectangle &p = a.work->rectangle, &q = b.work->rectangle;
        if (p.left >= q.left + q.width || q.left >= p.left + p.width || p.top >= q.top + q.height ||
            q.top >= p.top + p.height)
            return false;
        const Rois& rois = input_.wide;
        for (const std::size_t k : a.windows)
            for (const std::size_t o : b.windows)
                if (std::abs(rois.x_corner[k] - rois.x_corner[o]) < rois.size &&
                    std::abs(rois.y_corner[k] - rois.y_corner[o]) < rois.size)
                    return true;
        return false;
    };
    int widest = 0;
    std::vector<std::pair<int, std::size_t>> by_left;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        if (!blocks_[b].work) continue;
        const Rectangle& rectangle = blocks_[b].work->rectangle;
        by_left.emplace_back(rectangle.left, b), widest = std::max(widest, rectangle.width);
    }
    std::sort(by_left.begin(), by_left.end());
    std::vector<char> taken;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        if (!blocks_[b].work) continue;
        Work& work = *blocks_[b].work;
        taken.assign(std::size_t(turns_) + 1, 0);
        auto other =
            std::lower_bound(by_left.begin(), by_left.end(), std::pair(work.rectangle.left - widest, std::size_t(0)));
        for (; other != by_left.end() && other->first < work.rectangle.left + work.rectangle.width; ++other)
            if (const GroupBlock& o = blocks_[other->second]; other->second < b && share(blocks_[b], o))
                taken[std::size_t(o.work->turn)] = 1;
        work.turn = int(std::find(taken.begin(), taken.end(), 0) - taken.begin());
        turns_ = std::max(turns_, work.turn + 1);
    }
}

/// First pass: all blocks. Second: blocks that were fitted without a search. Later: blocks that receive light of other
/// fitted blocks.
bool FrameGroups::has_turn(const Work& work, int pass) { return pass == 0 || (pass == 1 ? work.is_late : work.again); }

bool FrameGroups::searches(const Work& work, int pass) { return pass > 0 || !work.is_late; }

/// Calls act(b) for the blocks of a turn. Stores the blocks for which it returns true in at_work_.
template <class Act>
void FrameGroups::for_turn(int pass, int turn, const Act& act) {
    at_work_.clear();
    for (std::size_t b = 0; b < blocks_.size() && turn < turns_; ++b) {
        const Work* work = blocks_[b].work.get();
        if (work && work->turn == turn && has_turn(*work, pass) && act(b)) at_work_.push_back(b);
    }
}

/// Called only when the block's turn has come, so that its pixels are still in the caches during the fit.
void FrameGroups::cut(std::size_t b) {
    const GroupBlock& block = blocks_[b];
    JointPixels& pixels = block.work->pixels;
    pixels = joint_pixels(input_.wide, block.windows);
    // Beyond the windows of the fits, the frame's other molecules are not settled.
    search_in(input_.rois, block.windows, pixels);
    input_.fitter.add_light(light_of_others(b), pixels);
}

/// Updates the known light of a block; returns true if the change matters.
bool FrameGroups::cut_again(std::size_t b) {
    JointPixels& pixels = blocks_[b].work->pixels;
    const std::span<const float> known = pixels[JointPlane::known];
    known_before_.assign(known.begin(), known.end());
    pixels.clear_known();
    input_.fitter.add_light(light_of_others(b), pixels);
    return known_matters(pixels, known_before_);
}

void FrameGroups::find(int pass, int turn, const std::function<void()>& look) {
    for_turn(pass, turn, [&](std::size_t b) {
        if (pass == 0) return cut(b), true;
        return cut_again(b) || pass == 1;
    });
    for (const std::size_t b : at_work_) {
        look();
        Work& work = *blocks_[b].work;
        input_.fitter.run(work.pixels, searches(work, pass), work.fit);
    }
}

void FrameGroups::collect(int pass, int turn, std::vector<JointCut>& cuts) {
    for_turn(pass, turn, [&](std::size_t b) {
        Work& work = *blocks_[b].work;
        work.earlier = std::move(work.light);
        work.light = light_of_others(b);
        const bool again = pass >= 2;  // only if the change of the light matters
        if (again && work.light == work.earlier) return false;
        if (!again) work.earlier.clear();
        cuts.push_back({&input_.wide, &input_.rois, blocks_[b].windows, work.rectangle, work.light, work.earlier, again,
                        searches(work, pass), &work.fit});
        return true;
    });
}

void FrameGroups::settle(int pass) {
    for (const std::size_t b : at_work_) {
        GroupBlock& block = blocks_[b];
        Work& work = *block.work;
        if (pass == 0 && !work.again && is_alone(block.windows) && work.fit.emitters.size() <= 1 &&
            !work.fit.tilted()) {
            block.work.reset();  // no other molecule: keeps its first fit
            continue;
        }
        if (!work.again) work.pixels = {}, work.light = {};
        leave_to_others(b, pass);
        measure(block), note_light(b);
    }
}

/// Removes molecules beyond the block's windows that belong to another block, because both blocks would count their
/// light:
/// - molecules in the windows of a block whose turn is still to come,
/// - molecules within two widths of a molecule of another block.
void FrameGroups::leave_to_others(std::size_t b, int pass) {
    JointFit& fit = blocks_[b].work->fit;
    std::size_t kept = 0;
    for (std::size_t e = 0; e < fit.emitters.size(); ++e) {
        if (is_anothers(b, fit.emitters[e], pass)) continue;
        fit.emitters[kept] = fit.emitters[e];
        fit.at_bound[kept] = fit.at_bound[e], fit.settled[kept] = fit.settled[e];
        ++kept;
    }
    fit.emitters.resize(kept), fit.at_bound.resize(kept), fit.settled.resize(kept);
}

bool FrameGroups::is_anothers(std::size_t b, const Emitter& emitter, int pass) {
    const double x = emitter.theta[0], y = emitter.theta[1];
    const GroupBlock& block = blocks_[b];
    if (is_within(block, x, y)) return false;
    const PsfWidths w = input_.psf.widths(emitter.theta.data() + 4);
    const double close_px = 2 * std::max(w.x_px, w.y_px);
    const auto has_it = [&](std::uint32_t o) {
        const GroupBlock& other = blocks_[o];
        if (o == b) return false;
        // In the last pass, the block that now contains the molecule keeps it.
        const bool has_turn_to_come =
            pass + 1 < passes && other.work &&
            (other.work->again || (other.work->turn > block.work->turn && has_turn(*other.work, pass)));
        if (has_turn_to_come && is_within(other, x, y)) return true;
        const std::vector<Emitter>& its = molecules_of(other);
        return std::any_of(its.begin(), its.end(),
                           [&](const Emitter& of) { return std::hypot(of.theta[0] - x, of.theta[1] - y) < close_px; });
    };
    const auto& others = blocks_near(x, x, y, y);
    return std::any_of(others.begin(), others.end(), has_it);
}

/// Returns true if a position of the frame is in one of the block's windows.
bool FrameGroups::is_within(const GroupBlock& block, double x, double y) const {
    const Rois& rois = input_.rois;
    const double half = rois.size / 2.0, to_middle = (rois.size - 1) / 2.0;
    return std::any_of(block.windows.begin(), block.windows.end(), [&](std::size_t k) {
        return std::abs(x - rois.x_corner[k] - to_middle) <= half && std::abs(y - rois.y_corner[k] - to_middle) <= half;
    });
}

void FrameGroups::write(Fits& out, std::vector<std::uint32_t>& group_sizes) {
    std::vector<Row> rows;
    rows.reserve(2 * windows_.size());
    for (const GroupBlock& block : blocks_)
        if (block.work) {
            const auto& emitters = block.work->fit.emitters;
            molecules_[block.work->group] += std::uint32_t(emitters.size());
            for (std::size_t e = 0; e < emitters.size(); ++e)
                rows.push_back({window_index(emitters[e], block.windows), e, block.work.get()});
        } else {
            for (const std::size_t k : block.windows) rows.push_back({k, 0, nullptr});
        }
    std::sort(rows.begin(), rows.end(),
              [](const Row& a, const Row& b) { return std::pair(a.window, a.number) < std::pair(b.window, b.number); });
    for (const Row& row : rows) write(row, out, group_sizes);
}

/// Returns true if the group is one window with one molecule, whose fit converged.
bool FrameGroups::is_alone(Windows group) const {
    return group.size() == 1 && input_.fits.status[group.front()] == FitStatus::converged;
}

bool FrameGroups::is_explained(Windows group) const {
    return is_alone(group) && input_.fits.p_value[group.front()] >= good_p_value;
}

bool FrameGroups::has_bad_pixels(Windows group) const {
    return std::any_of(group.begin(), group.end(),
                       [&](std::size_t k) { return input_.fits.status[k] == FitStatus::bad_input; });
}

/// Starts a fit with the molecules of the single fits.
void FrameGroups::start(Windows windows, JointFit& fit) const {
    const Fits& fits = input_.fits;
    double bg = 0;
    fit.emitters.clear();
    for (const std::size_t k : windows) {
        if (!has_position(fits.status[k])) continue;
        Emitter& emitter = fit.emitters.emplace_back();
        for (int p = 0; p < 4 + input_.shapes; ++p) emitter.theta[std::size_t(p)] = fits.theta[std::size_t(p)][k];
        emitter.theta[0] += input_.rois.x_corner[k], emitter.theta[1] += input_.rois.y_corner[k];
        emitter.theta[2] = std::max(emitter.theta[2], min_start_photons);
        bg += fits.theta[3][k];
    }
    if (!fit.emitters.empty()) fit.bg = bg / double(fit.emitters.size());
}

/// Returns the molecules of a block. For a block that keeps its fits, the next call overwrites them.
const std::vector<Emitter>& FrameGroups::molecules_of(const GroupBlock& block) {
    if (block.work) return block.work->fit.emitters;
    start(block.windows, stays_);
    return stays_.emitters;
}

void FrameGroups::measure(GroupBlock& block) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    block.left = block.top = infinity, block.right = block.bottom = -infinity;
    for (const Emitter& emitter : molecules_of(block)) {
        const double reach = light_reach_px(input_.psf, emitter);
        block.left = std::min(block.left, emitter.theta[0] - reach);
        block.right = std::max(block.right, emitter.theta[0] + reach);
        block.top = std::min(block.top, emitter.theta[1] - reach);
        block.bottom = std::max(block.bottom, emitter.theta[1] + reach);
    }
}

/// Creates empty cells that cover the frame's windows.
void FrameGroups::clear_cells() {
    const auto most = [&](const std::vector<std::int32_t>& corner) {
        return corner[*std::max_element(windows_.begin(), windows_.end(),
                                        [&](std::size_t a, std::size_t b) { return corner[a] < corner[b]; })];
    };
    columns_ = most(input_.rois.x_corner) / cell_px + 1, rows_ = most(input_.rois.y_corner) / cell_px + 1;
    cells_.assign(std::size_t(columns_) * std::size_t(rows_), none);
    lit_.reserve(4 * blocks_.size());
}

/// Calls act(cell) for the cells that a box touches. Positions beyond all cells count to the nearest.
template <class Act>
void FrameGroups::for_cells(double left, double right, double top, double bottom, const Act& act) {
    const auto of = [](double px, int count) { return std::clamp(int(px) / cell_px, 0, count - 1); };
    for (int row = of(top, rows_); row <= of(bottom, rows_); ++row)
        for (int column = of(left, columns_); column <= of(right, columns_); ++column)
            act(cells_[std::size_t(row) * std::size_t(columns_) + std::size_t(column)]);
}

void FrameGroups::note_light(std::size_t b) {
    const GroupBlock& block = blocks_[b];
    if (block.right < block.left) return;  // no molecules
    for_cells(block.left, block.right, block.top, block.bottom, [&](std::uint32_t& first) {
        lit_.push_back({std::uint32_t(b), first});
        first = std::uint32_t(lit_.size() - 1);
    });
}

/// Returns the blocks whose light reaches the box, in increasing order.
const std::vector<std::uint32_t>& FrameGroups::blocks_near(double left, double right, double top, double bottom) {
    near_.clear();
    ++look_;
    for_cells(left, right, top, bottom, [&](std::uint32_t first) {
        for (std::uint32_t k = first; k != none; k = lit_[k].next) {
            GroupBlock& block = blocks_[lit_[k].block];
            if (std::exchange(block.seen, look_) == look_) continue;
            if (block.right < left || block.left > right || block.bottom < top || block.top > bottom) continue;
            near_.push_back(lit_[k].block);
        }
    });
    std::sort(near_.begin(), near_.end());
    return near_;
}

/// Returns the light of all other molecules of the frame that reaches a block. Also records whether some of that light
/// comes from other blocks that are fitted.
std::vector<JointLight> FrameGroups::light_of_others(std::size_t b) {
    constexpr double rounding_px = 1;
    Work& work = *blocks_[b].work;
    const Rectangle& to = work.rectangle;
    const double left = to.left, right = to.left + to.width, top = to.top, bottom = to.top + to.height;
    std::vector<JointLight> light;
    std::size_t unsettled = 0;
    work.again = false;
    for (const std::size_t other : blocks_near(left, right, top, bottom)) {
        if (other == b) continue;
        const GroupBlock& from = blocks_[other];
        const std::size_t before = light.size();
        for (const Emitter& emitter : molecules_of(from)) {
            const double reach = light_reach_px(input_.psf, emitter) + rounding_px;
            if (emitter.theta[0] > left - reach && emitter.theta[0] < right + reach && emitter.theta[1] > top - reach &&
                emitter.theta[1] < bottom + reach)
                append_light({&emitter, 1}, to, light);
        }
        if (from.work) work.again = true, unsettled += light.size() - before;
    }
    work.is_late = work.again && (work.is_part || unsettled >= many_others);
    return light;
}

/// Returns the window whose centre is nearest to the molecule.
std::size_t FrameGroups::window_index(const Emitter& emitter, Windows windows) const {
    const Rois& rois = input_.rois;
    const auto apart = [&](std::size_t k) {
        const double half = (rois.size - 1) / 2.0, x = rois.x_corner[k] + half - emitter.theta[0],
                     y = rois.y_corner[k] + half - emitter.theta[1];
        return x * x + y * y;
    };
    return *std::min_element(windows.begin(), windows.end(),
                             [&](std::size_t a, std::size_t c) { return apart(a) < apart(c); });
}

void FrameGroups::write(const Row& row, Fits& out, std::vector<std::uint32_t>& group_sizes) const {
    const auto add = [&](const auto& theta, const auto& crlb, double llr, double p, int iterations, FitStatus status,
                         std::uint32_t group) {
        for (int k = 0; k < 4 + input_.shapes; ++k) {
            out.theta[std::size_t(k)].push_back(float(theta(k)));
            out.crlb[std::size_t(k)].push_back(float(crlb(k)));
        }
        out.log_likelihood_ratio.push_back(float(llr)), out.p_value.push_back(float(p));
        out.iterations.push_back(std::uint8_t(std::min(iterations, 255))), out.status.push_back(status);
        out.window.push_back(std::uint32_t(row.window)), group_sizes.push_back(group);
    };
    if (!row.work) {
        const Fits& fits = input_.fits;
        const std::size_t k = row.window;
        return add([&](int p) { return fits.theta[std::size_t(p)][k]; },
                   [&](int p) { return fits.crlb[std::size_t(p)][k]; }, fits.log_likelihood_ratio[k], fits.p_value[k],
                   fits.iterations[k], fits.status[k], 0);
    }
    const JointFit& of = row.work->fit;
    Emitter emitter = of.emitters[row.number];
    emitter.theta[0] -= input_.rois.x_corner[row.window], emitter.theta[1] -= input_.rois.y_corner[row.window];
    const FitStatus status = status_of(of, row.number, input_.rois.size);
    const bool lost = status == FitStatus::singular;
    add([&](int k) { return emitter.theta[std::size_t(k)]; },
        [&](int k) { return lost ? 0.0 : emitter.crlb[std::size_t(k)]; }, -of.half_deviance, of.p_value, of.iterations,
        status, molecules_[row.work->group]);
}

}  // namespace glint
