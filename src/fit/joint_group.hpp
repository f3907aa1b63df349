// The model of a group of molecules, its derivatives, and the steps of a joint fit.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "fit/joint_fit.hpp"
#include "fit/symmetric_matrix.hpp"

namespace glint {

constexpr double least_model = 0.01;  // as in the kernel: mu' > 0

/// An emitter's image and its derivatives, in a box of the rectangle.
struct Image {
    int x0 = 0, y0 = 0, width = 0, height = 0;  // of the rectangle's pixels
    std::vector<double> values;                 // h, then the derivatives by x, y and the shape

    const double* plane(int k) const {
        return values.data() + std::size_t(k) * std::size_t(width) * std::size_t(height);
    }
    bool empty() const { return width <= 0 || height <= 0; }
};

class JointGroup {
  public:
    JointGroup(const JointPixels& pixels, const PsfInDouble& psf, int shapes, const JointOptions& options)
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
        SymmetricMatrix fisher;
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

}  // namespace glint
