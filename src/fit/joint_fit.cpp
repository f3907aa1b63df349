// Joint fits: the model of a group, its derivatives, the steps, and the search.
//
// An emitter is evaluated in a box of a few widths around it. Its derivatives meet those of the others where the boxes
// overlap, and the background's everywhere: the Fisher matrix is dense and of the order of a hundred, so that it is
// decomposed as it is.
//
// While the search tries a molecule, only the ones around it move; what is accepted is fitted together again at the end.
// SPDX-License-Identifier: MIT
#include "fit/joint_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace glint {
namespace {

constexpr double model_floor = 0.01;     // as in the kernel: mu' > 0
constexpr double photons_floor = 1;      // likewise
constexpr double box_widths = 4.5;       // beyond, 1 photon in 100,000
constexpr double longest_step_px = 0.7;  // of a position
constexpr int most_rejected_steps = 8;

/// A packed lower triangle, as fit/cholesky.hpp, of any order.
class Matrix {
  public:
    explicit Matrix(std::size_t order) : order_(order), values_(order * (order + 1) / 2) {}
    double& at(std::size_t row, std::size_t column) {
        if (row < column) std::swap(row, column);
        return values_[row * (row + 1) / 2 + column];
    }
    std::size_t order() const { return order_; }

    /// Replaces A by L, A = L L^T; false where a pivot is below 1e-12 of its diagonal.
    bool decompose() {
        for (std::size_t r = 0; r < order_; ++r)
            for (std::size_t c = 0; c <= r; ++c) {
                double v = at(r, c);
                const double* a = &values_[r * (r + 1) / 2];
                const double* b = &values_[c * (c + 1) / 2];
                for (std::size_t k = 0; k < c; ++k) v -= a[k] * b[k];
                if (r == c) {
                    if (!(v > 1e-12 * at(r, r)) || !(v > 0)) return false;
                    at(r, c) = std::sqrt(v);
                } else {
                    at(r, c) = v / at(c, c);
                }
            }
        return true;
    }
    /// Of L: x with A x = b.
    void solve(std::vector<double>& x) {
        for (std::size_t r = 0; r < order_; ++r) {
            for (std::size_t k = 0; k < r; ++k) x[r] -= at(r, k) * x[k];
            x[r] /= at(r, r);
        }
        for (std::size_t r = order_; r-- > 0;) {
            for (std::size_t k = r + 1; k < order_; ++k) x[r] -= at(k, r) * x[k];
            x[r] /= at(r, r);
        }
    }
    /// Of L: the diagonal of the inverse of A.
    std::vector<double> inverse_diagonal() {
        std::vector<double> diagonal(order_), column(order_);
        for (std::size_t c = 0; c < order_; ++c) {
            for (std::size_t r = c; r < order_; ++r) {
                double v = r == c;
                for (std::size_t k = c; k < r; ++k) v -= at(r, k) * column[k];
                column[r] = v / at(r, r);
                diagonal[c] += column[r] * column[r];
            }
        }
        return diagonal;
    }

  private:
    std::size_t order_;
    std::vector<double> values_;
};

/// An emitter's image and its derivatives, in a box of the rectangle.
struct Image {
    int x0 = 0, y0 = 0, width = 0, height = 0;  // of the rectangle's pixels
    std::vector<double> values;                 // h, then the derivatives by x, y and the shape

    const double* plane(int k) const {
        return values.data() + std::size_t(k) * std::size_t(width) * std::size_t(height);
    }
    bool empty() const { return width <= 0 || height <= 0; }
};

class Group {
  public:
    Group(const JointPixels& pixels, const PsfInDouble& psf, int shapes, const JointOptions& options)
        : pixels_(pixels), psf_(psf), shapes_(shapes), options_(options), each_(std::size_t(3 + shapes)) {}

    /// Fits the emitters named by `moving`, and the background; the others stay. `least_gain` of half the deviance in a
    /// step: less ends the fit.
    void fit(JointFit& fit, const std::vector<std::size_t>& moving, double least_step_gain);
    /// CRLB, goodness, bounds.
    void finish(JointFit& fit);
    std::vector<double> model(const JointFit& fit) const;
    double half_deviance(const std::vector<double>& model) const;
    Image image_of(const Emitter& emitter) const;
    double widest(const Emitter& emitter) const {
        const PsfWidths w = psf_.widths(emitter.theta.data() + 4);
        return std::max(w.x_px, w.y_px);
    }

  private:
    struct Derivatives {
        std::vector<double> gradient;
        Matrix fisher;
    };
    void add(const Image& image, double photons, std::vector<double>& model) const;
    Derivatives differentiate(const std::vector<double>& model, const JointFit& fit,
                              const std::vector<std::size_t>& moving, const std::vector<Image>& images) const;
    /// Index of emitter e's parameter in the matrix: x, y, N, shape; the background is 0.
    std::size_t index(std::size_t e, int k) const { return 1 + e * each_ + std::size_t(k); }
    /// The plane of that parameter, and the factor of its values.
    std::pair<const double*, double> slope(const Image& image, const Emitter& emitter, int k) const {
        if (k == 2) return {image.plane(0), 1};
        return {image.plane(k < 2 ? k + 1 : k), emitter.theta[2]};
    }
    void move(Emitter& emitter, const double* step) const;
    double least_bg() const;

    const JointPixels& pixels_;
    const PsfInDouble& psf_;
    int shapes_;
    const JointOptions& options_;
    std::size_t each_;
};

Image Group::image_of(const Emitter& emitter) const {
    const double reach = box_widths * widest(emitter) + 1;
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

void Group::add(const Image& image, double photons, std::vector<double>& model) const {
    const double* h = image.values.data();
    for (int j = 0; j < image.height; ++j) {
        std::size_t p = std::size_t(image.y0 + j) * std::size_t(pixels_.width) + std::size_t(image.x0);
        for (int i = 0; i < image.width; ++i, ++p) model[p] += photons * *h++ * pixels_.per_photon[p];
    }
}

std::vector<double> Group::model(const JointFit& fit) const {
    std::vector<double> model(pixels_.count());
    for (std::size_t p = 0; p < model.size(); ++p) model[p] = fit.bg * pixels_.per_photon[p] + pixels_.known[p];
    for (const Emitter& emitter : fit.emitters)
        if (const Image image = image_of(emitter); !image.empty()) add(image, emitter.theta[2], model);
    return model;
}

double Group::half_deviance(const std::vector<double>& model) const {
    double sum = 0;
    for (std::size_t p = 0; p < model.size(); ++p) {
        if (!pixels_.used[p]) continue;
        const double d = pixels_.data[p], m = std::max(model[p], model_floor);
        sum += m - d + (d > 0 ? d * std::log(d / m) : 0);
    }
    return sum;
}

// eq. 3.1 and 3.2, for all parameters of the group.
Group::Derivatives Group::differentiate(const std::vector<double>& model, const JointFit& fit,
                                        const std::vector<std::size_t>& moving,
                                        const std::vector<Image>& images) const {
    const std::size_t order = 1 + moving.size() * each_;
    Derivatives out{std::vector<double>(order), Matrix(order)};
    std::vector<double> residual(model.size()), weight(model.size());  // of the photons of a pixel; 0 where not used
    for (std::size_t p = 0; p < model.size(); ++p) {
        if (!pixels_.used[p]) continue;
        const double m = std::max(model[p], model_floor), f = pixels_.per_photon[p];
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

void Group::move(Emitter& emitter, const double* step) const {
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
double Group::least_bg() const {
    double least = -std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < pixels_.count(); ++p)
        if (pixels_.used[p]) least = std::max(least, (model_floor - pixels_.known[p]) / pixels_.per_photon[p]);
    return least;
}

void Group::fit(JointFit& fit, const std::vector<std::size_t>& moving, double least_step_gain) {
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
            Matrix damped = score.fisher;
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
            Matrix fisher = score.fisher;
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

void Group::finish(JointFit& fit) {
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
        if (pixels_.used[p]) goodness.add(pixels_.data[p], std::max(mu[p], model_floor), pixels_.variance[p]);
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

// ---- The search

double distance(const Emitter& a, const Emitter& b) {
    return std::hypot(a.theta[0] - b.theta[0], a.theta[1] - b.theta[1]);
}

class Search {
  public:
    Search(const JointPixels& pixels, const PsfInDouble& psf, int shapes, const JointOptions& options)
        : pixels_(pixels), options_(options), group_(pixels, psf, shapes, options) {
        for (int k = 0; k < psf.start_shapes(); ++k) {
            Emitter start;
            psf.start_shape(k, start.theta.data() + 4);
            start.theta[2] = 1;
            starts_.push_back(start);
            // Its image, centred on a pixel.
            const int reach = int(std::ceil(3 * group_.widest(start)));
            Image image{-reach, -reach, 2 * reach + 1, 2 * reach + 1, {}};
            image.values.resize(std::size_t(image.width) * std::size_t(image.height) * std::size_t(3 + shapes));
            psf.evaluate(start.theta.data(), -reach, -reach, image.width, image.height, image.values.data());
            kernels_.push_back(std::move(image));
        }
    }

    int run(JointFit& fit) {
        fit_all(fit, 1e-3);
        const std::size_t before = fit.emitters.size();
        while (int(fit.emitters.size()) < options_.most_emitters && add_one(fit)) {
        }
        if (fit.emitters.size() > before) fit_all(fit, 1e-3);
        group_.finish(fit);
        while (!fit.emitters.empty() && remove_one(fit)) {
        }
        fit_all(fit, 0);
        group_.finish(fit);
        return int(fit.emitters.size()) - int(before);
    }

  private:
    struct Candidate {
        double score, photons;
        int x, y;
        std::size_t start;
    };
    static constexpr double least_score = 3;  // standard errors; the likelihood decides
    static constexpr int most_tries = 4;
    static constexpr double split = 0.4;
    static constexpr double doubtful = 8;  // standard errors of N

    void fit_all(JointFit& fit, double least_step_gain) {
        std::vector<std::size_t> all(fit.emitters.size());
        std::iota(all.begin(), all.end(), std::size_t(0));
        group_.fit(fit, all, least_step_gain);
    }
    /// The emitters whose images overlap that of `like`.
    std::vector<std::size_t> around(const JointFit& fit, const Emitter& like) const {
        std::vector<std::size_t> near;
        for (std::size_t e = 0; e < fit.emitters.size(); ++e)
            if (distance(fit.emitters[e], like) < 3 * (group_.widest(fit.emitters[e]) + group_.widest(like)))
                near.push_back(e);
        return near;
    }
    /// What 2 delta log L must exceed there (eq. 10.4).
    double threshold(const JointFit& fit, const Emitter& at, std::size_t but = SIZE_MAX) const {
        double photons = 0;
        for (std::size_t e = 0; e < fit.emitters.size(); ++e) {
            const double r = distance(fit.emitters[e], at) / group_.widest(fit.emitters[e]);
            if (e != but) photons += fit.emitters[e].theta[2] * std::exp(-r * r / 8);
        }
        return options_.least_gain + 4 * options_.misfit * options_.misfit * photons;
    }

    /// The best places for one more emitter, by the score test of each pixel, best first and not side by side.
    std::vector<Candidate> candidates(const JointFit& fit) const {
        const std::vector<double> mu = group_.model(fit);
        const int width = pixels_.width, height = pixels_.height;
        std::vector<double> residual(mu.size()), weight(mu.size());
        for (std::size_t p = 0; p < mu.size(); ++p) {
            if (!pixels_.used[p]) continue;
            const double m = std::max(mu[p], model_floor), f = pixels_.per_photon[p];
            residual[p] = f * (pixels_.data[p] / m - 1), weight[p] = f * f / m;
        }
        std::vector<Candidate> found;
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) {
                if (!pixels_.searched[std::size_t(y) * std::size_t(width) + std::size_t(x)]) continue;
                Candidate best{0, 0, x, y, 0};
                for (std::size_t s = 0; s < kernels_.size(); ++s) {
                    const Image& kernel = kernels_[s];
                    double score = 0, information = 0;
                    for (int j = std::max(0, -(y + kernel.y0)); j < std::min(kernel.height, height - y - kernel.y0);
                         ++j)
                        for (int i = std::max(0, -(x + kernel.x0)); i < std::min(kernel.width, width - x - kernel.x0);
                             ++i) {
                            const std::size_t p =
                                std::size_t(y + kernel.y0 + j) * std::size_t(width) + std::size_t(x + kernel.x0 + i);
                            const double h = kernel.values[std::size_t(j * kernel.width + i)];
                            score += residual[p] * h, information += weight[p] * h * h;
                        }
                    if (information <= 0) continue;
                    const double z = score / std::sqrt(information);
                    if (z > best.score) best.score = z, best.photons = score / information, best.start = s;
                }
                if (best.score > least_score) found.push_back(best);
            }
        std::stable_sort(found.begin(), found.end(),
                         [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
        std::vector<Candidate> apart;
        for (const Candidate& c : found)
            if (int(apart.size()) < most_tries && std::none_of(apart.begin(), apart.end(), [&](const Candidate& o) {
                    return std::abs(c.x - o.x) <= 1 && std::abs(c.y - o.y) <= 1;
                }))
                apart.push_back(c);
        return apart;
    }

    bool add_one(JointFit& fit) {
        for (const Candidate& candidate : candidates(fit)) {
            JointFit next = fit;
            Emitter added = starts_[candidate.start];
            added.theta[0] = pixels_.left + candidate.x, added.theta[1] = pixels_.top + candidate.y;
            added.theta[2] = std::max(candidate.photons, 50.0);
            const double limit = threshold(fit, added);
            std::vector<std::size_t> near = around(fit, added);
            // From a neighbour within two widths it takes two fifths of the photons: they were one to the fit so far.
            const auto nearest = std::min_element(near.begin(), near.end(), [&](std::size_t a, std::size_t b) {
                return distance(fit.emitters[a], added) < distance(fit.emitters[b], added);
            });
            if (nearest != near.end()) {
                Emitter& neighbour = next.emitters[*nearest];
                if (distance(neighbour, added) < 2.3 * group_.widest(neighbour)) {
                    added.theta[2] = std::max(added.theta[2], split * neighbour.theta[2]);
                    neighbour.theta[2] *= 1 - split;
                }
            }
            near.push_back(next.emitters.size());
            next.emitters.push_back(added);
            group_.fit(next, near, 1e-2);
            if (2 * (fit.half_deviance - next.half_deviance) <= limit) continue;
            fit = std::move(next);
            return true;
        }
        return false;
    }

    /// Removes the emitter that is missed least, if less than its threshold.
    bool remove_one(JointFit& fit) {
        for (std::size_t e = 0; e < fit.emitters.size(); ++e) {
            // Only who is close to another, or dim, is in doubt: to try each would cost as much as to find it.
            const Emitter& one = fit.emitters[e];
            const bool close = std::any_of(fit.emitters.begin(), fit.emitters.end(), [&](const Emitter& o) {
                return &o != &one && distance(o, one) < 1.5 * group_.widest(one);
            });
            const bool dim = one.theta[2] < doubtful * one.crlb[2];
            if (!close && !dim) continue;
            JointFit next = fit;
            next.emitters.erase(next.emitters.begin() + std::ptrdiff_t(e));
            // The nearest one gets its photons, if it is near.
            const auto nearest = std::min_element(
                next.emitters.begin(), next.emitters.end(),
                [&](const Emitter& a, const Emitter& b) { return distance(a, one) < distance(b, one); });
            if (close) nearest->theta[2] += one.theta[2];
            group_.fit(next, around(next, one), 1e-2);
            if (2 * (next.half_deviance - fit.half_deviance) > threshold(fit, one, e)) continue;
            fit = std::move(next);
            return true;
        }
        return false;
    }

    const JointPixels& pixels_;
    const JointOptions& options_;
    Group group_;
    std::vector<Emitter> starts_;
    std::vector<Image> kernels_;
};

}  // namespace

void fit_together(const JointPixels& pixels, const PsfInDouble& psf, int shapes, const JointOptions& options,
                  JointFit& fit) {
    std::vector<std::size_t> all(fit.emitters.size());
    std::iota(all.begin(), all.end(), std::size_t(0));
    Group group(pixels, psf, shapes, options);
    group.fit(fit, all, 0);
    group.finish(fit);
}

int find_together(const JointPixels& pixels, const PsfInDouble& psf, int shapes, const JointOptions& options,
                  JointFit& fit) {
    return Search(pixels, psf, shapes, options).run(fit);
}

}  // namespace glint
