// Groups of windows: who shares pixels, the pixels of each group, and large groups in blocks.
//
// A group with more windows than a block holds is bisected until its blocks do. Blocks of a frame are fitted one after the
// other, with all other molecules as a known signal, and those beside other blocks a second time: all are found by then.
// SPDX-License-Identifier: MIT
#include "pipeline/groups.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "glint/error.hpp"
#include "pipeline/spot_grid.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

constexpr std::size_t windows_of_a_block = 24;

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

bool usable(FitStatus status) { return status != FitStatus::singular && status != FitStatus::bad_input; }

/// A block of a group, and what was found there; or a lone molecule, which stays as it is.
struct Block {
    Windows windows;
    std::size_t group = SIZE_MAX;  // none: it stays
    JointPixels pixels;
    std::vector<float> noise;  // JointPixels::known without molecules
    JointFit fit;
    double left = 0, right = 0, top = 0, bottom = 0;  // where its molecules' light reaches
};

class GroupFits {
  public:
    GroupFits(const Rois& rois, const Rois& wide, const Psf& psf, double pixel_size_um, const JointOptions& options,
              const StopFlag* stop, const Fits& fits)
        : rois_(rois),
          wide_(wide),
          psf_(psf, pixel_size_um),
          shapes_(parameter_count(psf.model) - 4),
          fitter_(psf, pixel_size_um, options),
          stop_(stop),
          fits_(fits),
          rows_of_(rois.frame.size()) {
        for (std::size_t row = 0; row < fits.count(); ++row) rows_of_[fits.window_of(row)].push_back(row);
        out_.resize(fits.model, 0);
    }

    Fits run(std::vector<std::uint32_t>& group_sizes) {
        const std::size_t windows = rois_.frame.size();
        for (std::size_t begin = 0, end; begin < windows; begin = end) {
            for (end = begin + 1; end < windows && rois_.frame[end] == rois_.frame[begin];) ++end;
            fit_frame(begin, end);
            for (std::size_t k = begin; k < end; ++k) write(k, group_sizes);
        }
        return std::move(out_);
    }

  private:
    struct Found {
        bool by_group = false;
        struct Row {
            Emitter emitter;
            std::size_t block, number;  // of its fit, and in it
        };
        std::vector<Row> rows;
    };

    void fit_frame(std::size_t begin, std::size_t end) {
        found_.assign(end - begin, {});
        first_ = begin;
        blocks_.clear(), molecules_.clear();
        bool any = false;
        for (Windows& group : groups_of(rois_, begin, end)) {
            const bool stays = is_explained(group);
            std::vector<Windows> divided;
            divide(rois_, std::move(group), divided);
            for (Windows& windows : divided) blocks_.push_back(block_of(std::move(windows)));
            if (stays) continue;
            any = true;
            for (std::size_t b = blocks_.size() - divided.size(); b < blocks_.size(); ++b) {
                if (has_bad_pixels(blocks_[b].windows)) continue;  // its rows say so
                blocks_[b].group = molecules_.size();
                blocks_[b].pixels = joint_pixels(wide_, blocks_[b].windows);
                // Beyond the windows of the fits, the others of the frame are not settled.
                search_in(rois_, blocks_[b].windows, blocks_[b].pixels);
                blocks_[b].noise = blocks_[b].pixels.known;
            }
            molecules_.push_back(0);
        }
        if (!any) return;
        std::vector<char> again(blocks_.size(), 0);
        clear_cells(begin, end);
        for (std::size_t b = 0; b < blocks_.size(); ++b) note_light(b);
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            Block& block = blocks_[b];
            if (block.group == SIZE_MAX) continue;
            give_up_if_stopped();
            again[b] = add_known(b);
            const JointFit alone = block.fit;
            fitter_.find(block.pixels, block.fit);
            if (!again[b] && is_alone(block.windows) && block.fit.emitters.size() <= 1)
                block.fit = alone, block.group = SIZE_MAX;  // no other molecule: its fit stays as it was
            measure(block), note_light(b);
        }
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            if (!again[b]) continue;
            const std::vector<float> before = blocks_[b].pixels.known;
            add_known(b);
            if (!matters(blocks_[b].pixels, before)) continue;
            give_up_if_stopped();
            fitter_.find(blocks_[b].pixels, blocks_[b].fit);
            measure(blocks_[b]), note_light(b);
        }
        for (const Block& block : blocks_)
            if (block.group != SIZE_MAX) molecules_[block.group] += std::uint32_t(block.fit.emitters.size());
        for (std::size_t b = 0; b < blocks_.size(); ++b)
            if (blocks_[b].group != SIZE_MAX) keep(b);
    }

    /// After a stop, the frames at hand are finished if that is soon done; heaps of molecules with many parameters may take far
    /// longer.
    void give_up_if_stopped() {
        if (!stop_ || !stop_->load()) return;
        const auto now = std::chrono::steady_clock::now();
        if (!stop_seen_) stop_seen_ = now;
        if (now - *stop_seen_ > std::chrono::seconds(1)) throw Cancelled("stopped within a block");
    }

    /// Whether the group is a window with one molecule, whose fit converged.
    bool is_alone(const Windows& group) const {
        if (group.size() > 1) return false;
        const auto& rows = rows_of_[group.front()];
        return rows.size() == 1 && fits_.status[rows.front()] == FitStatus::converged;
    }
    bool is_explained(const Windows& group) const {
        return is_alone(group) && fits_.p_value[rows_of_[group.front()].front()] >= good_p_value;
    }
    bool has_bad_pixels(const Windows& group) const {
        return std::any_of(group.begin(), group.end(), [&](std::size_t k) {
            return std::any_of(rows_of_[k].begin(), rows_of_[k].end(),
                               [&](std::size_t row) { return fits_.status[row] == FitStatus::bad_input; });
        });
    }

    /// With the molecules as they were fitted alone.
    Block block_of(Windows windows) const {
        Block block;
        double bg = 0;
        for (const std::size_t k : windows)
            for (const std::size_t row : rows_of_[k]) {
                if (!usable(fits_.status[row])) continue;
                Emitter emitter;
                for (int p = 0; p < 4 + shapes_; ++p) emitter.theta[std::size_t(p)] = fits_.theta[std::size_t(p)][row];
                emitter.theta[0] += rois_.x_corner[k], emitter.theta[1] += rois_.y_corner[k];
                emitter.theta[2] = std::max(emitter.theta[2], least_start_photons);
                block.fit.emitters.push_back(emitter);
                bg += fits_.theta[3][row];
            }
        if (!block.fit.emitters.empty()) block.fit.bg = bg / double(block.fit.emitters.size());
        block.windows = std::move(windows);
        measure(block);
        return block;
    }

    void measure(Block& block) const {
        constexpr double none = std::numeric_limits<double>::infinity();
        block.left = block.top = none, block.right = block.bottom = -none;
        for (const Emitter& emitter : block.fit.emitters) {
            const double reach = light_reach_px(psf_, emitter);
            block.left = std::min(block.left, emitter.theta[0] - reach);
            block.right = std::max(block.right, emitter.theta[0] + reach);
            block.top = std::min(block.top, emitter.theta[1] - reach);
            block.bottom = std::max(block.bottom, emitter.theta[1] + reach);
        }
    }

    /// Empties the cells, which cover the windows [begin, end).
    void clear_cells(std::size_t begin, std::size_t end) {
        const auto most = [&](const std::vector<std::int32_t>& corner) {
            return *std::max_element(corner.begin() + std::ptrdiff_t(begin), corner.begin() + std::ptrdiff_t(end));
        };
        columns_ = most(rois_.x_corner) / cell_px + 1, rows_ = most(rois_.y_corner) / cell_px + 1;
        const std::size_t count = std::size_t(columns_) * std::size_t(rows_);
        if (cells_.size() < count) cells_.resize(count);
        for (std::size_t k = 0; k < count; ++k) cells_[k].clear();
    }
    /// Calls act(cell) for those that a box touches. What lies beyond all cells counts to the nearest.
    template <class Act>
    void for_cells(double left, double right, double top, double bottom, const Act& act) {
        const auto of = [](double px, int count) { return std::clamp(int(px) / cell_px, 0, count - 1); };
        for (int row = of(top, rows_); row <= of(bottom, rows_); ++row)
            for (int column = of(left, columns_); column <= of(right, columns_); ++column)
                act(cells_[std::size_t(row) * std::size_t(columns_) + std::size_t(column)]);
    }
    void note_light(std::size_t b) {
        const Block& block = blocks_[b];
        if (block.fit.emitters.empty()) return;
        for_cells(block.left, block.right, block.top, block.bottom,
                  [&](std::vector<std::uint32_t>& cell) { cell.push_back(std::uint32_t(b)); });
    }
    /// Those whose light may reach these pixels, in increasing order.
    const std::vector<std::uint32_t>& blocks_near(const JointPixels& to) {
        near_.clear();
        for_cells(to.left, to.left + to.width, to.top, to.top + to.height,
                  [&](const std::vector<std::uint32_t>& cell) { near_.insert(near_.end(), cell.begin(), cell.end()); });
        std::sort(near_.begin(), near_.end());
        near_.erase(std::unique(near_.begin(), near_.end()), near_.end());
        return near_;
    }

    /// Whether the known signal has changed by so much that it could move a parameter by a tenth of its standard error: the
    /// sum of squares of the changes, in standard deviations of the pixels, bounds that of all parameters.
    static bool matters(const JointPixels& pixels, const std::vector<float>& before) {
        float sum = 0;
        for (std::size_t p = 0; p < before.size(); ++p) {
            const float change = pixels.known[p] - before[p];
            sum += change * change / std::max(pixels.data[p], 1.0f);
        }
        return sum > 0.1f * 0.1f;
    }

    /// Sets the known signal of a block: the noise, and the light of all other molecules of the frame. Whether some of
    /// these are still to be fitted.
    bool add_known(std::size_t b) {
        JointPixels& to = blocks_[b].pixels;
        to.known = blocks_[b].noise;
        const auto misses = [&](double left, double right, double top, double bottom) {
            return right < to.left || left > to.left + to.width || bottom < to.top || top > to.top + to.height;
        };
        bool unsettled = false;
        for (const std::size_t other : blocks_near(to)) {
            const Block& from = blocks_[other];
            if (other == b || misses(from.left, from.right, from.top, from.bottom)) continue;
            unsettled |= from.group != SIZE_MAX;
            for (const Emitter& emitter : from.fit.emitters) add_light(psf_, emitter, to);
        }
        return unsettled;
    }

    void keep(std::size_t b) {
        const Block& block = blocks_[b];
        for (const std::size_t k : block.windows) found_[k - first_].by_group = true;
        for (std::size_t e = 0; e < block.fit.emitters.size(); ++e) {
            Emitter emitter = block.fit.emitters[e];
            const auto apart = [&](std::size_t k) {
                const double half = (rois_.size - 1) / 2.0;
                return std::hypot(rois_.x_corner[k] + half - emitter.theta[0],
                                  rois_.y_corner[k] + half - emitter.theta[1]);
            };
            const std::size_t window =
                *std::min_element(block.windows.begin(), block.windows.end(),
                                  [&](std::size_t a, std::size_t c) { return apart(a) < apart(c); });
            emitter.theta[0] -= rois_.x_corner[window], emitter.theta[1] -= rois_.y_corner[window];
            found_[window - first_].rows.push_back({emitter, b, e});
        }
    }

    void write(std::size_t window, std::vector<std::uint32_t>& group_sizes) {
        const Found& found = found_[window - first_];
        const auto add = [&](const auto& theta, const auto& crlb, double llr, double p, int iterations,
                             FitStatus status, std::uint32_t group) {
            for (int k = 0; k < 4 + shapes_; ++k) {
                out_.theta[std::size_t(k)].push_back(float(theta(k)));
                out_.crlb[std::size_t(k)].push_back(float(crlb(k)));
            }
            out_.log_likelihood_ratio.push_back(float(llr)), out_.p_value.push_back(float(p));
            out_.iterations.push_back(std::uint8_t(std::min(iterations, 255))), out_.status.push_back(status);
            out_.window.push_back(std::uint32_t(window)), group_sizes.push_back(group);
        };
        if (!found.by_group)
            for (const std::size_t row : rows_of_[window])
                add([&](int k) { return fits_.theta[std::size_t(k)][row]; },
                    [&](int k) { return fits_.crlb[std::size_t(k)][row]; }, fits_.log_likelihood_ratio[row],
                    fits_.p_value[row], fits_.iterations[row], fits_.status[row], 0);
        for (const auto& [emitter, b, e] : found.rows) {
            const JointFit& of = blocks_[b].fit;
            const FitStatus status = status_of(of, e, rois_.size);
            const bool lost = status == FitStatus::singular;
            add([&](int k) { return k == 3 ? of.bg : emitter.theta[std::size_t(k)]; },
                [&](int k) { return lost ? 0.0 : emitter.crlb[std::size_t(k)]; }, -of.half_deviance, of.p_value,
                of.iterations, status, molecules_[blocks_[b].group]);
        }
    }

    const Rois& rois_;
    const Rois& wide_;
    const PsfInDouble psf_;
    const int shapes_;
    JointFitter fitter_;
    const StopFlag* stop_;
    std::optional<std::chrono::steady_clock::time_point> stop_seen_;
    const Fits& fits_;
    std::vector<std::vector<std::size_t>> rows_of_;  // by window
    Fits out_;
    // Of the frame:
    std::size_t first_ = 0;     // window
    std::vector<Found> found_;  // by window
    std::vector<Block> blocks_;
    static constexpr int cell_px = 32;
    int columns_ = 1, rows_ = 1;
    std::vector<std::vector<std::uint32_t>> cells_;  // the blocks whose light reaches into each
    std::vector<std::uint32_t> near_;
    std::vector<std::uint32_t> molecules_;  // by group
};

}  // namespace

std::vector<Windows> groups_of(const Rois& rois, std::size_t begin, std::size_t end) {
    std::vector<std::size_t> parent(end - begin);
    std::iota(parent.begin(), parent.end(), std::size_t(0));
    const auto root = [&](std::size_t k) {
        while (parent[k] != k) k = parent[k] = parent[parent[k]];
        return k;
    };
    std::vector<GridPoint> corners;
    for (std::size_t k = begin; k < end; ++k) corners.push_back({double(rois.x_corner[k]), double(rois.y_corner[k])});
    const SpotGrid grid(corners, rois.size);
    for (std::size_t k = 0; k < corners.size(); ++k) {
        const double reach = rois.size;
        grid.visit({corners[k].x - reach, corners[k].y - reach}, {corners[k].x + reach, corners[k].y + reach},
                   [&](std::size_t other) {
                       if (other < k && std::abs(corners[k].x - corners[other].x) < reach &&
                           std::abs(corners[k].y - corners[other].y) < reach)
                           parent[std::max(root(k), root(other))] = std::min(root(k), root(other));
                   });
    }
    std::vector<Windows> groups;
    std::vector<std::size_t> number(corners.size(), SIZE_MAX);
    for (std::size_t k = 0; k < corners.size(); ++k) {
        const std::size_t of = root(k);
        if (number[of] == SIZE_MAX) number[of] = groups.size(), groups.emplace_back();
        groups[number[of]].push_back(begin + k);
    }
    return groups;
}

JointPixels joint_pixels(const Rois& rois, const Windows& windows) {
    int left = std::numeric_limits<int>::max(), top = left, right = std::numeric_limits<int>::min(), bottom = right;
    for (const std::size_t k : windows) {
        left = std::min(left, int(rois.x_corner[k])), right = std::max(right, rois.x_corner[k] + rois.size);
        top = std::min(top, int(rois.y_corner[k])), bottom = std::max(bottom, rois.y_corner[k] + rois.size);
    }
    JointPixels pixels(left, top, right - left, bottom - top);
    const std::size_t area = std::size_t(rois.size) * std::size_t(rois.size);
    for (const std::size_t k : windows) {
        const auto of = [&](const std::vector<float>& plane) { return plane.empty() ? nullptr : &plane[k * area]; };
        pixels.add({rois.size, of(rois.pixels), of(rois.variance), nullptr, of(rois.qe), rois.variance_scalar,
                    rois.qe_scalar, rois.excess_noise, rois.x_corner[k], rois.y_corner[k]});
    }
    return pixels;
}

double light_reach_px(const PsfInDouble& psf, const Emitter& emitter) {
    const PsfWidths w = psf.widths(emitter.theta.data() + 4);
    return double(light_reach_widths) * std::max(w.x_px, w.y_px) + double(light_reach_more_px);
}

void add_light(const PsfInDouble& psf, const Emitter& emitter, JointPixels& to) {
    const double reach = light_reach_px(psf, emitter), x = emitter.theta[0], y = emitter.theta[1];
    const int left = std::max(to.left, int(std::floor(x - reach)));
    const int right = std::min(to.left + to.width, int(std::ceil(x + reach)) + 1);
    const int top = std::max(to.top, int(std::floor(y - reach)));
    const int bottom = std::min(to.top + to.height, int(std::ceil(y + reach)) + 1);
    if (left >= right || top >= bottom) return;
    std::vector<double> light(std::size_t(right - left) * std::size_t(bottom - top));
    psf.add_photons(emitter.theta.data(), left, top, right - left, bottom - top, light.data());
    const double* photons = light.data();
    for (int row = top; row < bottom; ++row)
        for (int column = left; column < right; ++column) {
            const std::size_t p = to.at(column, row);
            to.known[p] += float(*photons++) * to.per_photon[p];
        }
}

void search_in(const Rois& rois, const Windows& windows, JointPixels& pixels) {
    for (const std::size_t k : windows)
        for (int y = 0; y < rois.size; ++y)
            std::fill_n(pixels.searched.begin() + std::ptrdiff_t(pixels.at(rois.x_corner[k], rois.y_corner[k] + y)),
                        rois.size, 1.0f);
}

std::vector<std::uint32_t> fit_groups(const Rois& rois, const Rois& wide, const Psf& psf, double pixel_size_um,
                                      const JointOptions& options, const StopFlag* stop, Fits& fits) {
    std::vector<std::uint32_t> sizes;
    fits = GroupFits(rois, wide, psf, pixel_size_um, options, stop, fits).run(sizes);
    return sizes;
}

}  // namespace glint
