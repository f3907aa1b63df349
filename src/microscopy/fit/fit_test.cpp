// Tests of fits: against theory (the CRLB), against the double-precision reference, and in difficult cases.
// SPDX-License-Identifier: MIT
#include "glint/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fit/fit_batch.hpp"
#include "fit/reference.hpp"
#include "glint/error.hpp"
#include "glint/simulate.hpp"
#include "tests/likelihood_bias.hpp"
#include "tests/thorough.hpp"
#include "tests/typical_psf.hpp"

using namespace glint;
using glint::test::typical_psf;

namespace {

using Truth = std::array<std::vector<float>, max_parameters>;
constexpr double pixel_nm = 100;

/// Read noise from 1.2 to 3.2 e-, one pixel in fifty hot with 12 e-.
Camera scmos_camera() {
    Camera camera;
    camera.kind = CameraKind::SCMOS;
    camera.sensor_width = camera.sensor_height = 50;
    for (int k = 0; k < 2500; ++k)
        camera.readnoise_e.map.push_back(k % 50 == 7 ? 12.0f : 1.2f + float(k * 37 % 100) / 50);
    return camera;
}

Camera emccd_camera() {
    Camera camera;
    camera.kind = CameraKind::EMCCD;
    camera.em_gain = 100;
    camera.readnoise_e.scalar = 50;
    return camera;
}

/// Read noise, and a relative quantum efficiency of 0.2 or 0.8.
Camera dim_camera(float qe, float readnoise_e) {
    Camera camera;
    camera.relative_qe.scalar = qe, camera.readnoise_e.scalar = readnoise_e;
    return camera;
}

/// q from 0.25 to 1.35, so that neighbours differ, on an EMCCD or not.
Camera qe_map_camera(CameraKind kind) {
    Camera camera = kind == CameraKind::EMCCD ? emccd_camera() : scmos_camera();
    camera.sensor_width = camera.sensor_height = 50;
    for (int k = 0; k < 2500; ++k) camera.relative_qe.map.push_back(0.25f + 0.1f * float(k * 7 % 12));
    return camera;
}

double lowest_qe(const Camera& camera) {
    const auto& map = camera.relative_qe.map;
    return map.empty() ? camera.relative_qe.scalar : *std::min_element(map.begin(), map.end());
}

struct Condition {
    PsfModel model;
    Camera camera;
    RoiSimulation simulation;
};

/// Conditions in which maximum likelihood attains the CRLB: 7x7 with fixed width, 11x11 and 1000 photons with free
/// widths, 13x13 and 2000 photons with z; on an EMCCD, or with low q, correspondingly more photons for the same
/// information.
Condition efficient(PsfModel model, const Camera& camera) {
    RoiSimulation s;
    s.count = test::sample(20000);
    const bool fixed = parameter_count(model) == 4, z = describe(model).has_z;
    s.size = fixed ? 7 : z ? 13 : 11;
    s.photons_min = fixed ? 500 : z ? 2000 : 1000;
    s.photons_min *= camera.excess_noise() / std::min(1.0, lowest_qe(camera));
    s.photons_max = 2 * s.photons_min;
    return {model, camera, s};
}

struct Fitted {
    Rois rois;
    Truth truth;
    Fits fits;
};

Fitted run(const Condition& c, const FitOptions& options = {}) {
    Fitted r;
    r.rois = simulate_rois(c.simulation, typical_psf(c.model), pixel_nm, c.camera, r.truth);
    r.fits = fit(r.rois, typical_psf(c.model), pixel_nm, options);
    return r;
}

/// Square roots of the CRLB at the true parameters, from a fit that starts and stops there.
Fits at_truth(const Fitted& r, const Psf& psf) {
    FitOptions options;
    options.max_iterations = 1;
    for (int k = 0; k < parameter_count(psf.model); ++k) options.start[k] = r.truth[k];
    return fit(r.rois, psf, pixel_nm, options);
}

/// Returns the mean first-order bias of maximum likelihood, relative to the CRLB. Uses only the first spots, since the
/// bias is nearly the same for all.
Parameters likelihood_bias(const Fitted& r, const Psf& psf) {
    constexpr std::size_t spots = 100;
    const std::size_t pixels = std::size_t(r.rois.size) * r.rois.size;
    const std::vector<float> uniform(pixels, r.rois.variance_scalar);
    Parameters mean{};
    for (std::size_t i = 0; i < spots; ++i) {
        ReferenceRoi roi{r.rois.size, {&r.rois.pixels[i * pixels], pixels}, uniform, {}, r.rois.excess_noise};
        if (!r.rois.variance.empty()) roi.variance = {&r.rois.variance[i * pixels], pixels};
        Parameters truth{};
        for (int k = 0; k < parameter_count(psf.model); ++k) truth[k] = r.truth[k][i];
        const Parameters bias = test::LikelihoodBias(roi, psf, pixel_nm, truth).in_crlb();
        for (int k = 0; k < max_parameters; ++k) mean[k] += bias[k] / spots;
    }
    return mean;
}

void expect_finite(const Fits& fits) {
    const auto all_finite = [](const std::vector<float>& column) {
        return std::all_of(column.begin(), column.end(), [](float v) { return std::isfinite(v); });
    };
    for (int k = 0; k < max_parameters; ++k) EXPECT_TRUE(all_finite(fits.theta[k]) && all_finite(fits.crlb[k])) << k;
    EXPECT_TRUE(all_finite(fits.log_likelihood_ratio) && all_finite(fits.p_value));
}

struct NamedCamera {
    const char* name;
    Camera camera;
};

const std::vector<NamedCamera>& cameras() {
    static const std::vector<NamedCamera> all = {{"ideal", {}},
                                                 {"scmos", scmos_camera()},
                                                 {"emccd", emccd_camera()},
                                                 {"qe", dim_camera(0.8f, 0)},
                                                 {"low_qe_and_read_noise", dim_camera(0.25f, 1.5f)},
                                                 {"scmos_qe_map", qe_map_camera(CameraKind::SCMOS)},
                                                 {"emccd_qe_map", qe_map_camera(CameraKind::EMCCD)}};
    return all;
}

class Efficiency : public testing::TestWithParam<std::tuple<PsfModel, std::size_t>> {
  public:
    static std::string name(const testing::TestParamInfo<ParamType>& test) {
        const auto& [model, camera] = test.param;
        return std::string(to_name(model)) + "_" + cameras()[camera].name;
    }
};

}  // namespace

// Counts batches; threads divide a large one. 5000 is no multiple of 2048, the part of a thread.
TEST(Fit, on_the_cpu_has_batches_of_the_size_asked_for) {
    RoiSimulation s;
    s.count = 12000;
    Truth truth;
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const Rois rois = simulate_rois(s, psf, pixel_nm, {}, truth);
    FitOptions options;
    options.backend = Backend::cpu, options.threads = 2;
    FitInfo info;
    const Fits usual = fit(rois, psf, pixel_nm, options, &info);
    EXPECT_EQ(info.batch_size, 2048);
    for (const auto& [size, batches] : {std::pair(5000, 3), {100, 120}, {12000, 1}, {20000, 1}, {2049, 6}}) {
        options.batch_size = size;
        std::int64_t done = 0;
        options.progress = [&](std::int64_t now, std::int64_t, std::int64_t) { done = now; };
        const Fits fits = fit(rois, psf, pixel_nm, options, &info);
        EXPECT_EQ(info.batches, batches) << size;
        EXPECT_EQ(info.batch_size, std::min(size, 12000));
        EXPECT_EQ(done, 12000) << size;
        EXPECT_EQ(fits.theta, usual.theta) << size;
        EXPECT_EQ(fits.status, usual.status) << size;
    }
}

// The other tests simulate spots at `typical`. They would fail if a parameter had no information there.
TEST(Fit, typical_is_where_every_parameter_has_information) {
    for (const PsfModel model : psf_models())
        for (int step = -4; step <= 4; ++step) {
            const double z_um = 0.1 * step;
            const Psf psf = typical_psf(model);
            constexpr int size = 13;
            Parameters theta{6, 6, 2000, 10};
            PsfInDouble(psf, pixel_nm).typical_shape(z_um, theta.data() + 4);
            const std::vector<float> pixels(size * size, 10.0f), variance(size * size, 0.0f);
            const Parameters crlb = reference_crlb({size, pixels, variance, {}}, psf, pixel_nm, theta);
            const auto finite = [](double v) { return std::isfinite(v) && v > 0; };
            EXPECT_TRUE(std::all_of(crlb.begin(), crlb.begin() + parameter_count(model), finite))
                << "`typical` of " << to_name(model) << " is no point to simulate and fit at: at z = " << z_um
                << " um a parameter has no information, or two have the same, and the CRLB is not finite "
                   "(src/microscopy/psf/model.hpp)";
        }
}

TEST_P(Efficiency, std_is_the_crlb_and_p_is_uniform) {
    const auto& [model, camera] = GetParam();
    const Condition c = efficient(model, cameras()[camera].camera);
    const Fitted r = run(c);
    const Fits bound = at_truth(r, typical_psf(c.model));
    const double n = double(r.fits.count());
    const Parameters bias = likelihood_bias(r, typical_psf(c.model));
    for (int k = 0; k < parameter_count(c.model); ++k) {
        double sum = 0, squares = 0;
        for (std::size_t i = 0; i < r.fits.count(); ++i) {
            const double e = (r.fits.theta[k][i] - r.truth[k][i]) / bound.crlb[k][i];
            sum += e, squares += e * e;
        }
        const double mean = sum / n, std = std::sqrt(squares / n - mean * mean);
        EXPECT_NEAR(std, 1, 4 / std::sqrt(2 * n)) << parameter_names(c.model)[k];
        EXPECT_NEAR(mean, bias[k], 4 / std::sqrt(n)) << parameter_names(c.model)[k];
    }
    const auto converged = std::count(r.fits.status.begin(), r.fits.status.end(), FitStatus::converged);
    EXPECT_GE(double(converged), 0.999 * n);
    const auto small = std::count_if(r.fits.p_value.begin(), r.fits.p_value.end(), [](float p) { return p < 0.01f; });
    EXPECT_NEAR(double(small) / n, 0.01, 0.002 + 4 * std::sqrt(0.01 / n));
}
INSTANTIATE_TEST_SUITE_P(ModelsAndCameras, Efficiency,
                         testing::Combine(testing::ValuesIn(psf_models().begin(), psf_models().end()),
                                          testing::Range(std::size_t(0), cameras().size())),
                         Efficiency::name);

// Dim spots do not reach the CRLB. The result must nevertheless be the maximum of the likelihood, as found in double
// precision from the same start.
TEST(Fit, dim_spots_reach_the_reference_maximum) {
    for (int model = 0; model < int(psf_models().size()); ++model) {
        Condition c = efficient(PsfModel(model), Camera{});
        c.simulation.count = 150;
        c.simulation.photons_min = 50, c.simulation.photons_max = 500, c.simulation.background = 50;
        const Psf psf = typical_psf(c.model);
        Fitted r;
        r.rois = simulate_rois(c.simulation, psf, pixel_nm, c.camera, r.truth);
        FitOptions options;
        for (int k = 0; k < parameter_count(c.model); ++k) options.start[k] = r.truth[k];
        r.fits = fit(r.rois, psf, pixel_nm, options);
        const std::size_t pixels = std::size_t(r.rois.size) * r.rois.size;
        const std::vector<float> no_noise(pixels, 0.0f);
        std::vector<double> worst;
        for (std::size_t i = 0; i < r.fits.count(); ++i) {
            if (r.fits.status[i] != FitStatus::converged) continue;
            Parameters start{};
            for (int k = 0; k < parameter_count(c.model); ++k) start[k] = r.truth[k][i];
            const ReferenceRoi roi{r.rois.size, {r.rois.pixels.data() + i * pixels, pixels}, no_noise, {}, 1};
            const ReferenceFit expected = reference_fit(roi, psf, pixel_nm, start);
            if (!expected.converged) continue;
            double difference = 0;
            for (int k = 0; k < parameter_count(c.model); ++k)
                difference = std::max(difference, std::abs(r.fits.theta[k][i] - expected.theta[k]) / expected.crlb[k]);
            worst.push_back(difference);
        }
        ASSERT_GT(worst.size(), 100u) << to_name(c.model);
        std::sort(worst.begin(), worst.end());
        EXPECT_LT(worst[worst.size() / 2], 0.01) << to_name(c.model);
        EXPECT_LT(worst[worst.size() * 97 / 100], 0.1) << to_name(c.model);  // 1 % allowed, and its sampling error
    }
}

TEST(Fit, crlb_and_llr_are_the_references) {
    for (int model = 0; model < int(psf_models().size()); ++model) {
        Condition c = efficient(PsfModel(model), emccd_camera());
        c.simulation.count = 20;
        const Fitted r = run(c);
        const Psf psf = typical_psf(c.model);
        const std::size_t pixels = std::size_t(r.rois.size) * r.rois.size;
        const std::vector<float> variance(pixels, r.rois.variance_scalar);
        for (std::size_t i = 0; i < r.fits.count(); ++i) {
            Parameters start{};
            for (int k = 0; k < parameter_count(c.model); ++k) start[k] = r.truth[k][i];
            const ReferenceRoi roi{r.rois.size, {r.rois.pixels.data() + i * pixels, pixels}, variance, {}, 2};
            const ReferenceFit expected = reference_fit(roi, psf, pixel_nm, start);
            for (int k = 0; k < parameter_count(c.model); ++k)
                EXPECT_NEAR(r.fits.crlb[k][i] / expected.crlb[k], 1, 2e-3) << to_name(c.model) << " " << k;
            EXPECT_NEAR(r.fits.log_likelihood_ratio[i], expected.log_likelihood_ratio,
                        1e-3 + 1e-5 * std::abs(expected.log_likelihood_ratio));
        }
    }
}

// The kernel weights pixels by q; the reference uses an excess noise of F^2 / q for each pixel.
TEST(Fit, with_maps_of_the_quantum_efficiency_crlb_llr_and_maximum_are_the_references) {
    for (int model = 0; model < int(psf_models().size()); ++model)
        for (CameraKind kind : {CameraKind::SCMOS, CameraKind::EMCCD}) {
            Condition c = efficient(PsfModel(model), qe_map_camera(kind));
            c.simulation.count = 20;
            const Fitted r = run(c);
            const Psf psf = typical_psf(c.model);
            const std::size_t pixels = std::size_t(r.rois.size) * r.rois.size;
            for (std::size_t i = 0; i < r.fits.count(); ++i) {
                Parameters start{};
                for (int k = 0; k < parameter_count(c.model); ++k) start[k] = r.truth[k][i];
                const auto of = [&](const std::vector<float>& all) {
                    return std::span<const float>(all.data() + i * pixels, pixels);
                };
                const ReferenceRoi roi{r.rois.size, of(r.rois.pixels),   of(r.rois.variance),
                                       {},          r.rois.excess_noise, of(r.rois.qe)};
                const ReferenceFit expected = reference_fit(roi, psf, pixel_nm, start);
                for (int k = 0; k < parameter_count(c.model); ++k) {
                    EXPECT_NEAR(r.fits.crlb[k][i] / expected.crlb[k], 1, 2e-3) << to_name(c.model) << " " << k;
                    // Converged: the step after the last is below a hundredth of the CRLB.
                    EXPECT_NEAR(r.fits.theta[k][i], expected.theta[k], 0.01 * expected.crlb[k])
                        << to_name(c.model) << k;
                }
                EXPECT_NEAR(r.fits.log_likelihood_ratio[i], expected.log_likelihood_ratio,
                            1e-3 + 1e-5 * std::abs(expected.log_likelihood_ratio));
            }
        }
}

TEST(Fit, a_map_of_one_quantum_efficiency_is_that_number) {
    Condition c = efficient(PsfModel::GaussianXYNB, dim_camera(0.25f, 1.5f));
    c.simulation.count = 500;
    Fitted r = run(c);
    Rois mapped = r.rois;
    mapped.qe.assign(mapped.pixels.size(), mapped.qe_scalar), mapped.qe_scalar = 1;
    mapped.variance.assign(mapped.pixels.size(), mapped.variance_scalar);
    const Fits fits = fit(mapped, typical_psf(c.model), pixel_nm);
    for (std::size_t i = 0; i < fits.count(); ++i)
        for (int k = 0; k < 4; ++k) {
            EXPECT_NEAR(fits.theta[k][i], r.fits.theta[k][i], 0.01 * r.fits.crlb[k][i]) << i;
            EXPECT_NEAR(fits.crlb[k][i] / r.fits.crlb[k][i], 1, 1e-2) << i;
            EXPECT_NEAR(fits.p_value[i], r.fits.p_value[i], 1e-3) << i;
        }
}

TEST(Fit, every_roi_size_fits) {
    for (int size = min_roi_size; size <= max_roi_size; ++size) {
        Condition c = efficient(PsfModel::GaussianXYNB, Camera{});
        c.simulation.size = size;
        c.simulation.count = 37;
        c.simulation.spread_px = size < 5 ? 0.4 : 1;
        const Fitted r = run(c);
        expect_finite(r.fits);
        for (std::size_t i = 0; i < r.fits.count(); ++i)
            EXPECT_NEAR(r.fits.theta[0][i], r.truth[0][i], 6 * r.fits.crlb[0][i] + 1e-3) << size << " roi " << i;
    }
}

TEST(Fit, result_does_not_depend_on_threads_or_grouping) {
    Condition c = efficient(PsfModel::GaussianXYNBS, scmos_camera());
    c.simulation.count = 5003;
    FitOptions one, four;
    one.threads = 1, four.threads = 4;
    const Fitted a = run(c, one), b = run(c, four);
    EXPECT_EQ(a.fits.theta, b.fits.theta);
    EXPECT_EQ(a.fits.crlb, b.fits.crlb);
    EXPECT_EQ(a.fits.p_value, b.fits.p_value);
    Rois tail = a.rois;  // from ROI 5 on, so that every fit has other neighbours in its register
    const auto skip = std::ptrdiff_t(5 * tail.size * tail.size);
    tail.pixels.erase(tail.pixels.begin(), tail.pixels.begin() + skip);
    tail.variance.erase(tail.variance.begin(), tail.variance.begin() + skip);
    const Fits shifted = fit(tail, typical_psf(c.model), pixel_nm);
    for (std::size_t i = 0; i < shifted.count(); ++i) {
        ASSERT_EQ(shifted.theta[0][i], a.fits.theta[0][i + 5]) << i;
        ASSERT_EQ(shifted.crlb[4][i], a.fits.crlb[4][i + 5]) << i;
        ASSERT_EQ(shifted.p_value[i], a.fits.p_value[i + 5]) << i;
    }
}

TEST(Fit, additive_map_takes_a_neighbour_out) {
    Condition c = efficient(PsfModel::GaussianXYNB, Camera{});
    c.simulation.count = 2000;
    Fitted r = run(c);
    const Fits alone = r.fits;
    r.rois.additive.assign(r.rois.pixels.size(), 0.0f);
    for (std::size_t p = 0; p < r.rois.pixels.size(); ++p)
        if (p % 7 >= 5) r.rois.additive[p] = 40, r.rois.pixels[p] += 40;  // known signal without noise
    const Fits with_map = fit(r.rois, typical_psf(c.model), pixel_nm);
    double sum = 0, squares = 0;
    const double n = double(alone.count());
    for (std::size_t i = 0; i < alone.count(); ++i) {
        const double difference = with_map.theta[0][i] - alone.theta[0][i];
        sum += difference, squares += difference * difference;
    }
    // Pixels with too low a weight do not bias the fit: it stays within 4 standard errors.
    EXPECT_GT(squares, 0);
    EXPECT_NEAR(sum / n, 0, 4 * std::sqrt(squares) / n);
}

TEST(Fit, hard_cases_stay_finite_and_say_what_they_are) {
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    for (const PsfModel model : psf_models())
        for (int size : {3, 4, 7, 8, 13, 31}) {
            SCOPED_TRACE(to_name(model));
            const int pixels = size * size;
            Rois rois;
            rois.size = size;
            const auto add = [&](auto value) {
                for (int p = 0; p < pixels; ++p) rois.pixels.push_back(float(value(p)));
            };
            add([](int) { return 0.0; });                                 // 0: empty
            add([](int) { return 100.0; });                               // 1: constant
            add([](int p) { return p == 0 ? 65535.0 : 10.0; });           // 2: hot corner
            add([&](int p) { return p == pixels / 2 ? 65535.0 : 0.0; });  // 3: one bright pixel on nothing
            add([](int) { return 65535.0; });                             // 4: saturated
            add([&](int p) { return p == 3 ? double(nan) : 10.0; });      // 5: NaN
            add([&](int p) { return p == 4 ? double(inf) : 10.0; });      // 6: infinity
            add([](int p) { return p % 2 ? -50.0 : 60.0; });              // 7: negative counts
            add([&](int p) { return p % size == 0 ? 500.0 : 5.0; });      // 8: a spot outside
            add([](int) { return 1e30; });                                // 9: absurd
            add([](int p) { return p % 5 == 0 ? 1e6 : 0; });              // 10: comb
            for (float variance : {0.0f, 2.0f}) {
                rois.variance_scalar = variance;
                const Fits fits = fit(rois, typical_psf(model), pixel_nm);
                expect_finite(fits);
                for (int bad : {5, 6, 9}) EXPECT_EQ(fits.status[bad], FitStatus::bad_input) << bad << " size " << size;
                for (int dull : {0, 1, 4})
                    EXPECT_NE(fits.status[dull], FitStatus::converged) << dull << " size " << size;
            }
        }
}

TEST(Fit, two_molecules_have_a_low_p_value) {
    const Condition c = efficient(PsfModel::GaussianXYNB, Camera{});
    Fitted r = run(c);
    for (std::size_t i = 1; i < r.fits.count(); i += 2)  // a second, shifted copy of the neighbour's pixels
        for (int p = 0; p + 2 < 49; ++p) r.rois.pixels[i * 49 + p] += r.rois.pixels[(i - 1) * 49 + p + 2];
    const Fits fits = fit(r.rois, typical_psf(c.model), pixel_nm);
    int low = 0;
    for (std::size_t i = 1; i < fits.count(); i += 2) low += fits.p_value[i] < 0.01f;
    EXPECT_GT(low, int(fits.count() / 2) * 8 / 10);
}

TEST(Fit, instruction_sets_agree) {
#if defined(__x86_64__)
    Condition c = efficient(PsfModel::GaussianXYNB, Camera{});
    c.simulation.count = 2000;
    const Fitted r = run(c);
    const KernelPsf psf{1.3f, 0.3f, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {}, {}};
    const KernelOptions options{7, 50, 0.01f, 1.5f, 0, 1, false};
    const KernelInput in{r.rois.pixels.data(), nullptr, nullptr, 0, {}, 2000, nullptr};
    const auto with = [&](auto batch) {
        Fits fits;
        fits.resize(c.model, 2000);
        KernelOutput out{};
        for (int k = 0; k < 4; ++k) out.theta[k] = fits.theta[k].data(), out.crlb[k] = fits.crlb[k].data();
        out.log_likelihood_ratio = fits.log_likelihood_ratio.data(), out.p_value = fits.p_value.data();
        out.iterations = fits.iterations.data(), out.status = reinterpret_cast<std::uint8_t*>(fits.status.data());
        batch(psf, options, in, out);
        return fits;
    };
    const auto expect_close = [&](const Fits& a, const Fits& b) {
        int far = 0;
        for (std::size_t i = 0; i < a.count(); ++i)
            far += std::abs(a.theta[0][i] - b.theta[0][i]) > 1e-3f * a.crlb[0][i];
        // 1 in 10,000 differs by one iteration (docs/decisions/0016-gpu-math-functions.md): 3 of 2000 are very unlikely
        EXPECT_LE(far, 2);
    };
    const Fits narrow = with(sse2::fit_GaussianXYNB);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        expect_close(narrow, with(avx2::fit_GaussianXYNB));
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        expect_close(narrow, with(avx512::fit_GaussianXYNB));
#else
    GTEST_SKIP() << "one instruction set on this machine";
#endif
}

TEST(Fit, refuses_what_it_cannot_fit_and_says_how_to_go_on) {
    const auto message = [](const Rois& rois, const Psf& psf, double pixel,
                            const FitOptions& options = {}) -> std::string {
        try {
            fit(rois, psf, pixel, options);
        } catch (const OptionError& error) {
            return error.what();
        }
        return "";
    };
    Rois rois;
    rois.size = 7;
    rois.pixels.assign(49, 1.0f);
    Rois small = rois, ragged = rois;
    small.size = 2, ragged.pixels.pop_back();
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    EXPECT_NE(message(small, psf, 100).find("3 to 31"), std::string::npos);
    EXPECT_NE(message(ragged, psf, 100).find("7x7"), std::string::npos);
    EXPECT_NE(message(rois, psf, 0).find("`pixel_size=100nm`"), std::string::npos);
    EXPECT_NE(message(rois, Psf{}, 100).find("`sigma=130nm`"), std::string::npos);
    EXPECT_NE(message(rois, Psf{PsfModel::AstigmaticXYZNB, 0, {}}, 100).find("`calibration=FILE`"), std::string::npos);
    // As from old callers, which pass micrometres.
    const std::string small_pixel = message(rois, psf, 0.1);
    EXPECT_NE(small_pixel.find("a pixel size of 0.1 nm: give nanometres, 1 to 100000, as in `pixel_size=100nm`"),
              std::string::npos)
        << small_pixel;
    const std::string narrow = message(rois, Psf{PsfModel::GaussianXYNB, 0.13, {}}, 100);
    EXPECT_NE(narrow.find("a PSF width of 0.13 nm: give nanometres, at least 1, as in `sigma=130nm`"),
              std::string::npos)
        << narrow;
    EXPECT_EQ(message(rois, Psf{PsfModel::GaussianXYNB, 0.13, {}}, 0.1), small_pixel) << "their ratio is plausible";
    Psf shallow = typical_psf(PsfModel::AstigmaticXYZNB);
    shallow.curve.z_min_nm = -0.6, shallow.curve.z_max_nm = 0.6;
    EXPECT_NE(message(rois, shallow, 100).find("the range of z 10 nm"), std::string::npos);
    shallow.curve = {0.13, 0.13, 0.2, 0.4, 0, 0, 0, 0, -600, 600};
    EXPECT_NE(message(rois, shallow, 100).find("give nanometres, as in sx0 = 140"), std::string::npos);
    rois.pixels.clear();
    EXPECT_EQ(fit(rois, psf, 100).count(), 0u);
}

TEST(Fit, a_stop_is_an_exception) {
    StopFlag stop = true;
    FitOptions options;
    options.stop = &stop;
    EXPECT_THROW(run(efficient(PsfModel::GaussianXYNB, Camera{}), options), Cancelled);
}
