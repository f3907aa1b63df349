// Joint fits: the model of a group, its derivatives, and the steps.
//
// An emitter is evaluated in a box of a few widths around it. Its derivatives meet those of the others where the boxes
// overlap, and the background's everywhere: the Fisher matrix is dense and of the order of a hundred, so that it is
// decomposed as it is.
// SPDX-License-Identifier: MIT
#include "fit/joint_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "fit/group_goodness.hpp"
#include "fit/joint_group.hpp"

namespace glint {
namespace {

constexpr double photons_floor = 1;      // as in the kernel
constexpr double longest_step_px = 0.7;  // of a position
constexpr int most_rejected_steps = 8;

}  // namespace

// Beyond 4.5 widths are some 14 photons in a million; the pixel's own half width comes to that.
double light_reach_px(const PsfInDouble& psf, const Emitter& emitter) {
    const PsfWidths w = psf.widths(emitter.theta.data() + 4);
    return 4.5 * std::max(w.x_px, w.y_px) + 1;
}

Image JointGroup::image_of(const Emitter& emitter) const {
    const double reach = light_reach_px(psf_, emitter);
    const double x = emitter.theta[0] - pixels_.left, y = emitter.theta[1] - pixels_.top;
    Image image;
    image.x0 = std::clamp(int(std::floor(x - reach)), 0, pixels_.width);
    image.y0 = std::clamp(int(std::floor(y - reach)), 0, pixels_.height);
    image.width = std::clamp(int(std::ceil(x + reach)) + 1, 0, pixels_.width) - image.x0;
    image.height = std::clamp(int(std::ceil(y + reach)) + 1, 0, pixels_.height) - image.y0;
    if (image.empty()) return image;
    image.values.resize(std::size_t(image.width) * std::size_t(image.height) * each_);
    psf_.evaluate(emitter.theta.data(), pixels_.left + image.x0, pixels_.top + image.y0, image.width, image.height,
                  image.values.data());
    return image;
}

void JointGroup::add(const Image& image, double photons, std::vector<double>& model) const {
    const double* h = image.values.data();
    for (int j = 0; j < image.height; ++j) {
        std::size_t p = std::size_t(image.y0 + j) * std::size_t(pixels_.width) + std::size_t(image.x0);
        for (int i = 0; i < image.width; ++i, ++p) model[p] += photons * *h++ * pixels_.per_photon[p];
    }
}

std::vector<double> JointGroup::model(const JointFit& fit) const {
    std::vector<double> model(pixels_.count());
    for (std::size_t p = 0; p < model.size(); ++p) model[p] = fit.bg * pixels_.per_photon[p] + pixels_.known[p];
    for (const Emitter& emitter : fit.emitters)
        if (const Image image = image_of(emitter); !image.empty()) add(image, emitter.theta[2], model);
    return model;
}

double JointGroup::half_deviance(const std::vector<double>& model) const {
    double sum = 0;
    for (std::size_t p = 0; p < model.size(); ++p) {
        if (!pixels_.used[p]) continue;
        const double d = pixels_.data[p], m = std::max(model[p], least_model);
        sum += m - d + (d > 0 ? d * std::log(d / m) : 0);
    }
    return sum;
}

// eq. 3.1 and 3.2, for all parameters of the group.
JointGroup::Derivatives JointGroup::differentiate(const std::vector<double>& model, const JointFit& fit,
                                                  const std::vector<std::size_t>& moving,
                                                  const std::vector<Image>& images) const {
    const std::size_t order = 1 + moving.size() * each_;
    Derivatives out{std::vector<double>(order), SymmetricMatrix(order)};
    std::vector<double> residual(model.size()), weight(model.size());  // of the photons of a pixel; 0 where not used
    for (std::size_t p = 0; p < model.size(); ++p) {
        if (!pixels_.used[p]) continue;
        const double m = std::max(model[p], least_model), f = pixels_.per_photon[p];
        residual[p] = f * (pixels_.data[p] / m - 1), weight[p] = f * f / m;
        out.gradient[0] += residual[p], out.fisher.at(0, 0) += weight[p];
    }
    const auto row = [&](int y) { return std::size_t(y) * std::size_t(pixels_.width); };
    for (std::size_t e = 0; e < moving.size(); ++e) {
        const Image& a = images[e];
        const Emitter& emitter = fit.emitters[moving[e]];
        for (int k = 0; k < int(each_) && !a.empty(); ++k) {
            const auto [by, factor] = slope(a, emitter, k);
            double gradient = 0, with_bg = 0;
            for (int j = 0; j < a.height; ++j)
                for (int i = 0; i < a.width; ++i) {
                    const std::size_t p = row(a.y0 + j) + std::size_t(a.x0 + i);
                    const double s = by[j * a.width + i];
                    gradient += residual[p] * s, with_bg += weight[p] * s;
                }
            out.gradient[index(e, k)] = factor * gradient, out.fisher.at(index(e, k), 0) = factor * with_bg;
        }
        for (std::size_t o = 0; o <= e; ++o) {
            const Image& b = images[o];
            const int x0 = std::max(a.x0, b.x0), x1 = std::min(a.x0 + a.width, b.x0 + b.width);
            const int y0 = std::max(a.y0, b.y0), y1 = std::min(a.y0 + a.height, b.y0 + b.height);
            if (x0 >= x1 || y0 >= y1) continue;
            for (int k = 0; k < int(each_); ++k) {
                const auto [by_a, factor_a] = slope(a, emitter, k);
                for (int q = 0; q < (o == e ? k + 1 : int(each_)); ++q) {
                    const auto [by_b, factor_b] = slope(b, fit.emitters[moving[o]], q);
                    double sum = 0;
                    for (int y = y0; y < y1; ++y) {
                        const double* s = by_a + (y - a.y0) * a.width - a.x0;
                        const double* t = by_b + (y - b.y0) * b.width - b.x0;
                        const double* w = weight.data() + row(y);
                        for (int x = x0; x < x1; ++x) sum += w[x] * s[x] * t[x];
                    }
                    out.fisher.at(index(e, k), index(o, q)) = factor_a * factor_b * sum;
                }
            }
        }
    }
    return out;
}

void JointGroup::move(Emitter& emitter, const double* step) const {
    auto& t = emitter.theta;
    const double low = -options_.margin_px;
    t[0] = std::clamp(t[0] + std::clamp(step[0], -longest_step_px, longest_step_px), pixels_.left + low,
                      pixels_.left + pixels_.width - 1 + options_.margin_px);
    t[1] = std::clamp(t[1] + std::clamp(step[1], -longest_step_px, longest_step_px), pixels_.top + low,
                      pixels_.top + pixels_.height - 1 + options_.margin_px);
    const double longest = 0.7 * t[2] + 50;
    t[2] = std::max(t[2] + std::clamp(step[2], -longest, longest), photons_floor);
    for (int k = 0; k < shapes_; ++k) {
        const auto limits = psf_.limits(k, t.data() + 4, options_.min_sigma_px, options_.max_sigma_px);
        double& shape = t[std::size_t(4 + k)];
        shape = std::clamp(shape + std::clamp(step[3 + k], -limits.step, limits.step), limits.low, limits.high);
    }
}

/// With which every pixel's model stays above its floor, whatever the emitters do.
double JointGroup::least_bg() const {
    double least = -std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < pixels_.count(); ++p)
        if (pixels_.used[p]) least = std::max(least, (least_model - pixels_.known[p]) / pixels_.per_photon[p]);
    return least;
}

void JointGroup::fit(JointFit& fit, const std::vector<std::size_t>& moving, double least_step_gain) {
    const double floor = least_bg();
    fit.bg = std::max(fit.bg, floor);
    fit.converged = fit.singular = false;
    double damping = 1e-3;
    std::vector<Image> images;
    std::vector<double> fixed = [&] {
        JointFit others;
        others.bg = 0;
        for (std::size_t e = 0; e < fit.emitters.size(); ++e)
            if (std::find(moving.begin(), moving.end(), e) == moving.end()) others.emitters.push_back(fit.emitters[e]);
        return model(others);
    }();
    const auto evaluate = [&](const JointFit& at, std::vector<Image>& its) {
        std::vector<double> mu = fixed;
        for (std::size_t p = 0; p < mu.size(); ++p) mu[p] += at.bg * pixels_.per_photon[p];
        its.clear();
        for (const std::size_t e : moving) {
            its.push_back(image_of(at.emitters[e]));
            if (!its.back().empty()) add(its.back(), at.emitters[e].theta[2], mu);
        }
        return mu;
    };
    std::vector<double> mu = evaluate(fit, images);
    fit.half_deviance = half_deviance(mu);
    for (fit.iterations = 1; fit.iterations <= options_.max_iterations && !fit.converged; ++fit.iterations) {
        const Derivatives score = differentiate(mu, fit, moving, images);
        bool rose = false;
        for (int attempt = 0; attempt < most_rejected_steps && !rose; ++attempt, damping *= rose ? 0.2 : 5) {
            SymmetricMatrix damped = score.fisher;
            for (std::size_t k = 0; k < damped.order(); ++k) damped.at(k, k) = damped.at(k, k) * (1 + damping) + 1e-12;
            if (!damped.decompose()) continue;
            std::vector<double> step = score.gradient;
            damped.solve(step);
            JointFit next = fit;
            next.bg = std::max(fit.bg + step[0], floor);
            for (std::size_t e = 0; e < moving.size(); ++e) move(next.emitters[moving[e]], step.data() + index(e, 0));
            std::vector<Image> next_images;
            std::vector<double> next_mu = evaluate(next, next_images);
            next.half_deviance = half_deviance(next_mu);
            if (!(next.half_deviance <= fit.half_deviance + 1e-9)) continue;
            rose = true;
            // |step_k| sqrt(I_kk), as in the kernel; what a bound has kept from moving does not count.
            SymmetricMatrix fisher = score.fisher;
            double longest = std::abs(next.bg - fit.bg) * std::sqrt(fisher.at(0, 0));
            for (std::size_t e = 0; e < moving.size(); ++e)
                for (int k = 0; k < int(each_); ++k) {
                    const std::size_t t = k < 3 ? std::size_t(k) : std::size_t(k + 1);
                    const double moved = next.emitters[moving[e]].theta[t] - fit.emitters[moving[e]].theta[t];
                    longest = std::max(longest, std::abs(moved) * std::sqrt(fisher.at(index(e, k), index(e, k))));
                }
            const double gain = fit.half_deviance - next.half_deviance;
            next.converged = longest < options_.tolerance || gain < least_step_gain;
            fit = std::move(next), mu = std::move(next_mu), images = std::move(next_images);
            damping = std::max(damping, 1e-9);
        }
        if (!rose) {  // no step in this direction raises the likelihood: the maximum, within rounding
            fit.converged = damping < 1e6;
            break;
        }
    }
}

void JointGroup::finish(JointFit& fit) {
    std::vector<std::size_t> all(fit.emitters.size());
    std::iota(all.begin(), all.end(), std::size_t(0));
    std::vector<Image> images;
    for (const Emitter& emitter : fit.emitters) images.push_back(image_of(emitter));
    const std::vector<double> mu = model(fit);
    Derivatives score = differentiate(mu, fit, all, images);
    fit.singular = !score.fisher.decompose();
    if (!fit.singular) {
        const std::vector<double> variance = score.fisher.inverse_diagonal();
        for (std::size_t e = 0; e < fit.emitters.size(); ++e) {
            fit.emitters[e].crlb[3] = std::sqrt(variance[0]);
            for (int k = 0; k < int(each_); ++k)
                fit.emitters[e].crlb[std::size_t(k < 3 ? k : k + 1)] = std::sqrt(variance[index(e, k)]);
        }
    }
    GroupGoodness goodness(pixels_.noise);
    for (std::size_t p = 0; p < mu.size(); ++p)
        if (pixels_.used[p]) goodness.add(pixels_.data[p], std::max(mu[p], least_model), pixels_.variance[p]);
    fit.half_deviance = goodness.half_deviance();
    fit.p_value = goodness.p_value(score.gradient.size());
    fit.at_bound.assign(fit.emitters.size(), 0);
    for (std::size_t e = 0; e < fit.emitters.size(); ++e) {
        const auto& t = fit.emitters[e].theta;
        bool bounded = t[2] <= photons_floor;
        for (int k = 0; k < shapes_; ++k) {
            const auto limits = psf_.limits(k, t.data() + 4, options_.min_sigma_px, options_.max_sigma_px);
            bounded |= t[std::size_t(4 + k)] <= limits.low || t[std::size_t(4 + k)] >= limits.high;
        }
        fit.at_bound[e] = bounded;
    }
}

void fit_together(const JointPixels& pixels, const PsfInDouble& psf, int shapes, const JointOptions& options,
                  JointFit& fit) {
    std::vector<std::size_t> all(fit.emitters.size());
    std::iota(all.begin(), all.end(), std::size_t(0));
    JointGroup group(pixels, psf, shapes, options);
    group.fit(fit, all, 0);
    group.finish(fit);
}

}  // namespace glint
