// Blocks and their turns, the light that they see of each other, and their rows.
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

// With more, neither the localizations of crowded movies nor the time of a fit change; a GPU's teams need more memory.
constexpr std::size_t windows_of_a_block = 12;

// With fewer, a fit before the search takes time and changes nothing.
constexpr std::size_t many_others = 8;

using Windows = std::vector<std::size_t>;

/// Bisects along the longer side until each block is small enough.
void divide(const Rois& rois, Windows windows, std::vector<Windows>& blocks) {
    if (windows.size() <= windows_of_a_block) return blocks.push_back(std::move(windows));
    const auto extent = [&](const std::vector<std::int32_t>& corner) {
        const auto [low, high] = std::minmax_element(
            windows.begin(), windows.end(), [&](std::size_t a, std::size_t b) { return corner[a] < corner[b]; });
        return corner[*high] - corner[*low];
    };
    const auto& along = extent(rois.x_corner) >= extent(rois.y_corner) ? rois.x_corner : rois.y_corner;
    std::stable_sort(windows.begin(), windows.end(), [&](std::size_t a, std::size_t b) { return along[a] < along[b]; });
    const auto half = windows.begin() + std::ptrdiff_t(windows.size() / 2);
    divide(rois, {windows.begin(), half}, blocks);
    divide(rois, {half, windows.end()}, blocks);
}

}  // namespace

FrameGroups::FrameGroups(const GroupInput& input, std::size_t begin, std::size_t end)
    : input_(input), begin_(begin), end_(end), found_(end - begin) {
    // Out of focus, images of an astigmatic lens reach beyond the windows of the fits. A group that is too large for one block is
    // cut first where these end: there its molecules share least light.
    const std::vector<Windows> close = groups_of(input.rois, begin, end);
    const std::vector<Windows> groups =
        describe(input.fits.model).calibrated ? groups_of(input.wide, begin, end) : close;
    std::vector<std::size_t> group_of(end - begin);
    for (std::size_t g = 0; g < groups.size(); ++g)
        for (const std::size_t k : groups[g]) group_of[k - begin] = g;
    std::vector<std::vector<Windows>> parts(groups.size());
    for (const Windows& part : close) parts[group_of[part.front() - begin]].push_back(part);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const bool stays = is_explained(groups[g]);
        if (groups[g].size() <= windows_of_a_block) parts[g] = {groups[g]};
        std::vector<Windows> divided;
        for (Windows& part : parts[g]) divide(input.rois, std::move(part), divided);
        const std::size_t first = blocks_.size();
        for (Windows& windows : divided) {
            blocks_.push_back(block_of(std::move(windows)));
            blocks_.back().is_part = divided.size() > 1;
        }
        if (stays) continue;
        for (std::size_t b = first; b < blocks_.size(); ++b) {
            if (has_bad_pixels(blocks_[b].windows)) continue;  // its rows say so
            blocks_[b].group = molecules_.size();
            blocks_[b].rectangle = rectangle_of(input.wide, blocks_[b].windows);
        }
        molecules_.push_back(0);
    }
    if (molecules_.empty()) return;
    clear_cells();
    for (std::size_t b = 0; b < blocks_.size(); ++b) note_light(b);
    take_turns();
}

/// Each block has the first turn that none of those has with whom it shares pixels: two that look for molecules in the same
/// place would both find one.
void FrameGroups::take_turns() {
    const auto share = [&](const Block& a, const Block& b) {
        const Rectangle &p = a.rectangle, &q = b.rectangle;
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
        if (blocks_[b].group == SIZE_MAX) continue;
        by_left.emplace_back(blocks_[b].rectangle.left, b), widest = std::max(widest, blocks_[b].rectangle.width);
    }
    std::sort(by_left.begin(), by_left.end());
    std::vector<char> taken;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        Block& block = blocks_[b];
        if (block.group == SIZE_MAX) continue;
        taken.assign(std::size_t(turns_) + 1, 0);
        auto other =
            std::lower_bound(by_left.begin(), by_left.end(), std::pair(block.rectangle.left - widest, std::size_t(0)));
        for (; other != by_left.end() && other->first < block.rectangle.left + block.rectangle.width; ++other)
            if (const Block& o = blocks_[other->second]; other->second < b && share(block, o))
                taken[std::size_t(o.turn)] = 1;
        block.turn = int(std::find(taken.begin(), taken.end(), 0) - taken.begin());
        turns_ = std::max(turns_, block.turn + 1);
    }
}

/// In the first pass all; then what that has fitted without a search; then what sees the light of others.
bool FrameGroups::has_turn(const Block& block, int pass) {
    return block.group != SIZE_MAX && (pass == 0 || (pass == 1 ? block.is_late : block.again));
}

bool FrameGroups::searches(const Block& block, int pass) { return pass > 0 || !block.is_late; }

/// Calls act(b) for the blocks of that turn; those for which it is true are at work.
template <class Act>
void FrameGroups::for_turn(int pass, int turn, const Act& act) {
    at_work_.clear(), alone_.clear();
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Block& block = blocks_[b];
        if (block.turn != turn || !has_turn(block, pass) || !act(b)) continue;
        at_work_.push_back(b);
        alone_.push_back(pass == 0 && is_alone(block.windows) ? block.fit : JointFit{});
    }
}

/// Only when its turn has come, so that the pixels are in the caches when they are fitted.
void FrameGroups::cut(std::size_t b) {
    Block& block = blocks_[b];
    block.pixels = joint_pixels(input_.wide, block.windows);
    // Beyond the windows of the fits, the others of the frame are not settled.
    search_in(input_.rois, block.windows, block.pixels);
    input_.fitter.add_light(light_of_others(b), block.pixels);
}

/// Whether another light of the others matters.
bool FrameGroups::cut_again(std::size_t b) {
    JointPixels& pixels = blocks_[b].pixels;
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
        input_.fitter.run(blocks_[b].pixels, searches(blocks_[b], pass), blocks_[b].fit);
    }
}

void FrameGroups::collect(int pass, int turn, std::vector<JointCut>& cuts) {
    for_turn(pass, turn, [&](std::size_t b) {
        Block& block = blocks_[b];
        block.earlier = std::move(block.light);
        block.light = light_of_others(b);
        const bool again = pass == 2;  // only where the change of the light matters
        if (again && block.light == block.earlier) return false;
        if (!again) block.earlier.clear();
        cuts.push_back({&input_.wide, &input_.rois, block.windows, block.rectangle, block.light, block.earlier, again,
                        searches(block, pass), &block.fit});
        return true;
    });
}

void FrameGroups::settle(int pass) {
    for (std::size_t k = 0; k < at_work_.size(); ++k) {
        Block& block = blocks_[at_work_[k]];
        if (pass == 0 && !block.again && is_alone(block.windows) && block.fit.emitters.size() <= 1 &&
            !block.fit.tilted())
            block.fit = alone_[k], block.group = SIZE_MAX;  // no other molecule: its fit stays as it was
        if (!block.again) block.pixels = {}, block.light = {};
        leave_to_others(at_work_[k], pass);
        measure(block), note_light(at_work_[k]);
    }
}

/// Leaves out the molecules beyond the block's windows that are another's: in its windows, if it has a turn to come, or
/// within two widths of one that it has. Both blocks see their light, and would have it twice.
void FrameGroups::leave_to_others(std::size_t b, int pass) {
    if (blocks_[b].group == SIZE_MAX) return;
    JointFit& fit = blocks_[b].fit;
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
    const Block& block = blocks_[b];
    if (is_within(block, x, y)) return false;
    const PsfWidths w = input_.psf.widths(emitter.theta.data() + 4);
    const double close_px = 2 * std::max(w.x_px, w.y_px);
    const auto has_it = [&](std::uint32_t o) {
        const Block& other = blocks_[o];
        if (o == b) return false;
        // In the last pass, the one that has it now keeps it.
        const bool has_turn_to_come =
            pass + 1 < passes && (other.again || (other.turn > block.turn && has_turn(other, pass)));
        if (has_turn_to_come && is_within(other, x, y)) return true;
        const auto& its = other.fit.emitters;
        return std::any_of(its.begin(), its.end(),
                           [&](const Emitter& of) { return std::hypot(of.theta[0] - x, of.theta[1] - y) < close_px; });
    };
    const auto& others = blocks_near(x, x, y, y);
    return std::any_of(others.begin(), others.end(), has_it);
}

/// Whether a place of the frame is in one of the block's windows.
bool FrameGroups::is_within(const Block& block, double x, double y) const {
    const Rois& rois = input_.rois;
    const double half = rois.size / 2.0, to_middle = (rois.size - 1) / 2.0;
    return std::any_of(block.windows.begin(), block.windows.end(), [&](std::size_t k) {
        return std::abs(x - rois.x_corner[k] - to_middle) <= half && std::abs(y - rois.y_corner[k] - to_middle) <= half;
    });
}

void FrameGroups::write(Fits& out, std::vector<std::uint32_t>& group_sizes) {
    for (const Block& block : blocks_)
        if (block.group != SIZE_MAX) molecules_[block.group] += std::uint32_t(block.fit.emitters.size());
    for (std::size_t b = 0; b < blocks_.size(); ++b)
        if (blocks_[b].group != SIZE_MAX) keep(b);
    for (std::size_t k = begin_; k < end_; ++k) write(k, out, group_sizes);
}

/// Whether the group is a window with one molecule, whose fit converged.
bool FrameGroups::is_alone(const Windows& group) const {
    if (group.size() > 1) return false;
    const auto& rows = input_.rows_of[group.front()];
    return rows.size() == 1 && input_.fits.status[rows.front()] == FitStatus::converged;
}

bool FrameGroups::is_explained(const Windows& group) const {
    return is_alone(group) && input_.fits.p_value[input_.rows_of[group.front()].front()] >= good_p_value;
}

bool FrameGroups::has_bad_pixels(const Windows& group) const {
    return std::any_of(group.begin(), group.end(), [&](std::size_t k) {
        const auto& rows = input_.rows_of[k];
        return std::any_of(rows.begin(), rows.end(),
                           [&](std::size_t row) { return input_.fits.status[row] == FitStatus::bad_input; });
    });
}

/// With the molecules as they were fitted alone.
FrameGroups::Block FrameGroups::block_of(Windows windows) const {
    const Fits& fits = input_.fits;
    Block block;
    double bg = 0;
    for (const std::size_t k : windows)
        for (const std::size_t row : input_.rows_of[k]) {
            if (!has_position(fits.status[row])) continue;
            Emitter emitter;
            for (int p = 0; p < 4 + input_.shapes; ++p) emitter.theta[std::size_t(p)] = fits.theta[std::size_t(p)][row];
            emitter.theta[0] += input_.rois.x_corner[k], emitter.theta[1] += input_.rois.y_corner[k];
            emitter.theta[2] = std::max(emitter.theta[2], least_start_photons);
            block.fit.emitters.push_back(emitter);
            bg += fits.theta[3][row];
        }
    if (!block.fit.emitters.empty()) block.fit.bg = bg / double(block.fit.emitters.size());
    block.windows = std::move(windows);
    measure(block);
    return block;
}

void FrameGroups::measure(Block& block) const {
    constexpr double none = std::numeric_limits<double>::infinity();
    block.left = block.top = none, block.right = block.bottom = -none;
    block.reaches.clear();
    for (const Emitter& emitter : block.fit.emitters) {
        const double reach = light_reach_px(input_.psf, emitter);
        block.reaches.push_back(reach);
        block.left = std::min(block.left, emitter.theta[0] - reach);
        block.right = std::max(block.right, emitter.theta[0] + reach);
        block.top = std::min(block.top, emitter.theta[1] - reach);
        block.bottom = std::max(block.bottom, emitter.theta[1] + reach);
    }
}

/// Makes empty cells, which cover the frame's windows.
void FrameGroups::clear_cells() {
    const auto most = [&](const std::vector<std::int32_t>& corner) {
        return *std::max_element(corner.begin() + std::ptrdiff_t(begin_), corner.begin() + std::ptrdiff_t(end_));
    };
    columns_ = most(input_.rois.x_corner) / cell_px + 1, rows_ = most(input_.rois.y_corner) / cell_px + 1;
    cells_.assign(std::size_t(columns_) * std::size_t(rows_), {});
}

/// Calls act(cell) for those that a box touches. What lies beyond all cells counts to the nearest.
template <class Act>
void FrameGroups::for_cells(double left, double right, double top, double bottom, const Act& act) {
    const auto of = [](double px, int count) { return std::clamp(int(px) / cell_px, 0, count - 1); };
    for (int row = of(top, rows_); row <= of(bottom, rows_); ++row)
        for (int column = of(left, columns_); column <= of(right, columns_); ++column)
            act(cells_[std::size_t(row) * std::size_t(columns_) + std::size_t(column)]);
}

void FrameGroups::note_light(std::size_t b) {
    const Block& block = blocks_[b];
    if (block.fit.emitters.empty()) return;
    for_cells(block.left, block.right, block.top, block.bottom,
              [&](std::vector<std::uint32_t>& cell) { cell.push_back(std::uint32_t(b)); });
}

/// Those whose light reaches that box, in increasing order.
const std::vector<std::uint32_t>& FrameGroups::blocks_near(double left, double right, double top, double bottom) {
    near_.clear();
    ++look_;
    for_cells(left, right, top, bottom, [&](const std::vector<std::uint32_t>& cell) {
        for (const std::uint32_t b : cell) {
            Block& block = blocks_[b];
            if (std::exchange(block.seen, look_) == look_) continue;
            if (block.right < left || block.left > right || block.bottom < top || block.top > bottom) continue;
            near_.push_back(b);
        }
    });
    std::sort(near_.begin(), near_.end());
    return near_;
}

/// That of all other molecules of the frame that reaches a block; notes whether some of these are of other blocks that are
/// fitted.
std::vector<JointLight> FrameGroups::light_of_others(std::size_t b) {
    constexpr double rounding_px = 1;
    const Rectangle& to = blocks_[b].rectangle;
    const double left = to.left, right = to.left + to.width, top = to.top, bottom = to.top + to.height;
    std::vector<JointLight> light;
    std::size_t unsettled = 0;
    blocks_[b].again = false;
    for (const std::size_t other : blocks_near(left, right, top, bottom)) {
        const Block& from = blocks_[other];
        if (other == b) continue;
        blocks_[b].again |= from.group != SIZE_MAX;
        const std::size_t before = light.size();
        for (std::size_t e = 0; e < from.fit.emitters.size(); ++e) {
            const Emitter& emitter = from.fit.emitters[e];
            const double reach = from.reaches[e] + rounding_px;
            if (emitter.theta[0] > left - reach && emitter.theta[0] < right + reach && emitter.theta[1] > top - reach &&
                emitter.theta[1] < bottom + reach)
                append_light({&emitter, 1}, to, light);
        }
        if (from.group != SIZE_MAX) unsettled += light.size() - before;
    }
    blocks_[b].is_late = blocks_[b].again && (blocks_[b].is_part || unsettled >= many_others);
    return light;
}

/// A molecule belongs to the window whose centre is nearest.
void FrameGroups::keep(std::size_t b) {
    const Block& block = blocks_[b];
    const Rois& rois = input_.rois;
    for (const std::size_t k : block.windows) found_[k - begin_].by_group = true;
    for (std::size_t e = 0; e < block.fit.emitters.size(); ++e) {
        Emitter emitter = block.fit.emitters[e];
        const auto apart = [&](std::size_t k) {
            const double half = (rois.size - 1) / 2.0, x = rois.x_corner[k] + half - emitter.theta[0],
                         y = rois.y_corner[k] + half - emitter.theta[1];
            return x * x + y * y;
        };
        const std::size_t window = *std::min_element(block.windows.begin(), block.windows.end(),
                                                     [&](std::size_t a, std::size_t c) { return apart(a) < apart(c); });
        emitter.theta[0] -= rois.x_corner[window], emitter.theta[1] -= rois.y_corner[window];
        found_[window - begin_].rows.push_back({emitter, b, e});
    }
}

void FrameGroups::write(std::size_t window, Fits& out, std::vector<std::uint32_t>& group_sizes) const {
    const Fits& fits = input_.fits;
    const Found& found = found_[window - begin_];
    const auto add = [&](const auto& theta, const auto& crlb, double llr, double p, int iterations, FitStatus status,
                         std::uint32_t group) {
        for (int k = 0; k < 4 + input_.shapes; ++k) {
            out.theta[std::size_t(k)].push_back(float(theta(k)));
            out.crlb[std::size_t(k)].push_back(float(crlb(k)));
        }
        out.log_likelihood_ratio.push_back(float(llr)), out.p_value.push_back(float(p));
        out.iterations.push_back(std::uint8_t(std::min(iterations, 255))), out.status.push_back(status);
        out.window.push_back(std::uint32_t(window)), group_sizes.push_back(group);
    };
    if (!found.by_group)
        for (const std::size_t row : input_.rows_of[window])
            add([&](int k) { return fits.theta[std::size_t(k)][row]; },
                [&](int k) { return fits.crlb[std::size_t(k)][row]; }, fits.log_likelihood_ratio[row],
                fits.p_value[row], fits.iterations[row], fits.status[row], 0);
    for (const auto& [emitter, b, e] : found.rows) {
        const JointFit& of = blocks_[b].fit;
        const FitStatus status = status_of(of, e, input_.rois.size);
        const bool lost = status == FitStatus::singular;
        add([&](int k) { return emitter.theta[std::size_t(k)]; },
            [&](int k) { return lost ? 0.0 : emitter.crlb[std::size_t(k)]; }, -of.half_deviance, of.p_value,
            of.iterations, status, molecules_[blocks_[b].group]);
    }
}

}  // namespace glint
