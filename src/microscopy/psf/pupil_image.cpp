// Integrates over the pupil by quadrature that converges exponentially: Gauss-Chebyshev over its rows and
// Gauss-Legendre along each row, so that the sharp edge of the pupil costs no accuracy.
// SPDX-License-Identifier: MIT
#include "psf/pupil_image.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

namespace glint {
namespace {

/// Sets points and weights of Gauss-Legendre quadrature on [-1, 1].
void set_gauss_legendre(int count, std::vector<double>& points, std::vector<double>& weights) {
    points.resize(std::size_t(count)), weights.resize(std::size_t(count));
    for (int k = 0; k < count; ++k) {
        double x = -std::cos(std::numbers::pi * (k + 0.75) / (count + 0.5)), slope = 1;
        for (int step = 0; step < 100; ++step) {
            double before = 1, value = x;
            for (int n = 2; n <= count; ++n)
                before = std::exchange(value, ((2 * n - 1) * x * value - (n - 1) * before) / n);
            slope = count * (x * value - before) / (x * x - 1);
            const double change = value / slope;
            x -= change;
            if (std::abs(change) < 1e-15) break;
        }
        points[std::size_t(k)] = x, weights[std::size_t(k)] = 2 / ((1 - x * x) * slope * slope);
    }
}

/// Returns the focus f, nm, for which depth sqrt(ns^2 - q^2) - f sqrt(ni^2 - q^2) varies least over the pupil.
double find_focus_nm(const Pupil& pupil) {
    constexpr int points = 4000;
    double mean_s = 0, mean_i = 0, both = 0, square = 0;
    for (int k = 0; k < points; ++k) {  // in equal steps of the area
        const double q2 = pupil.na * pupil.na * (k + 0.5) / points;
        const double s = std::sqrt(pupil.sample_index * pupil.sample_index - q2);
        const double i = std::sqrt(pupil.immersion_index * pupil.immersion_index - q2);
        mean_s += s / points, mean_i += i / points, both += s * i / points, square += i * i / points;
    }
    return pupil.depth_nm * (both - mean_s * mean_i) / (square - mean_i * mean_i);
}

}  // namespace

PupilPhase::PupilPhase(const Pupil& pupil, PupilZ moving)
    : per_nm_(2 * std::numbers::pi * pupil.na / pupil.wavelength_nm),
      wave_number_(2 * std::numbers::pi / pupil.wavelength_nm),
      na_(pupil.na),
      sample_index_(pupil.sample_index),
      immersion_index_(pupil.immersion_index),
      moving_index_(moving == PupilZ::stage ? pupil.immersion_index : pupil.sample_index),
      depth_nm_(pupil.depth_nm) {
    if (depth_nm_ != 0) focus_nm_ = find_focus_nm(pupil);
    for (const ZernikeTerm& term : pupil.zernike)
        if (term.rad_rms != 0) terms_.push_back({Zernike(term.noll), term.rad_rms});
}

double PupilPhase::at(double x, double y, double z_nm) const {
    const double q2 = na_ * na_ * (x * x + y * y);
    const auto along_axis = [q2](double index) { return std::sqrt(std::max(index * index - q2, 0.0)); };
    double phase = z_nm * along_axis(moving_index_);
    if (depth_nm_ != 0) phase += depth_nm_ * along_axis(sample_index_) - focus_nm_ * along_axis(immersion_index_);
    phase *= wave_number_;
    for (const Term& term : terms_) phase += term.rad_rms * term.polynomial.value(x, y);
    return phase;
}

double PupilPhase::max_gradient(double z_nm) const {
    constexpr int rings = 48, directions = 96;
    constexpr double step = 1e-4;
    double largest = 0;
    for (int k = 1; k <= rings; ++k)
        for (int n = 0; n < directions; ++n) {
            const double r = (1 - 2 * step) * k / rings, angle = 2 * std::numbers::pi * n / directions;
            const double x = r * std::cos(angle), y = r * std::sin(angle);
            const double by_x = at(x + step, y, z_nm) - at(x - step, y, z_nm),
                         by_y = at(x, y + step, z_nm) - at(x, y - step, z_nm);
            largest = std::max(largest, std::hypot(by_x, by_y) / (2 * step));
        }
    return largest;
}

int PupilImage::count_nodes(const PupilPhase& phase, const ImageCells& cells, double max_gradient,
                            double node_density) {
    // The integrand turns by at most this phase per unit length of the pupil, in the corners of the image. Chebyshev
    // coefficients of exp(i g x) vanish beyond the order g, within about g^(1/3), and n points integrate 2 n orders.
    const double turn = max_gradient + phase.per_nm() * std::numbers::sqrt2 / 2 * cells.edge_nm * cells.count;
    return int(std::min(node_density * (0.5 * turn + std::cbrt(turn) + 4), 1e6));
}

PupilImage::PupilImage(const PupilPhase& phase, const ImageCells& cells, double max_gradient, double node_density)
    : phase_(phase), cells_(cells) {
    const int nodes = count_nodes(phase, cells, max_gradient, node_density);
    for (int j = 1; j <= nodes; ++j) {  // Gauss-Chebyshev of the second kind, with the weight sqrt(1 - y^2)
        const double angle = std::numbers::pi * j / (nodes + 1);
        node_y_.push_back(std::cos(angle));
        node_y_weights_.push_back(std::numbers::pi / (nodes + 1) * std::sin(angle) * std::sin(angle));
    }
    set_gauss_legendre(nodes, chord_, chord_weights_);
    // The intensity contains twice the frequencies of the field.
    set_gauss_legendre(int(0.6 * phase.per_nm() * cells.edge_nm + 3.5), sub_, sub_weights_);
    for (int row = 0; row < cells.count; ++row)
        for (const double sub : sub_)
            for (const double y : node_y_) {
                const double turn = phase.per_nm() * y * cells.edge_nm * (row - 0.5 * (cells.count - 1) + 0.5 * sub);
                cos_y_.push_back(std::cos(turn)), sin_y_.push_back(std::sin(turn));
            }
}

std::vector<double> PupilImage::integrate(double z_nm) const {
    const std::size_t nodes = node_y_.size(), subs = sub_.size(), count = std::size_t(cells_.count);
    const std::size_t columns = count * subs;
    // The transform along x of each row of the pupil; columns are ordered by the point in the cell, then by the cell.
    std::vector<double> real(nodes * columns), imaginary(nodes * columns);
    for (std::size_t j = 0; j < nodes; ++j) {
        const double y = node_y_[j], half = std::sqrt(1 - y * y);
        for (std::size_t i = 0; i < nodes; ++i) {
            const double x = half * chord_[i], per_cell = phase_.per_nm() * cells_.edge_nm * x;
            const double amplitude = node_y_weights_[j] * chord_weights_[i], phase = phase_.at(x, y, z_nm);
            const std::complex<double> step = std::polar(1.0, per_cell);
            for (std::size_t g = 0; g < subs; ++g) {
                std::complex<double> field =
                    std::polar(amplitude, phase + per_cell * (-0.5 * (cells_.count - 1) + 0.5 * sub_[g]));
                double *re = &real[j * columns + g * count], *im = &imaginary[j * columns + g * count];
                for (std::size_t c = 0; c < count; ++c) {
                    re[c] += field.real(), im[c] += field.imag();
                    field = {field.real() * step.real() - field.imag() * step.imag(),
                             field.real() * step.imag() + field.imag() * step.real()};
                }
            }
        }
    }
    // The transform along y, and the light of each cell. The sum over the whole plane is 1 by Parseval's theorem.
    const double half_edge = 0.5 * cells_.edge_nm;
    const double unit = phase_.per_nm() * phase_.per_nm() /
                        (4 * std::numbers::pi * std::numbers::pi * std::numbers::pi) * half_edge * half_edge;
    std::vector<double> light(count * count), field_re(columns), field_im(columns);
    for (std::size_t row = 0; row < count; ++row)
        for (std::size_t h = 0; h < subs; ++h) {
            const double *cos_y = &cos_y_[(row * subs + h) * nodes], *sin_y = &sin_y_[(row * subs + h) * nodes];
            std::fill(field_re.begin(), field_re.end(), 0.0), std::fill(field_im.begin(), field_im.end(), 0.0);
            for (std::size_t j = 0; j < nodes; ++j) {
                const double a = cos_y[j], b = sin_y[j], *re = &real[j * columns], *im = &imaginary[j * columns];
                for (std::size_t c = 0; c < columns; ++c)
                    field_re[c] += a * re[c] - b * im[c], field_im[c] += a * im[c] + b * re[c];
            }
            for (std::size_t g = 0; g < subs; ++g) {
                const double weight = unit * sub_weights_[h] * sub_weights_[g];
                for (std::size_t c = 0; c < count; ++c) {
                    const double re = field_re[g * count + c], im = field_im[g * count + c];
                    light[row * count + c] += weight * (re * re + im * im);
                }
            }
        }
    return light;
}

}  // namespace glint
