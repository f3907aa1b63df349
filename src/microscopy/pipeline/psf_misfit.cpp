// Computes residual images of lone spots: second moments near the centre, and photons of would-be molecules around it
// (docs/explanation/theory.md, section 10).
// SPDX-License-Identifier: MIT
#include "pipeline/psf_misfit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/median.hpp"

namespace glint {
namespace {

constexpr double min_model = 0.01;       // as in the fits: mu' > 0
constexpr int refinements = 3;           // of a fit that has converged in a smaller window
constexpr double template_widths = 2.5;  // half the edge of a would-be molecule's image
constexpr int close_px = 3;  // for second molecules with other shapes: maximum distance from the spot's pixel
// Minimum share of the information on a would-be molecule that remains beside the spot's own parameters.
constexpr double min_information = 0.3, min_information_of_others = 0.1;
constexpr std::size_t max_columns = 8;  // x, y, N, b, and the second moments or the shape

/// A symmetric positive definite system of a few unknowns. Stores the lower triangle of its Cholesky factor.
class SmallSystem {
  public:
    SmallSystem(std::span<const std::vector<double>> columns, std::span<const double> weight) : n_(columns.size()) {
        for (std::size_t r = 0; r < n_; ++r)
            for (std::size_t c = 0; c <= r; ++c) {
                double sum = 0;
                for (std::size_t p = 0; p < weight.size(); ++p) sum += weight[p] * columns[r][p] * columns[c][p];
                l_[r][c] = sum;
            }
        for (std::size_t r = 0; r < n_ && sound_; ++r) {
            const double whole = l_[r][r];
            for (std::size_t c = 0; c <= r; ++c) {
                double v = l_[r][c];
                for (std::size_t k = 0; k < c; ++k) v -= l_[r][k] * l_[c][k];
                if (c < r)
                    l_[r][c] = v / l_[c][c];
                else if (v > 1e-9 * whole)
                    l_[r][r] = std::sqrt(v);
                else
                    sound_ = false;
            }
        }
    }
    bool sound() const { return sound_; }
    /// Returns L^-1 b, whose square is b' A^-1 b.
    std::vector<double> half_solve(std::vector<double> b) const {
        for (std::size_t r = 0; r < n_; ++r) {
            for (std::size_t k = 0; k < r; ++k) b[r] -= l_[r][k] * b[k];
            b[r] /= l_[r][r];
        }
        return b;
    }
    std::vector<double> solve(std::vector<double> b) const {
        b = half_solve(std::move(b));
        for (std::size_t r = n_; r-- > 0;) {
            for (std::size_t k = r + 1; k < n_; ++k) b[r] -= l_[k][r] * b[k];
            b[r] /= l_[r][r];
        }
        return b;
    }
    /// Returns an element of the inverse.
    double inverse(std::size_t row, std::size_t column) const {
        std::vector<double> unit(n_);
        unit[column] = 1;
        return solve(std::move(unit))[row];
    }

  private:
    std::size_t n_;
    std::array<std::array<double, max_columns>, max_columns> l_{};
    bool sound_ = true;
};

/// A lone spot in its window: the model, its derivatives, and the pixels' weights.
class SpotModel {
  public:
    SpotModel(const PsfInDouble& psf, const JointPixels& pixels, const Emitter& spot)
        : psf_(psf.at(spot.theta[0], spot.theta[1])), pixels_(pixels), theta_(spot.theta) {
        theta_[0] -= pixels.left, theta_[1] -= pixels.top;
    }

    bool refine() {
        for (int k = 0; k < refinements; ++k) {
            set_columns();
            const SmallSystem system(columns_, weight_);
            if (!system.sound()) return false;
            const std::vector<double> step = system.solve(scores());
            for (std::size_t q = 0; q < step.size(); ++q) theta_[q] += std::clamp(step[q], -limit(q), limit(q));
        }
        set_columns();
        return theta_[2] > 0;
    }

    /// Measures the second moments beyond the image's, from the best fit of its second derivatives.
    bool measure_moments(SpotResidual& out) {
        constexpr double step = 0.3;
        const PsfWidths w = psf_.widths(theta_.data() + 4);
        out.variance_px2 = (w.x_px * w.x_px + w.y_px * w.y_px) / 2;
        const std::size_t first = columns_.size();
        const auto at = [&](double dx, double dy) {
            auto moved = theta_;
            moved[0] += dx, moved[1] += dy, moved[2] = 1;
            return image(moved);
        };
        const std::vector<double> middle = at(0, 0);
        const auto curvature = [&](double dx, double dy) {
            std::vector<double> both = at(dx, dy);
            const std::vector<double> other = at(-dx, -dy);
            for (std::size_t p = 0; p < both.size(); ++p) both[p] += other[p] - 2 * middle[p];
            return both;
        };
        std::vector<double> xx = curvature(step, 0), yy = curvature(0, step), xy = curvature(step, step);
        for (std::size_t p = 0; p < xx.size(); ++p) {
            xy[p] = (xy[p] - xx[p] - yy[p]) / (2 * step * step);
            xx[p] /= 2 * step * step, yy[p] /= 2 * step * step;
        }
        for (auto* column : {&xx, &xy, &yy}) columns_.push_back(scaled(*column));
        const SmallSystem system(columns_, weight_);
        const std::vector<double> gradient = scores();
        columns_.resize(first);
        if (!system.sound()) return false;
        const std::vector<double> part = system.solve(gradient);
        const double n = theta_[2];
        SpotResidual::Moments& m = out.moments;
        m.xx = part[first] / n, m.xy = part[first + 1] / n, m.yy = part[first + 2] / n;
        m.xx_variance = system.inverse(first, first) / (n * n);
        m.xy_variance = system.inverse(first + 1, first + 1) / (n * n);
        m.yy_variance = system.inverse(first + 2, first + 2) / (n * n);
        m.xx_yy_covariance = system.inverse(first, first + 2) / (n * n);
        return true;
    }

    /// Measures the photons of a second molecule at each pixel, beside the spot's own parameters.
    bool measure_shares(int shape_numbers, std::span<const ShapeNumbers> others, SpotResidual& out) {
        for (int k = 0; k < shape_numbers; ++k) columns_.push_back(slope(std::size_t(4 + k)));
        const SmallSystem system(columns_, weight_);
        if (!system.sound()) return false;
        const std::vector<double> own = system.half_solve(scores());
        out.share.assign((1 + others.size()) * image_size, 0), out.share_error = out.share;
        auto second = theta_;
        measure_shares_of(system, own, second, misfit_half_px, min_information, &out.share[0], &out.share_error[0]);
        for (std::size_t k = 0; k < others.size(); ++k) {
            std::copy_n(others[k].begin(), shape_numbers, second.begin() + 4);
            const std::size_t at = (1 + k) * image_size;
            measure_shares_of(system, own, second, close_px, min_information_of_others, &out.share[at],
                              &out.share_error[at]);
        }
        return true;
    }

  private:
    static constexpr std::size_t image_size = std::size_t(misfit_edge_px) * misfit_edge_px;

    /// Measures shares for a molecule with the shape of `second`, up to `half` px from the spot's pixel along x and y.
    void measure_shares_of(const SmallSystem& system, const std::vector<double>& own,
                           std::array<double, max_parameters> second, int half, double least, float* share,
                           float* error) const {
        const PsfWidths w = psf_.widths(second.data() + 4);
        const int reach = int(std::ceil(template_widths * std::max(w.x_px, w.y_px))), edge = 2 * reach + 1;
        std::vector<double> stencil(std::size_t(edge) * std::size_t(edge));
        second[0] = second[1] = reach, second[2] = 1;
        psf_.add_photons(second.data(), 0, 0, edge, edge, stencil.data());
        double square = 0;
        for (const double h : stencil) square += h * h;
        std::vector<std::array<double, max_columns>> by_pixel(factor_.size());  // the columns; 0 beyond the last
        for (std::size_t k = 0; k < columns_.size(); ++k)
            for (std::size_t p = 0; p < by_pixel.size(); ++p) by_pixel[p][k] = columns_[k][p];
        const int middle_x = int(std::lround(theta_[0])), middle_y = int(std::lround(theta_[1]));
        for (int j = -half; j <= half; ++j)
            for (int i = -half; i <= half; ++i) {
                const int x = middle_x + i, y = middle_y + j;
                if (x < 0 || y < 0 || x >= pixels_.width || y >= pixels_.height) continue;
                double score = 0, information = 0, seen = 0;
                std::array<double, max_columns> mixed{};
                for (int v = std::max(-reach, -y); v <= std::min(reach, pixels_.height - 1 - y); ++v)
                    for (int u = std::max(-reach, -x); u <= std::min(reach, pixels_.width - 1 - x); ++u) {
                        const std::size_t p = std::size_t(y + v) * std::size_t(pixels_.width) + std::size_t(x + u);
                        if (!(factor_[p] > 0)) continue;
                        const double h = stencil[std::size_t(v + reach) * std::size_t(edge) + std::size_t(u + reach)];
                        const double fh = factor_[p] * h, weighted = weight_[p] * fh;
                        seen += h * h, score += residual_[p] * fh, information += weighted * fh;
                        for (std::size_t k = 0; k < max_columns; ++k) mixed[k] += weighted * by_pixel[p][k];
                    }
                if (seen < 0.5 * square) continue;  // most of the image is outside the window
                double left = information;
                const std::vector<double> shared =
                    system.half_solve({mixed.begin(), mixed.begin() + std::ptrdiff_t(columns_.size())});
                for (std::size_t k = 0; k < shared.size(); ++k)
                    left -= shared[k] * shared[k], score -= shared[k] * own[k];
                if (!(left > least * information)) continue;
                const std::size_t at =
                    std::size_t(j + misfit_half_px) * misfit_edge_px + std::size_t(i + misfit_half_px);
                share[at] = float(score / (left * theta_[2]));
                error[at] = float(1 / (std::sqrt(left) * theta_[2]));
            }
    }

    /// Returns dmu' / dtheta_k.
    std::vector<double> slope(std::size_t k) const {
        auto above = theta_, below = theta_;
        const double step = k == 2 ? 0.01 * theta_[2] : 1e-3;
        above[k] += step, below[k] -= step;
        std::vector<double> change = image(above);
        const std::vector<double> lower = image(below);
        for (std::size_t p = 0; p < change.size(); ++p) change[p] = (change[p] - lower[p]) / (2 * step);
        return scaled(std::move(change));
    }

    /// Returns N h without background, per pixel of the window.
    std::vector<double> image(const std::array<double, max_parameters>& theta) const {
        std::vector<double> light(std::size_t(pixels_.width) * std::size_t(pixels_.height), 0.0);
        psf_.add_photons(theta.data(), 0, 0, pixels_.width, pixels_.height, light.data());
        return light;
    }
    std::vector<double> scaled(std::vector<double> column) const {
        for (std::size_t p = 0; p < column.size(); ++p) column[p] *= factor_[p];
        return column;
    }
    double limit(std::size_t k) const { return k < 2 ? 0.5 : k == 2 ? 0.5 * theta_[2] : 1e9; }

    void set_columns() {
        const std::size_t count = std::size_t(pixels_.width) * std::size_t(pixels_.height);
        factor_.resize(count), weight_.resize(count), residual_.resize(count);
        std::vector<double> light = image(theta_);
        for (int y = 0; y < pixels_.height; ++y)
            for (int x = 0; x < pixels_.width; ++x) {
                const std::size_t p = std::size_t(y) * std::size_t(pixels_.width) + std::size_t(x),
                                  from = std::size_t(y) * std::size_t(pixels_.pitch) + std::size_t(x);
                const double f = double(pixels_[JointPlane::per_photon][from]);
                const double mu =
                    std::max(double(pixels_[JointPlane::known][from]) + f * (theta_[3] + light[p]), min_model);
                factor_[p] = f, weight_[p] = f > 0 ? 1 / mu : 0;
                residual_[p] = f > 0 ? double(pixels_[JointPlane::data][from]) / mu - 1 : 0;
            }
        columns_.clear();
        for (std::size_t k = 0; k < 4; ++k) columns_.push_back(k == 3 ? factor_ : slope(k));
    }
    /// Returns the gradient of the log-likelihood by the columns.
    std::vector<double> scores() const {
        std::vector<double> gradient;
        for (const std::vector<double>& column : columns_) {
            double sum = 0;
            for (std::size_t p = 0; p < column.size(); ++p) sum += residual_[p] * column[p];
            gradient.push_back(sum);
        }
        return gradient;
    }

    PsfInDouble psf_;
    const JointPixels& pixels_;
    std::array<double, max_parameters> theta_;
    std::vector<double> factor_, weight_, residual_;  // 1 / f; 1 / mu'; d' / mu' - 1: 0 for pixels that are not used
    std::vector<std::vector<double>> columns_;        // dmu' / d(x, y, N, b)
};

/// Eigenvalues of a symmetric 2 x 2 matrix.
struct Eigenvalues {
    double greater, lesser;
};
Eigenvalues eigenvalues(double xx, double xy, double yy) {
    const double middle = (xx + yy) / 2, root = std::hypot((xx - yy) / 2, xy);
    return {middle + root, middle - root};
}

/// Returns the median, or 0 if its difference from 0 may be chance.
double significant_median(std::vector<double> values, std::vector<double> variances) {
    constexpr double errors = 3, price_of_median = 1.2533;
    const double middle = median(values);
    double scatter = 0;
    for (double& v : values) v = std::abs(v - middle);
    scatter = 1.4826 * median(values);
    const double error =
        price_of_median * std::max(scatter, std::sqrt(median(variances))) / std::sqrt(double(values.size()));
    return std::abs(middle) > errors * error ? middle : 0;
}

/// Returns the moments that all spots have in common.
SpotResidual::Moments common_moments(std::span<const SpotResidual> residuals) {
    using Moments = SpotResidual::Moments;
    const auto of = [&](double Moments::*value, double Moments::*variance) {
        std::vector<double> values, variances;
        for (const SpotResidual& one : residuals)
            values.push_back(one.moments.*value), variances.push_back(one.moments.*variance);
        return significant_median(std::move(values), std::move(variances));
    };
    Moments common;
    common.xx = of(&Moments::xx, &Moments::xx_variance);
    common.xy = of(&Moments::xy, &Moments::xy_variance);
    common.yy = of(&Moments::yy, &Moments::yy_variance);
    return common;
}

/// Returns the root mean square by which the moments of single molecules vary, px^2. A pair adds d d', whose
/// determinant is 0 in every direction. Defocus adds to both axes; astigmatism adds to one axis what it subtracts from
/// the other. The mean determinant, corrected for noise, is therefore that of single molecules.
double scatter_of_singles(std::span<const SpotResidual> residuals, const SpotResidual::Moments& common) {
    constexpr double kept = 0.9, errors = 3;
    std::vector<double> determinants;
    for (const SpotResidual& one : residuals) {
        const SpotResidual::Moments& m = one.moments;
        const double xx = m.xx - common.xx, xy = m.xy - common.xy, yy = m.yy - common.yy;
        determinants.push_back(xx * yy - xy * xy - (m.xx_yy_covariance - m.xy_variance));
    }
    std::sort(determinants.begin(), determinants.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    determinants.resize(std::max<std::size_t>(1, std::size_t(kept * double(determinants.size()))));
    double sum = 0, squares = 0;
    for (const double d : determinants) sum += d, squares += d * d;
    const double n = double(determinants.size()), mean = sum / n;
    const double error = std::sqrt(std::max(squares / n - mean * mean, 0.0) / n);
    return std::abs(mean) > errors * error ? std::sqrt(std::abs(mean)) : 0;
}

/// Returns true if a spot's moments beyond the common ones lie along one axis, like those of two molecules.
bool looks_like_a_pair(const SpotResidual& one, const SpotResidual::Moments& common) {
    constexpr double errors = 4, least = 0.15, along_one_axis = 0.35;
    const SpotResidual::Moments& m = one.moments;
    const Eigenvalues beyond = eigenvalues(m.xx - common.xx, m.xy - common.xy, m.yy - common.yy);
    const double noise = std::sqrt(std::max(m.xx_variance, m.yy_variance));
    return beyond.greater > std::max(errors * noise, least * one.variance_px2) &&
           std::abs(beyond.lesser) < along_one_axis * beyond.greater;
}

/// Returns how much the widest single molecules exceed the common moments, averaged over directions, px^2: the 95 %
/// quantile, minus noise.
double excess_of_widest(std::span<const SpotResidual* const> singles, const SpotResidual::Moments& common) {
    constexpr double upper = 0.95, deviations_at_upper = 1.645, chance = 3, error_of_upper = 1.3;
    std::vector<double> excess, variances;
    for (const SpotResidual* one : singles) {
        const SpotResidual::Moments& m = one->moments;
        excess.push_back((m.xx - common.xx + m.yy - common.yy) / 2);
        variances.push_back((m.xx_variance + m.yy_variance + 2 * m.xx_yy_covariance) / 4);
    }
    const double n = double(excess.size()), noise = deviations_at_upper * std::sqrt(std::max(median(variances), 0.0));
    const double above = quantile_of(excess, upper);
    return above > noise * (1 + chance * error_of_upper / std::sqrt(n)) ? std::sqrt(above * above - noise * noise) : 0;
}

/// Returns the share of photons that a would-be molecule gets at one position: the mean, plus the scatter between spots
/// if `with_scatter`.
double satellite_share(std::vector<double> shares, std::vector<double> errors, bool with_scatter) {
    constexpr double upper = 0.8, deviations_at_upper = 0.8416, deviations = 2.5, chance = 4, error_of_upper = 1.8;
    const double n = double(shares.size()), noise = median(errors), middle = median(shares);
    const double above = (quantile_of(shares, upper) - middle) / deviations_at_upper;
    const double scatter =
        above > noise * (1 + chance * error_of_upper / std::sqrt(n)) ? std::sqrt(above * above - noise * noise) : 0;
    const double mean = middle > chance * 1.2533 * std::max(noise, above) / std::sqrt(n) ? middle : 0;
    return with_scatter ? mean + deviations * scatter : mean;
}

}  // namespace

double quantile_of(std::vector<double> values, double part) {
    const auto at = values.begin() + std::ptrdiff_t(part * double(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

std::optional<SpotResidual> measure_residual(const PsfInDouble& psf, int shape_numbers, const JointPixels& pixels,
                                             const Emitter& spot, std::span<const ShapeNumbers> others) {
    SpotModel model(psf, pixels, spot);
    SpotResidual residual;
    if (!model.refine() || !model.measure_moments(residual) || !model.measure_shares(shape_numbers, others, residual))
        return {};
    return residual;
}

std::optional<PsfMisfit> misfit_of(std::span<const SpotResidual> residuals, bool with_widest, bool with_scatter) {
    constexpr std::size_t min_measured = 10;
    constexpr double min_singles =
        0.67;  // with more pairs, as along filaments, medians are not those of single molecules
    PsfMisfit misfit;
    if (residuals.empty()) return {};
    const SpotResidual::Moments common = common_moments(residuals);
    std::vector<double> variances;
    for (const SpotResidual& one : residuals) variances.push_back(one.variance_px2);
    const double per_width = 1 / (2 * median(variances));  // D = 2 m s^2
    misfit.scatter = scatter_of_singles(residuals, common) * per_width;
    std::vector<const SpotResidual*> singles;
    for (const SpotResidual& one : residuals)
        if (!looks_like_a_pair(one, common)) singles.push_back(&one);
    if (singles.size() < std::max(min_measured, std::size_t(min_singles * double(residuals.size())))) return {};
    misfit.width = std::max(eigenvalues(common.xx, common.xy, common.yy).greater, 0.0) * per_width;
    if (with_widest) misfit.width += excess_of_widest(singles, common) * per_width;
    for (std::size_t at = 0; at < residuals.front().share.size(); ++at) {
        std::vector<double> shares, errors;
        for (const SpotResidual* one : singles)
            if (one->share_error[at] > 0)
                shares.push_back(double(one->share[at])), errors.push_back(double(one->share_error[at]));
        if (shares.size() < min_measured) continue;
        const auto share = float(satellite_share(std::move(shares), std::move(errors), with_scatter));
        const int i = int(at % misfit_edge_px) - misfit_half_px;
        const int j = int(at / misfit_edge_px % misfit_edge_px) - misfit_half_px;
        // A spot may lie anywhere in its pixel, so its share covers a range of distances.
        const double distance = std::hypot(i, j) / double(satellite_step_px);
        const int from = std::max(int(std::floor(distance - 1)), 0), to = int(std::ceil(distance + 1));
        for (int k = from; k <= std::min(to, satellite_steps - 2); ++k)
            misfit.satellites[std::size_t(k)] = std::max(misfit.satellites[std::size_t(k)], share);
    }
    return misfit;
}

}  // namespace glint
