// Joint fits are unbiased and have the CRLB from finite differences. The search finds all molecules, and nothing else.
// SPDX-License-Identifier: MIT
#include "fit/joint/joint_fit.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>

#include "psf/astigmatic_table.hpp"
#include "psf/in_double.hpp"
#include "tests/typical_psf.hpp"

namespace glint {
namespace {

constexpr double pixel_nm = 100, background = 10;

struct Truth {
    Psf model;
    PsfInDouble psf;
    int shapes;
    std::vector<Emitter> emitters;
    std::array<double, 2> tilt{};  // of the background, e- per px
    std::size_t planes() const { return tilt == std::array<double, 2>{} ? 1 : 3; }
};

Emitter emitter(const PsfInDouble& psf, double x, double y, double photons, double z_um = 0) {
    Emitter e;
    e.theta[0] = x, e.theta[1] = y, e.theta[2] = photons;
    psf.typical_shape(z_um, e.theta.data() + 4);
    return e;
}

/// Returns the expected photoelectrons of a window of width x height pixels at (left, top).
std::vector<double> expected(const Truth& truth, const JointPixels& window, double bg) {
    std::vector<double> mu;
    for (int y = 0; y < window.height; ++y)
        for (int x = 0; x < window.width; ++x)
            mu.push_back(bg + truth.tilt[0] * (x - (window.width - 1) / 2.0) +
                         truth.tilt[1] * (y - (window.height - 1) / 2.0));
    for (const Emitter& e : truth.emitters)
        truth.psf.add_photons(e.theta.data(), window.left, window.top, window.width, window.height, mu.data());
    return mu;
}

/// All pixels are used and empty.
JointPixels empty_window(int left, int top, int width, int height) {
    JointPixels window({left, top, width, height});
    for (int y = top; y < top + height; ++y)
        for (int x = left; x < left + width; ++x) {
            const std::size_t p = window.at(x, y);
            window[JointPlane::per_photon][p] = window[JointPlane::searched][p] = 1;
            window[JointPlane::data][p] = window[JointPlane::known][p] = 0;
        }
    window.noise = JointNoise::ideal;
    return window;
}

template <class Draw>
JointPixels filled(const Truth& truth, JointPixels window, Draw draw) {
    const std::vector<double> mu = expected(truth, window, background);
    for (int p = 0; p < window.width * window.height; ++p)
        window[JointPlane::data][window.at(window.left + p % window.width, window.top + p / window.width)] =
            float(draw(mu[std::size_t(p)]));
    return window;
}

JointPixels noisy(const Truth& truth, const JointPixels& window, std::mt19937& random) {
    return filled(truth, window, [&](double mu) { return std::poisson_distribution<int>(mu)(random); });
}

/// Fits, or searches, with a new fitter.
void fit_together(const Truth& truth, const JointPixels& window, const JointOptions& options, JointFit& fit) {
    JointFitter(truth.model, pixel_nm, options).fit(window, fit);
}
int find_together(const Psf& psf, const JointPixels& window, const JointOptions& options, JointFit& fit) {
    return JointFitter(psf, pixel_nm, options).find(window, fit);
}

Truth pair_of(PsfModel model, double apart_px, double photons = 2000) {
    const Psf psf = test::typical_psf(model);
    Truth truth{psf, PsfInDouble(psf, pixel_nm), parameter_count(model) - 4, {}};
    truth.emitters = {emitter(truth.psf, 27.3, 18.6, photons, 0.1),
                      emitter(truth.psf, 27.3 + apart_px, 18.9, photons, -0.15)};
    return truth;
}

/// Returns square roots of the diagonal of the inverse Fisher matrix, by central differences and Gauss-Jordan
/// elimination.
std::vector<double> numerical_crlb(const Truth& truth, const JointPixels& window) {
    const std::size_t each = std::size_t(3 + truth.shapes), planes = truth.planes(),
                      n = planes + each * truth.emitters.size();
    const std::vector<double> mu = expected(truth, window, background);
    std::vector<std::vector<double>> slopes(planes, std::vector<double>(mu.size(), 1.0));
    for (std::size_t p = 0; planes == 3 && p < mu.size(); ++p) {
        slopes[1][p] = int(p) % window.width - (window.width - 1) / 2.0;
        slopes[2][p] = int(p) / window.width - (window.height - 1) / 2.0;
    }
    for (std::size_t e = 0; e < truth.emitters.size(); ++e)
        for (std::size_t k = 0; k < each; ++k) {
            Truth above = truth, below = truth;
            const std::size_t t = k < 3 ? k : k + 1;
            const double h = k == 2 ? 0.5 : 1e-4;
            above.emitters[e].theta[t] += h, below.emitters[e].theta[t] -= h;
            std::vector<double> slope = expected(above, window, background);
            const std::vector<double> other = expected(below, window, background);
            for (std::size_t p = 0; p < slope.size(); ++p) slope[p] = (slope[p] - other[p]) / (2 * h);
            slopes.push_back(slope);
        }
    std::vector<std::vector<double>> a(n, std::vector<double>(2 * n));
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < n; ++k)
            for (std::size_t p = 0; p < mu.size(); ++p) a[i][k] += slopes[i][p] * slopes[k][p] / mu[p];
        a[i][n + i] = 1;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const double pivot = a[i][i];
        for (double& v : a[i]) v /= pivot;
        for (std::size_t r = 0; r < n; ++r) {
            if (r == i) continue;
            const double factor = a[r][i];
            for (std::size_t c = 0; c < 2 * n; ++c) a[r][c] -= factor * a[i][c];
        }
    }
    std::vector<double> crlb;
    for (std::size_t i = 0; i < n; ++i) crlb.push_back(std::sqrt(a[i][n + i]));
    return crlb;
}

class JointFitOf : public ::testing::TestWithParam<PsfModel> {};

}  // namespace

// On noise-free data, the fit ends at the truth, and its precision equals that of finite differences there.
void expect_truth_and_bound(const Truth& truth) {
    const JointPixels window = filled(truth, empty_window(20, 11, 19, 16), [](double mu) { return mu; });
    JointFit fit;
    fit.bg = 8;
    for (std::size_t k : {0, 1}) fit.bg_tilt[k] = 0.9 * truth.tilt[k];
    fit.emitters = truth.emitters;
    for (Emitter& e : fit.emitters) e.theta[0] += 0.2, e.theta[1] -= 0.15, e.theta[2] *= 0.9;
    fit_together(truth, window, {.tolerance = 1e-4}, fit);
    EXPECT_TRUE(fit.converged);
    EXPECT_FALSE(fit.singular);
    EXPECT_NEAR(fit.bg, background, 1e-3);
    for (std::size_t k : {0, 1}) EXPECT_NEAR(fit.bg_tilt[k], truth.tilt[k], 1e-3);
    EXPECT_GT(fit.p_value, 0.99);
    const std::vector<double> bound = numerical_crlb(truth, window);
    for (std::size_t e = 0; e < 2; ++e)
        for (std::size_t k = 0; k < std::size_t(3 + truth.shapes); ++k) {
            const std::size_t t = k < 3 ? k : k + 1;
            const double crlb = bound[truth.planes() + e * std::size_t(3 + truth.shapes) + k];
            EXPECT_NEAR(fit.emitters[e].theta[t], truth.emitters[e].theta[t], 1e-2 * crlb) << e << ' ' << k;
            EXPECT_NEAR(fit.emitters[e].crlb[t], crlb, 1e-3 * crlb) << e << ' ' << k;
        }
    EXPECT_NEAR(fit.emitters[1].theta[3],
                background + truth.tilt[0] * (fit.emitters[1].theta[0] - 29) +
                    truth.tilt[1] * (fit.emitters[1].theta[1] - 18.5),
                2e-3);
}

TEST_P(JointFitOf, a_pair_has_the_truth_and_the_bound) { expect_truth_and_bound(pair_of(GetParam(), 3.5)); }

TEST_P(JointFitOf, so_it_does_on_a_plane) {
    Truth truth = pair_of(GetParam(), 3.5);
    truth.tilt = {0.5, -0.3};
    expect_truth_and_bound(truth);
}

INSTANTIATE_TEST_SUITE_P(Models, JointFitOf, ::testing::ValuesIn(psf_models().begin(), psf_models().end()),
                         [](const auto& model) { return std::string(to_name(model.param)); });

/// Returns the share of pairs that a search misses. A search starts from one molecule between the two. It misses the
/// pair if its likelihood, less the threshold of each molecule, is lower than that of a search from the truth.
double share_missed(Truth truth, const std::function<void(Truth&, std::mt19937&)>& draw) {
    constexpr int count = 200;
    std::mt19937 random(11);
    JointOptions options;
    options.misfit = 0;
    int missed = 0;
    for (int k = 0; k < count; ++k) {
        draw(truth, random);
        const JointPixels window = noisy(truth, empty_window(15, 8, 25, 21), random);
        JointFit of_truth, of_one;
        of_truth.emitters = truth.emitters, of_truth.bg = of_one.bg = background;
        Emitter middle = truth.emitters[0];
        for (std::size_t p = 0; p < 2; ++p) middle.theta[p] = 0.5 * (middle.theta[p] + truth.emitters[1].theta[p]);
        middle.theta[2] += truth.emitters[1].theta[2];
        of_one.emitters = {middle};
        const auto cost = [&](JointFit& fit) {
            find_together(truth.model, window, options, fit);
            return 2 * fit.half_deviance + options.min_gain * double(fit.emitters.size());
        };
        const double least = cost(of_truth);
        missed += cost(of_one) > least + 1;
    }
    return missed / double(count);
}

// For two molecules a width apart, the score of one more molecule beside one in the middle is low everywhere. Without
// splits, 0.18 of these pairs are missed.
TEST(JointFit, a_molecule_that_is_two_is_split) {
    const auto draw = [](Truth& truth, std::mt19937& random) {
        const double angle = std::uniform_real_distribution<>(0, 6.28)(random);
        const double x = 0.6 * std::cos(angle), y = 0.6 * std::sin(angle);
        truth.emitters = {emitter(truth.psf, 27.3 - x, 18.6 - y, 1200), emitter(truth.psf, 27.3 + x, 18.6 + y, 1200)};
    };
    EXPECT_LT(share_missed(pair_of(PsfModel::GaussianXYNB, 0), draw), 0.05);
}

TEST(JointFit, a_molecule_that_begins_where_it_lights_no_pixel_ends_within_the_margin) {
    const Truth truth = pair_of(PsfModel::GaussianXYNB, 3);
    std::mt19937 random(6);
    const JointPixels window = noisy(truth, empty_window(20, 11, 19, 16), random);
    const JointOptions options;
    for (const double far : {-30.0, 30.0}) {
        JointFit fit;
        fit.bg = background, fit.emitters = truth.emitters;
        fit.emitters.push_back(emitter(truth.psf, 29, 19 + far, 200));
        find_together(truth.model, window, options, fit);
        for (const Emitter& found : fit.emitters) {
            EXPECT_GE(found.theta[1], window.top - options.margin_px - 1e-3);
            EXPECT_LE(found.theta[1], window.top + window.height - 1 + options.margin_px + 1e-3);
        }
    }
}

// Errors divided by their stated precision have a standard deviation of 1, known from n fits to 1 / sqrt(2 n).
TEST(JointFit, errors_are_as_stated) {
    constexpr int count = 400;
    const Truth truth = pair_of(PsfModel::GaussianXYNB, 3);
    std::mt19937 random(3);
    double squares = 0, sum = 0;
    int low = 0;
    for (int k = 0; k < count; ++k) {
        const JointPixels window = noisy(truth, empty_window(20, 11, 19, 16), random);
        JointFit fit;
        fit.bg = background, fit.emitters = truth.emitters;
        fit_together(truth, window, {}, fit);
        EXPECT_TRUE(fit.converged);
        low += fit.p_value < 0.05;
        for (std::size_t e = 0; e < 2; ++e) {
            const double pull = (fit.emitters[e].theta[0] - truth.emitters[e].theta[0]) / fit.emitters[e].crlb[0];
            sum += pull, squares += pull * pull;
        }
    }
    // The two errors of a pair are correlated, so `count` is a bound on the number of independent errors.
    EXPECT_NEAR(std::sqrt(squares / (2 * count)), 1, 4 / std::sqrt(2.0 * count));
    EXPECT_NEAR(sum / (2 * count), 0, 4 / std::sqrt(double(count)));
    EXPECT_NEAR(low, 0.05 * count, 4 * std::sqrt(0.05 * count));
}

TEST(JointFit, a_second_molecule_is_found_and_a_third_is_not) {
    constexpr int count = 200;
    const Truth truth = pair_of(PsfModel::GaussianXYNB, 2.6);
    std::mt19937 random(5);
    int pairs = 0;
    for (int k = 0; k < count; ++k) {
        const JointPixels window = noisy(truth, empty_window(20, 11, 19, 16), random);
        JointFit fit;
        fit.bg = background;
        fit.emitters = {emitter(truth.psf, 28.6, 18.8, 3500)};
        const int added = find_together(truth.model, window, {}, fit);
        EXPECT_EQ(added, int(fit.emitters.size()) - 1);
        pairs += fit.emitters.size() == 2;
    }
    EXPECT_GE(pairs, count - 2);
}

// 2 delta log L of a superfluous molecule rarely exceeds 20: with 3 parameters, at some tens of places, once in 1e4.
TEST(JointFit, a_lone_molecule_stays_alone) {
    std::mt19937 random(7);
    int added = 0;
    for (const double photons : {200.0, 2000.0, 20000.0}) {
        Truth truth = pair_of(PsfModel::GaussianXYNB, 3, photons);
        truth.emitters.pop_back();
        for (int k = 0; k < 200; ++k) {
            const JointPixels window = noisy(truth, empty_window(22, 13, 11, 11), random);
            JointFit fit;
            fit.bg = background, fit.emitters = truth.emitters;
            added += find_together(truth.model, window, {}, fit);
        }
    }
    EXPECT_LE(added, 1);
}

// The detection finds parts of an elongated spot, and a fit that begins with them ends with a molecule in each part.
TEST(JointFit, parts_of_a_measured_spot_are_one_molecule) {
    constexpr int count = 40;
    const AstigmaticCurve curve = test::typical_psf(PsfModel::AstigmaticXYZNB).curve;
    for (const int samples : {1, 2}) {
        Psf model{PsfModel::SplineXYZNB};
        model.table = make_astigmatic_table(curve, pixel_nm, {17, 31 * samples + 4, 31 * samples + 4, 1}, samples);
        Truth truth{model, PsfInDouble(model, pixel_nm), 1, {}};
        std::mt19937 random(3);
        for (const double z_um : {-0.5, 0.5}) {
            truth.emitters = {emitter(truth.psf, 27.3, 18.6, 10000, z_um)};
            const JointPixels window = empty_window(17, 8, 21, 21);
            const double crlb_um = numerical_crlb(truth, window)[4];
            double sum_of_squares = 0;
            for (int k = 0; k < count; ++k) {
                JointFit fit;
                fit.bg = background;
                const double across = z_um > 0 ? 0 : 3, down = 3 - across;
                for (const int part : {-1, 0, 1})
                    fit.emitters.push_back(emitter(truth.psf, 27.3 + part * across, 18.6 + part * down, 3000));
                find_together(model, noisy(truth, window, random), {}, fit);
                ASSERT_EQ(fit.emitters.size(), 1u) << samples << ", z " << z_um;
                const double error = (fit.emitters[0].theta[4] - z_um) / crlb_um;
                sum_of_squares += error * error;
            }
            // chi-squared: its standard deviation is sqrt(2 count)
            EXPECT_NEAR(sum_of_squares, count, 5 * std::sqrt(2.0 * count)) << samples << ", z " << z_um;
        }
    }
}

// The model is a tenth too narrow. Without an allowance, bright molecules get satellites.
TEST(JointFit, a_wrong_width_makes_no_molecules_where_it_is_allowed_for) {
    Psf psf = test::typical_psf(PsfModel::GaussianXYNB), wide = psf;
    wide.sigma_nm *= 1.1;
    for (const double misfit : {0.1, 0.0}) {
        std::mt19937 random(9);
        int added = 0;
        for (int k = 0; k < 100; ++k) {
            Truth truth{wide, PsfInDouble(wide, pixel_nm), 0, {}};
            truth.emitters = {emitter(truth.psf, 27.3, 18.6, 10000)};
            const JointPixels window = noisy(truth, empty_window(22, 13, 11, 11), random);
            JointFit fit;
            fit.bg = background, fit.emitters = truth.emitters;
            added += find_together(psf, window, {.misfit = misfit}, fit);
        }
        if (misfit > 0)
            EXPECT_EQ(added, 0);
        else
            EXPECT_GE(added, 50);
    }
}

// If a bound shortens a step, the rest of the step is wrong for the other parameters: they would circle around their
// maximum.
TEST(JointFit, with_z_at_its_bound_the_others_reach_their_maximum) {
    Truth truth = pair_of(PsfModel::AstigmaticXYZNB, 3.5);
    truth.emitters = {emitter(truth.psf, 27.3, 18.6, 4000, 0.45), emitter(truth.psf, 30.8, 18.9, 4000, -0.1)};
    Psf shallow = truth.model;
    shallow.curve.z_min_nm = -250, shallow.curve.z_max_nm = 250;
    std::mt19937 random(13);
    for (int k = 0; k < 50; ++k) {
        const JointPixels window = noisy(truth, empty_window(20, 11, 19, 16), random);
        JointFit fit;
        fit.bg = background, fit.emitters = truth.emitters;
        fit.emitters[0].theta[4] = 0.2;
        JointFitter fitter(shallow, pixel_nm, {});
        fitter.fit(window, fit);
        EXPECT_TRUE(fit.converged && fit.at_bound[0] && !fit.at_bound[1]) << k;
        EXPECT_FLOAT_EQ(float(fit.emitters[0].theta[4]), 0.25f);
        JointFit again = fit;  // starts half a standard error away, with z unchanged
        for (Emitter& e : again.emitters)
            for (const std::size_t p : {0, 1, 2}) e.theta[p] += 0.5 * e.crlb[p];
        fitter.fit(window, again);
        for (std::size_t e : {0, 1})
            for (const std::size_t p : {0, 1, 2})
                EXPECT_NEAR(again.emitters[e].theta[p], fit.emitters[e].theta[p], 0.05 * fit.emitters[e].crlb[p]);
    }
}

// On a tilted background, a fit with a flat one adds molecules up the slope.
TEST(JointFit, a_tilted_background_is_found) {
    constexpr int count = 400;
    Truth truth = pair_of(PsfModel::GaussianXYNB, 3.5, 500);
    truth.tilt = {0.4, -0.2};
    std::mt19937 random(15);
    int tilted = 0, pairs = 0, more_on_flat = 0;
    double sum = 0, squares = 0;
    for (int k = 0; k < count; ++k) {
        const JointPixels window = noisy(truth, empty_window(20, 11, 19, 16), random);
        JointFit fit, flat;
        fit.bg = background, fit.emitters = truth.emitters;
        flat = fit;
        find_together(truth.model, window, {}, fit);
        more_on_flat += find_together(truth.model, window, {.min_tilt_gain = 1e9}, flat) > 0;
        EXPECT_FALSE(flat.tilted());
        tilted += fit.tilted();
        if (fit.emitters.size() != 2) continue;
        const double pull = (fit.emitters[0].theta[0] - truth.emitters[0].theta[0]) / fit.emitters[0].crlb[0];
        sum += pull, squares += pull * pull, ++pairs;
    }
    EXPECT_EQ(tilted, count);
    EXPECT_GE(pairs, count - 4);
    EXPECT_GE(more_on_flat, count / 2);
    EXPECT_NEAR(sum / pairs, 0, 4 / std::sqrt(double(count)));
    EXPECT_NEAR(std::sqrt(squares / pairs), 1, 4 / std::sqrt(2.0 * count));
}

// 2 delta log L of two parameters exceeds 20 five times in 100,000.
TEST(JointFit, a_flat_background_stays_flat) {
    const Truth truth = pair_of(PsfModel::GaussianXYNB, 3.5, 500);
    std::mt19937 random(17);
    int tilted = 0;
    for (int k = 0; k < 1000; ++k) {
        JointFit fit;
        fit.bg = background, fit.emitters = truth.emitters;
        find_together(truth.model, noisy(truth, empty_window(20, 11, 19, 16), random), {}, fit);
        tilted += fit.tilted();
    }
    EXPECT_LE(tilted, 1);
}

TEST(JointFit, empty_and_dead_pixels_give_a_result) {
    const Truth truth = pair_of(PsfModel::GaussianXYNB, 3);
    JointPixels window = empty_window(20, 11, 19, 16);  // all zero
    JointFit fit;
    fit.bg = 1, fit.emitters = truth.emitters;
    find_together(truth.model, window, {}, fit);
    for (const Emitter& e : fit.emitters)
        for (const double value : e.theta) EXPECT_TRUE(std::isfinite(value));
    EXPECT_TRUE(std::isfinite(fit.bg));
    fit.emitters.clear();  // and none to begin with
    std::mt19937 random(11);
    window = noisy(truth, empty_window(20, 11, 19, 16), random);
    EXPECT_EQ(find_together(truth.model, window, {}, fit), 2);
}

}  // namespace glint
