// The search for molecules that the detection did not part: adds from the residual, and removes what is not missed.
//
// While a molecule is tried, only the ones around it move; what is accepted is fitted together again at the end.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "fit/joint_group.hpp"

namespace glint {
namespace {

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
            const double m = std::max(mu[p], least_model), f = pixels_.per_photon[p];
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
    JointGroup group_;
    std::vector<Emitter> starts_;
    std::vector<Image> kernels_;
};

}  // namespace

int find_together(const JointPixels& pixels, const PsfInDouble& psf, int shapes, const JointOptions& options,
                  JointFit& fit) {
    return Search(pixels, psf, shapes, options).run(fit);
}

}  // namespace glint
