// Several molecules in a ROI: unbiased, with the CRLB as precision, and without false molecules, for any camera and
// number of threads.
// SPDX-License-Identifier: MIT
#include "fit/joint/roi_emitters.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "glint/error.hpp"
#include "glint/localizations.hpp"
#include "psf/in_double.hpp"
#include "tests/expect_error.hpp"
#include "tests/typical_psf.hpp"

namespace glint {
namespace {

constexpr double pixel_nm = 100, background = 10, photons = 2000;
constexpr int size = 13;
constexpr double pair[2][2] = {{4.4, 5.8}, {8.1, 6.3}};  // 3.7 px apart

/// Returns the expected photoelectrons: two molecules in ROIs with an even number, only the first molecule in the other
/// ROIs.
std::vector<double> expected(const Psf& psf, std::size_t roi) {
    std::vector<double> mu(size * size, background);
    for (std::size_t e = 0; e < (roi % 2 ? 1 : 2); ++e) {
        std::array<double, max_parameters> theta{pair[e][0], pair[e][1], photons};
        PsfInDouble(psf, pixel_nm).typical_shape(e ? 0.15 : -0.1, theta.data() + 4);
        PsfInDouble(psf, pixel_nm).add_photons(theta.data(), 0, 0, size, size, mu.data());
    }
    return mu;
}

Rois pairs_and_single_ones(std::size_t count, const Psf& psf, std::mt19937& random) {
    Rois rois;
    rois.size = size;
    for (std::size_t k = 0; k < count; ++k)
        for (const double mu : expected(psf, k))
            rois.pixels.push_back(float(std::poisson_distribution<int>(mu)(random)));
    return rois;
}

FitOptions several(int emitters = any_emitters, int threads = 2) {
    FitOptions options;
    options.emitters = emitters, options.threads = threads, options.psf_misfit = 0;
    return options;
}

/// Returns the rows of a ROI.
std::vector<std::size_t> rows_of(const Fits& fits, std::size_t roi) {
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < fits.count(); ++row)
        if (fits.window[row] == roi) rows.push_back(row);
    return rows;
}

class RoiEmittersOf : public ::testing::TestWithParam<PsfModel> {};

}  // namespace

// Each molecule is found: at 3.7 px the gain is hundreds. Errors divided by their stated precision have a standard
// deviation of 1, known from n ROIs to 1 / sqrt(2 n), since the two errors of a pair are correlated.
TEST_P(RoiEmittersOf, pairs_are_found_and_their_errors_are_as_stated) {
    constexpr std::size_t count = 600;
    const Psf psf = test::typical_psf(GetParam());
    std::mt19937 random(3);
    const Rois rois = pairs_and_single_ones(count, psf, random);
    const Fits fits = fit(rois, psf, pixel_nm, several());
    EXPECT_TRUE(std::is_sorted(fits.window.begin(), fits.window.end()));
    std::size_t others = 0, pulls = 0;
    double sum = 0, squares = 0;
    for (std::size_t roi = 0; roi < count; roi += 2) {
        const std::vector<std::size_t> rows = rows_of(fits, roi);
        others += rows.size() != 2;
        if (rows.size() != 2) continue;
        const bool in_order = fits.theta[0][rows[0]] < fits.theta[0][rows[1]];
        for (std::size_t e : {0, 1}) {
            const std::size_t row = rows[in_order ? e : 1 - e];
            EXPECT_EQ(fits.emitters[row], 2u);
            EXPECT_EQ(fits.status[row], FitStatus::converged);
            EXPECT_EQ(fits.theta[3][row], fits.theta[3][rows[0]]) << "one background";
            for (std::size_t k : {0, 1}) {
                const double pull = (double(fits.theta[k][row]) - pair[e][k]) / double(fits.crlb[k][row]);
                sum += pull, squares += pull * pull, ++pulls;
            }
        }
    }
    EXPECT_LE(others, count / 2 / 100);
    const double independent = double(pulls) / 2;
    EXPECT_NEAR(sum / double(pulls), 0, 4 / std::sqrt(independent));
    // With a free shape, a pair has slightly larger errors than the bound for many photons.
    EXPECT_NEAR(std::sqrt(squares / double(pulls)), 1, 0.03 + 4 / std::sqrt(2 * independent));
}
INSTANTIATE_TEST_SUITE_P(Models, RoiEmittersOf, ::testing::ValuesIn(psf_models().begin(), psf_models().end()),
                         [](const auto& model) { return std::string(to_name(model.param)); });

TEST(RoiEmitters, a_roi_with_one_molecule_keeps_its_fit_bit_for_bit) {
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    std::mt19937 random(5);
    const Rois rois = pairs_and_single_ones(800, psf, random);
    const Fits alone = fit(rois, psf, pixel_nm), fits = fit(rois, psf, pixel_nm, several());
    EXPECT_TRUE(alone.window.empty() && alone.emitters.empty());
    std::size_t more = 0;
    for (std::size_t roi = 1; roi < 800; roi += 2) {
        const std::vector<std::size_t> rows = rows_of(fits, roi);
        ASSERT_GE(rows.size(), 1u);
        more += rows.size() > 1;
        if (rows.size() > 1) continue;
        EXPECT_EQ(fits.emitters[rows[0]], 0u);
        for (std::size_t k = 0; k < 4; ++k) {
            EXPECT_EQ(fits.theta[k][rows[0]], alone.theta[k][roi]);
            EXPECT_EQ(fits.crlb[k][rows[0]], alone.crlb[k][roi]);
        }
        EXPECT_EQ(fits.p_value[rows[0]], alone.p_value[roi]);
    }
    EXPECT_LE(more, 1u);  // once in 1e4
}

TEST(RoiEmitters, no_more_than_asked_for_and_the_same_for_any_threads) {
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    std::mt19937 random(7);
    Rois rois = pairs_and_single_ones(400, psf, random);
    for (std::size_t roi = 0; roi < 400; roi += 2)  // a third molecule in every second ROI
        for (int p = 0; p < size * size; ++p) {
            const double x = p % size - 6.2, y = p / size - 10.0;
            rois.pixels[roi * size * size + std::size_t(p)] +=
                float(std::poisson_distribution<int>(180 * std::exp(-(x * x + y * y) / 3.4))(random));
        }
    const auto most = [&](const Fits& fits) { return *std::max_element(fits.emitters.begin(), fits.emitters.end()); };
    const Fits two = fit(rois, psf, pixel_nm, several(2)), any = fit(rois, psf, pixel_nm, several(any_emitters, 4));
    EXPECT_EQ(most(two), 2u);
    EXPECT_GE(std::count(any.emitters.begin(), any.emitters.end(), 3u), 3 * 190);
    const Fits again = fit(rois, psf, pixel_nm, several(any_emitters, 1));
    EXPECT_EQ(again.theta, any.theta);
    EXPECT_EQ(again.crlb, any.crlb);
    EXPECT_EQ(again.window, any.window);
    const Localizations table = to_localizations(any, rois, psf, 100);
    EXPECT_EQ(table.frame, any.window) << "without frames, ROI k is from frame k";
    EXPECT_EQ(table.emitters.size(), any.count());
}

// Counts converted by the camera match photoelectrons with its noise, except for rounding by the gain.
TEST(RoiEmitters, cameras_with_maps_and_electron_multiplication) {
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    constexpr int width = 40, height = 30;
    Camera emccd, mapped;
    emccd.offset_adu.scalar = 100, emccd.gain_e_per_adu.scalar = 0.5f, emccd.readnoise_e.scalar = 2;
    emccd.kind = CameraKind::EMCCD, emccd.em_gain = 1;
    mapped.kind = CameraKind::SCMOS, mapped.sensor_width = width, mapped.sensor_height = height;
    for (int k = 0; k < width * height; ++k) {
        mapped.offset_adu.map.push_back(100 + float(k % 7));
        mapped.gain_e_per_adu.map.push_back(0.5f + 0.01f * float(k % 11));
        mapped.readnoise_e.map.push_back(1 + 0.5f * float(k % 5));
        mapped.relative_qe.map.push_back(0.9f + 0.05f * float(k % 5));
    }
    for (const Camera& camera : {emccd, mapped}) {
        std::mt19937 random(9);
        const CameraView seen(camera, width, height);
        Rois electrons = pairs_and_single_ones(200, psf, random);
        electrons.variance_scalar = seen.variance_scalar(), electrons.excess_noise = seen.excess_noise();
        electrons.qe_scalar = seen.qe_scalar();
        std::vector<std::uint16_t> counts;
        for (std::size_t p = 0; p < electrons.pixels.size(); ++p) {
            const int roi = int(p / (size * size)), in_roi = int(p % (size * size));
            if (in_roi == 0) electrons.x_corner.push_back(roi % 20), electrons.y_corner.push_back(roi % 15);
            const int at =
                (electrons.y_corner.back() + in_roi / size) * width + electrons.x_corner.back() + in_roi % size;
            const CameraView::Pixel pixel = seen.pixel(std::size_t(at));
            float& e = electrons.pixels[p];
            counts.push_back(std::uint16_t(std::lround(e / pixel.factor_e_per_adu + pixel.offset_adu)));
            e = (float(counts.back()) - pixel.offset_adu) * pixel.factor_e_per_adu;
            if (camera.kind == CameraKind::SCMOS)
                electrons.variance.push_back(pixel.variance_e2), electrons.qe.push_back(pixel.qe);
        }
        RoiView view;
        view.size = size, view.count = 200, view.type = PixelType::uint16, view.camera = &seen;
        view.pixels = reinterpret_cast<const std::byte*>(counts.data());
        view.x_corner = electrons.x_corner, view.y_corner = electrons.y_corner;
        const Fits expected = fit(electrons, psf, pixel_nm, several()), found = fit(view, psf, pixel_nm, several());
        EXPECT_EQ(found.window, expected.window);
        EXPECT_EQ(found.theta, expected.theta);
        EXPECT_EQ(found.crlb, expected.crlb);
        EXPECT_GE(std::count(found.emitters.begin(), found.emitters.end(), 2u), 2 * 98);
    }
}

TEST(RoiEmitters, a_stop_ends_the_work_before_the_next_roi) {
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    std::mt19937 random(5);
    const Rois rois = pairs_and_single_ones(20, psf, random);
    const Fits alone = fit(rois, psf, pixel_nm, several(1));
    RoiView view;
    view.size = size, view.count = 20, view.type = PixelType::float32;
    view.pixels = reinterpret_cast<const std::byte*>(rois.pixels.data());
    KernelInput in{};
    in.count = 20, in.pixels = rois.pixels.data();
    for (const bool stopped : {false, true}) {
        const StopFlag stop{stopped};
        FitOptions options = several();
        options.stop = &stop;
        RoiEmitters emitters(view, psf, pixel_nm, options, alone);
        emitters.fit(in, 0);
        EXPECT_EQ(emitters.rows().count() == 20, stopped);
    }
}

// On this noise, restarts gain again and again; without a limit on their number, the search takes hours.
TEST(RoiEmitters, a_search_ends_where_no_molecules_explain_the_light) {
    constexpr int noise_size = 11;
    std::mt19937 random(1);
    random.discard(160 * noise_size * noise_size);
    Rois rois;
    rois.size = noise_size;
    for (int p = 0; p < noise_size * noise_size; ++p) rois.pixels.push_back(float(random() >> 16));
    const Fits fits = fit(rois, test::typical_psf(PsfModel::GaussianXYNBSXSY), pixel_nm, several());
    EXPECT_GE(fits.count(), 1u);
    EXPECT_LE(fits.count(), std::size_t(max_emitters));
}

TEST(RoiEmitters, refuses_what_it_cannot_do_and_reports_what_it_does) {
    const Psf psf = test::typical_psf(PsfModel::GaussianXYNB);
    std::mt19937 random(11);
    Rois rois = pairs_and_single_ones(300, psf, random);
    for (const int wrong : {-1, 65})
        test::expect_error<OptionError>([&] { fit(rois, psf, pixel_nm, several(wrong)); },
                                        {wrong < 0 ? "-1 emitters" : "65 emitters", "1 to 64", "auto"});
    FitOptions on_gpu = several(), misfit = several(), told = several(), stopped = several();
    on_gpu.backend = Backend::gpu, misfit.psf_misfit = 1.5;
    test::expect_error<OptionError>([&] { fit(rois, psf, pixel_nm, on_gpu); }, {"CPU only", "cpu or auto"});
    test::expect_error<OptionError>([&] { fit(rois, psf, pixel_nm, misfit); }, {"misfit of 1.5", "0 to 1"});
    std::int64_t last = 0;
    told.progress = [&](std::int64_t done, std::int64_t all, std::int64_t) {
        EXPECT_GT(done, last);
        EXPECT_EQ(all, 300);
        last = done;
    };
    FitInfo info;
    rois.pixels[5] = std::nanf("");
    const Fits fits = fit(rois, psf, pixel_nm, told, &info);
    EXPECT_EQ(last, 300);
    EXPECT_EQ(info.fits, 300);
    EXPECT_EQ(info.backend, "cpu");
    EXPECT_EQ(fits.status.front(), FitStatus::bad_input);
    EXPECT_EQ(fits.window[1], 1u) << "a ROI with a bad pixel has one row";
    const StopFlag stop{true};
    stopped.stop = &stop;
    EXPECT_THROW(fit(rois, psf, pixel_nm, stopped), Cancelled);
    rois.pixels.clear();
    EXPECT_EQ(fit(rois, psf, pixel_nm, several()).count(), 0u);
}

}  // namespace glint
