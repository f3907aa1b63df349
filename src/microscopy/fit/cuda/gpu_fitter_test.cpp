// Tests of fits on a GPU, real or simulated, against fits on the CPU.
// SPDX-License-Identifier: MIT
#include "glint/gpu_fit.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "glint/simulate.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/lease/lease_state.hpp"
#include "tests/expect_error.hpp"
#include "tests/field_psf.hpp"
#include "tests/typical_psf.hpp"

namespace glint {
namespace {

using test::typical_psf;

constexpr double pixel_nm = 100;

class GpuFit : public gpu::test::GpuTest {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (!IsSkipped() && !has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
    }
};

Rois simulated(PsfModel model, int size, std::size_t count, const Camera& camera = {}) {
    RoiSimulation s;
    s.size = size, s.count = count;
    s.photons_min = parameter_count(model) == 4 ? 500 : describe(model).has_z ? 2000 : 1000;
    s.photons_min *= camera.excess_noise(), s.photons_max = 2 * s.photons_min;
    std::array<std::vector<float>, max_parameters> truth;
    return simulate_rois(s, typical_psf(model), pixel_nm, camera, truth);
}

Fits fit_on_cpu(const RoiView& rois, const Psf& psf, FitOptions options = {}) {
    options.backend = Backend::cpu;
    return fit(rois, psf, pixel_nm, options);
}

struct Compared {
    Fits cpu, gpu;
    FitInfo info;
};

Compared both(const Rois& rois, const Psf& psf, const FitOptions& options = {}, std::int64_t batch_size = 0,
              std::uint64_t bytes = 256 * gpu::test::mib) {
    Compared c;
    c.cpu = fit_on_cpu(view(rois), psf, options);
    c.gpu.resize(psf.model, rois.count());
    GpuFitter(gpu::LeaseRequest{.bytes = bytes}, batch_size)
        .fit(view(rois), psf, pixel_nm, options, view(c.gpu), &c.info);
    return c;
}

/// Both fits stop once a step is below 1e-2 CRLB. If rounding makes one of them take another step, they may differ by
/// that step: 1 fit in 10,000 does (docs/decisions/0016-gpu-math-functions.md). Allows 4 sigma more, and 2 for small
/// numbers.
std::size_t max_apart(std::size_t fits) {
    const double expected = 1e-4 * double(fits);
    return std::size_t(expected + 4 * std::sqrt(expected) + 2);
}

/// Returns how many rows differ in status or by more than 1e-3 CRLB in a parameter.
std::size_t expect_agreement(const Compared& c) {
    std::size_t apart = 0;
    for (std::size_t i = 0; i < c.cpu.count(); ++i) {
        bool agrees = c.cpu.status[i] == c.gpu.status[i];
        for (int k = 0; k < parameter_count(c.cpu.model) && agrees; ++k) {
            EXPECT_TRUE(std::isfinite(c.gpu.theta[k][i]) && std::isfinite(c.gpu.crlb[k][i])) << i;
            const float unit = std::max(c.cpu.crlb[k][i], 1e-6f);
            agrees = c.cpu.crlb[k][i] == 0 || std::abs(c.cpu.theta[k][i] - c.gpu.theta[k][i]) < 1e-3f * unit;
            agrees = agrees && std::abs(c.cpu.crlb[k][i] - c.gpu.crlb[k][i]) <= 1e-2f * unit;
        }
        EXPECT_NEAR(c.cpu.p_value[i], c.gpu.p_value[i], 1e-2) << i;
        apart += !agrees;
    }
    EXPECT_LE(apart, max_apart(c.cpu.count()));
    EXPECT_EQ(c.info.backend, "gpu");
    EXPECT_EQ(c.info.fits, std::int64_t(c.cpu.count()));
    return apart;
}

Camera with_maps(int width, int height) {
    Camera camera;
    camera.kind = CameraKind::SCMOS;
    camera.sensor_width = width, camera.sensor_height = height;
    const std::size_t n = std::size_t(width) * height;
    for (std::size_t k = 0; k < n; ++k) {
        camera.offset_adu.map.push_back(100 + float(k % 7));
        camera.gain_e_per_adu.map.push_back(0.4f + 0.01f * float(k % 11));
        camera.readnoise_e.map.push_back(1 + 0.3f * float(k % 5));
    }
    return camera;
}

}  // namespace

TEST_F(GpuFit, agrees_with_the_cpu_for_every_model_and_kind_of_size) {
    constexpr std::size_t each = 2000;
    std::size_t apart = 0, fits = 0;
    for (const PsfModel model : psf_models())
        for (int size : {7, 8, 11}) {
            SCOPED_TRACE(std::string(to_name(model)) + " " + std::to_string(size));
            apart += expect_agreement(both(simulated(model, size, each), typical_psf(model))), fits += each;
        }
    EXPECT_LE(apart, max_apart(fits));
}

TEST_F(GpuFit, a_psf_that_changes_over_the_field_agrees_with_the_cpu) {
    for (const PsfModel model : {PsfModel::SplineXYZNB, PsfModel::SplineXYNB})
        for (const bool has_maps : {false, true}) {
            SCOPED_TRACE(std::string(to_name(model)) + (has_maps ? ", maps" : ""));
            const Psf psf = test::field_psf(model);
            RoiSimulation s;
            s.size = 9, s.count = 1500, s.photons_min = 3000, s.photons_max = 6000;
            std::array<std::vector<float>, max_parameters> truth;
            const Camera camera = has_maps ? with_maps(110, 85) : Camera{};
            const Rois rois = simulate_rois(s, psf, pixel_nm, camera, truth);
            ASSERT_EQ(rois.x_corner.size(), s.count);
            const Compared found = both(rois, psf, {}, 256);
            expect_agreement(found);
            const Fits one_cell = fit_on_cpu(view(rois), test::one_cell(psf, 0));
            std::size_t others = 0;
            for (std::size_t k = 0; k < s.count; ++k) others += one_cell.theta[2][k] != found.cpu.theta[2][k];
            EXPECT_GT(others, s.count / 2) << "five of six cells must differ, or this test shows nothing";
        }
}

// The maps of an earlier call must not be read by a call without maps, which has corners too.
TEST_F(GpuFit, corners_for_a_field_are_no_corners_on_maps) {
    const Psf psf = test::field_psf(PsfModel::SplineXYZNB);
    RoiSimulation s;
    s.size = 9, s.count = 200, s.photons_min = 3000, s.photons_max = 6000;
    std::array<std::vector<float>, max_parameters> truth;
    const Camera camera = with_maps(110, 85);
    const CameraView seen(camera, 110, 85);
    Rois rois = simulate_rois(s, psf, pixel_nm, {}, truth);  // some begin left of the movie
    std::vector<std::uint16_t> counts(rois.pixels.size(), 120);
    RoiView raw = view(rois);
    raw.type = PixelType::uint16, raw.pixels = reinterpret_cast<const std::byte*>(counts.data()), raw.camera = &seen;
    std::vector<std::int32_t> inside(rois.count(), 10);
    raw.x_corner = raw.y_corner = inside;
    GpuFitter fitter(gpu::LeaseRequest{.bytes = 256 * gpu::test::mib});
    Compared c;
    c.gpu.resize(psf.model, rois.count());
    fitter.fit(raw, psf, pixel_nm, {}, view(c.gpu));
    fitter.fit(view(rois), psf, pixel_nm, {}, view(c.gpu), &c.info);
    c.cpu = fit_on_cpu(view(rois), psf);
    expect_agreement(c);
}

TEST_F(GpuFit, takes_every_size) {
    std::size_t apart = 0, fits = 0;
    for (int size = 3; size <= 31; ++size, fits += 40) {
        SCOPED_TRACE(size);
        apart +=
            expect_agreement(both(simulated(PsfModel::GaussianXYNB, size, 40), typical_psf(PsfModel::GaussianXYNB)));
    }
    EXPECT_LE(apart, max_apart(fits));
}

TEST_F(GpuFit, knows_the_noise_of_every_camera) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    Camera em;
    em.kind = CameraKind::EMCCD, em.em_gain = 100, em.readnoise_e.scalar = 50;
    expect_agreement(both(simulated(psf.model, 7, 300, em), psf));
    Camera read;
    read.readnoise_e.scalar = 2;
    expect_agreement(both(simulated(psf.model, 7, 300, read), psf));
    Rois rois = simulated(psf.model, 7, 300);
    rois.variance.resize(rois.pixels.size());
    for (std::size_t k = 0; k < rois.variance.size(); ++k) rois.variance[k] = float(k % 9);
    expect_agreement(both(rois, psf));
    rois.additive.assign(rois.pixels.size(), 1.5f);
    expect_agreement(both(rois, psf));
    read.relative_qe.scalar = 0.8f;
    expect_agreement(both(simulated(psf.model, 7, 300, read), psf));
}

TEST_F(GpuFit, weighs_pixels_by_their_quantum_efficiency) {
    for (CameraKind kind : {CameraKind::SCMOS, CameraKind::EMCCD})
        for (const PsfModel model : psf_models())
            for (int size : {7, 12}) {
                SCOPED_TRACE(std::string(to_name(model)) + " " + std::to_string(size));
                Camera camera = with_maps(40, 30);
                camera.kind = kind;
                for (int k = 0; k < 1200; ++k) camera.relative_qe.map.push_back(0.4f + 0.1f * float(k * 7 % 12));
                Rois rois = simulated(model, size, 300, camera);
                expect_agreement(both(rois, typical_psf(model)));
                rois.additive.assign(rois.pixels.size(), 1.5f);
                expect_agreement(both(rois, typical_psf(model), {}, 100));
            }
}

TEST_F(GpuFit, reports_impossible_quantum_efficiencies) {
    Camera camera = with_maps(40, 30);
    camera.relative_qe.map.assign(1200, 0.8f);
    Rois rois = simulated(PsfModel::GaussianXYNB, 7, 100, camera);
    rois.qe[0] = 0, rois.qe[49 + 7] = -1, rois.qe[2 * 49 + 5] = NAN;
    const Compared c = both(rois, typical_psf(PsfModel::GaussianXYNB));
    expect_agreement(c);
    for (int bad : {0, 1, 2}) EXPECT_EQ(c.cpu.status[std::size_t(bad)], FitStatus::bad_input);
}

// The GPU converts the counts itself; the CPU gets the photoelectrons of CameraView.
TEST_F(GpuFit, converts_counts_through_the_camera) {
    constexpr int width = 40, height = 30, size = 7;
    constexpr std::size_t n = 200;
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const Rois electrons = simulated(psf.model, size, n);
    Camera scalar;
    scalar.offset_adu.scalar = 100, scalar.gain_e_per_adu.scalar = 0.5f;
    Camera uneven = with_maps(width, height);
    for (int k = 0; k < width * height; ++k) uneven.relative_qe.map.push_back(0.8f + 0.1f * float(k % 5));
    for (const Camera& camera : {scalar, with_maps(width, height), uneven}) {
        const CameraView seen(camera, width, height);
        std::vector<std::uint16_t> counts(electrons.pixels.size());
        std::vector<float> as_float(counts.size());
        Rois rois;
        rois.size = size;
        rois.pixels.resize(counts.size());
        rois.variance_scalar = seen.variance_scalar();
        for (std::size_t r = 0; r < n; ++r) {
            const int x = int(r * 5 % (width - size)), y = int(r * 3 % (height - size));
            rois.x_corner.push_back(x), rois.y_corner.push_back(y);
            for (int p = 0; p < size * size; ++p) {
                const std::size_t k = r * size * size + p, at = std::size_t(y + p / size) * width + x + p % size;
                const CameraView::Pixel pixel = seen.pixel(at);
                as_float[k] = std::round(electrons.pixels[k] / pixel.factor_e_per_adu + pixel.offset_adu);
                counts[k] = std::uint16_t(as_float[k]);
                if (!seen.uniform()) rois.variance.push_back(pixel.variance_e2);
                if (!seen.qe_map().empty()) rois.qe.push_back(pixel.qe);
            }
            seen.window_to_photoelectrons(&as_float[r * size * size], x, y, size, size, &rois.pixels[r * size * size]);
        }
        RoiView raw = view(rois);
        raw.camera = &seen, raw.variance = raw.qe = {};
        Compared c;
        c.cpu = fit_on_cpu(view(rois), psf);
        c.gpu.resize(psf.model, n);
        GpuFitter gpu;
        raw.type = PixelType::uint16, raw.pixels = reinterpret_cast<const std::byte*>(counts.data());
        gpu.fit(raw, psf, pixel_nm, {}, view(c.gpu), &c.info);
        expect_agreement(c);
        raw.type = PixelType::float32, raw.pixels = reinterpret_cast<const std::byte*>(as_float.data());
        gpu.fit(raw, psf, pixel_nm, {}, view(c.gpu), &c.info);
        expect_agreement(c);
    }
}

TEST_F(GpuFit, refuses_rois_outside_the_cameras_maps) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const CameraView seen(with_maps(40, 30), 40, 30);
    const std::vector<std::uint16_t> counts(49 * 3, 120);
    std::vector<std::int32_t> x{0, 33, 34}, y{0, 23, 0};
    RoiView raw;
    raw.size = 7, raw.count = 3, raw.type = PixelType::uint16, raw.camera = &seen;
    raw.pixels = reinterpret_cast<const std::byte*>(counts.data());
    Fits fits;
    fits.resize(psf.model, 3);
    GpuFitter gpu;
    EXPECT_THROW(gpu.fit(raw, psf, pixel_nm, {}, view(fits)), OptionError);  // no corners
    raw.x_corner = x, raw.y_corner = y;
    for (const auto& [bad_x, bad_y] : {std::pair{34, 0}, {-1, 0}, {0, 24}, {0, -1}, {INT32_MAX, 0}, {0, INT32_MIN}}) {
        x[2] = bad_x, y[2] = bad_y;
        std::int64_t finished = 0;
        test::expect_error<OptionError>([&] { gpu.fit(raw, psf, pixel_nm, {}, view(fits), nullptr, &finished); },
                                        {"ROI 2 of 7 px", std::to_string(bad_x).c_str(), "40 x 30 px"});
        EXPECT_EQ(finished, 0);
    }
    x[2] = 33, y[2] = 23;
    EXPECT_NO_THROW(gpu.fit(raw, psf, pixel_nm, {}, view(fits)));
}

TEST_F(GpuFit, converts_eight_bit_counts) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    Rois rois = simulated(psf.model, 7, 300);
    std::vector<std::uint8_t> counts(rois.pixels.size());
    for (std::size_t k = 0; k < counts.size(); ++k)
        counts[k] = std::uint8_t(std::min(rois.pixels[k], 255.0f)), rois.pixels[k] = counts[k];
    const CameraView one_to_one(Camera{}, 7, 7);
    RoiView raw = view(rois);
    raw.type = PixelType::uint8, raw.pixels = reinterpret_cast<const std::byte*>(counts.data()),
    raw.camera = &one_to_one;
    Compared c;
    c.cpu = fit_on_cpu(view(rois), psf);
    c.gpu.resize(psf.model, rois.count());
    GpuFitter().fit(raw, psf, pixel_nm, {}, view(c.gpu), &c.info);
    expect_agreement(c);
}

// Pixels in another library's context on the GPU, e.g. PyTorch's; fitted on that GPU, on another one, and on the CPU.
TEST_F(GpuFit, uses_pixels_in_place) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const Rois rois = simulated(psf.model, 7, 5000);
    RoiView there = view(rois);
    FitOptions options;
    options.backend = Backend::gpu, options.batch_size = 1001;  // so that loads of later batches are not aligned
    const Fits from_host = fit(there, psf, pixel_nm, options), on_cpu = fit_on_cpu(there, psf);
    for (int ordinal = 0; ordinal < std::min(2, gpu_count()); ++ordinal) {
        const gpu::Context theirs(ordinal, {.limit_bytes = 64 * gpu::test::mib, .separate = ordinal == 0});
        const gpu::Stream stream(theirs);
        gpu::Buffer<float> pixels(stream, rois.pixels.size());
        gpu::upload(stream, pixels, rois.pixels);
        stream.synchronize();
        there.pixels = reinterpret_cast<const std::byte*>(pixels.read_on(stream)), there.gpu = ordinal;
        FitInfo info;
        const Fits fits = fit(there, psf, pixel_nm, options, &info);
        ASSERT_EQ(info.gpus.size(), 1u);
        for (const gpu::Device& device : gpu::inventory().devices)
            EXPECT_EQ(info.gpus[0].uuid == device.uuid, device.ordinal == ordinal);
        EXPECT_EQ(info.bytes_up, 0);
        EXPECT_EQ(fits.theta, from_host.theta);
        EXPECT_EQ(fits.p_value, from_host.p_value);
        FitOptions cpu;
        cpu.threads = 2;
        EXPECT_EQ(fit_on_cpu(there, psf, cpu).theta, on_cpu.theta);

        if (gpu_count() < 2) break;
        GpuFitter elsewhere(gpu::LeaseRequest{.avoid = {info.gpus[0].uuid}});
        Fits through_host;
        through_host.resize(psf.model, rois.count());
        elsewhere.fit(there, psf, pixel_nm, options, view(through_host), &info);
        EXPECT_EQ(through_host.theta, from_host.theta);
        EXPECT_GT(info.bytes_up, 0);
    }
}

TEST_F(GpuFit, starts_at_given_values) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNBS);
    Rois rois = simulated(psf.model, 9, 300);
    rois.x_start.assign(300, 4.2f), rois.y_start.assign(300, 3.9f);
    expect_agreement(both(rois, psf));
    FitOptions options;
    std::array<std::vector<float>, max_parameters> start;
    const float values[] = {4, 4, 1000, 8, 1.2f};
    for (int k = 0; k < 5; ++k) start[k].assign(300, values[k]), options.start[k] = start[k];
    expect_agreement(both(rois, psf, options));
}

// One column of start values is page-locked and transferred directly. The columns around it go through the staging
// memory, which still contains the values of the previous call.
TEST_F(GpuFit, starts_at_given_values_in_any_memory) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const Rois rois = simulated(psf.model, 7, 40);
    const auto started_at = [&](GpuFitter& gpu, const std::array<std::span<const float>, 4>& start) {
        FitOptions options;
        for (int k = 0; k < 4; ++k) options.start[k] = start[k];
        Fits fits;
        fits.resize(psf.model, rois.count());
        FitInfo info;
        gpu.fit(view(rois), psf, pixel_nm, options, view(fits), &info);
        return fits;
    };
    std::array<std::vector<float>, 4> near, far;
    const float near_values[] = {3, 3, 1000, 8}, far_values[] = {1.5f, 4.5f, 300, 20};
    for (int k = 0; k < 4; ++k) near[k].assign(40, near_values[k]), far[k].assign(40, far_values[k]);
    GpuFitter gpu{gpu::LeaseRequest{}};
    const Fits expected = started_at(gpu, {near[0], near[1], near[2], near[3]});
    for (int direct = 0; direct < 4; ++direct) {
        started_at(gpu, {far[0], far[1], far[2], far[3]});
        gpu::Pinned<float> pinned(gpu.context(), 40);
        std::copy(near[direct].begin(), near[direct].end(), pinned.data());
        std::array<std::span<const float>, 4> start{near[0], near[1], near[2], near[3]};
        start[direct] = {pinned.data(), 40};
        const Fits mixed = started_at(gpu, start);
        EXPECT_EQ(mixed.iterations, expected.iterations) << direct;
        for (int k = 0; k < 4; ++k) EXPECT_EQ(mixed.theta[k], expected.theta[k]) << direct;
    }
}

TEST_F(GpuFit, results_do_not_depend_on_the_batches) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNBSXSY);
    const Rois rois = simulated(psf.model, 7, 1000);
    const Compared whole = both(rois, psf);
    EXPECT_EQ(whole.info.batches, 1);
    const Compared cut = both(rois, psf, {}, 96);
    EXPECT_EQ(cut.info.batches, 11);
    EXPECT_EQ(cut.info.batch_size, 96);
    EXPECT_EQ(cut.info.bytes_up, std::int64_t(rois.pixels.size() * sizeof(float)));
    for (int k = 0; k < 6; ++k) {
        EXPECT_EQ(whole.gpu.theta[k], cut.gpu.theta[k]);
        EXPECT_EQ(whole.gpu.crlb[k], cut.gpu.crlb[k]);
    }
    EXPECT_EQ(whole.gpu.p_value, cut.gpu.p_value);
    EXPECT_EQ(whole.gpu.status, cut.gpu.status);
    EXPECT_EQ(whole.gpu.iterations, cut.gpu.iterations);
}

TEST_F(GpuFit, few_none_and_unusable) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    expect_agreement(both(simulated(psf.model, 7, 0), psf));
    expect_agreement(both(simulated(psf.model, 7, 1), psf));
    for (bool mapped : {false, true}) {
        Rois rois = simulated(psf.model, 7, 20);
        if (mapped) rois.variance.assign(rois.pixels.size(), 2);
        const float wrong[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(), 2e9f};
        for (int k = 0; k < 4; ++k) rois.pixels[std::size_t(49 * (3 * k + 1) + 11 * k)] = wrong[k];
        std::fill_n(&rois.pixels[49 * 15], 49, 0.0f);
        const Compared c = both(rois, psf);
        EXPECT_EQ(c.cpu.status, c.gpu.status);
        EXPECT_EQ(std::count(c.gpu.status.begin(), c.gpu.status.end(), FitStatus::bad_input), 4);
        for (std::size_t i = 0; i < 20; ++i)
            for (int k = 0; k < 4; ++k)
                EXPECT_TRUE(std::isfinite(c.gpu.theta[k][i]) && std::isfinite(c.gpu.crlb[k][i]));
    }
}

TEST_F(GpuFit, little_memory_makes_small_batches) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const Compared c = both(simulated(psf.model, 15, 6000), psf, {}, 0, 8 << 20);
    expect_agreement(c);
    EXPECT_LT(c.info.batch_size, 6000);
}

TEST_F(GpuFit, pinned_memory_goes_directly) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const Rois rois = simulated(psf.model, 7, 500);
    Compared c;
    c.cpu = fit_on_cpu(view(rois), psf);
    c.gpu.resize(psf.model, 500);
    GpuFitter gpu(gpu::LeaseRequest{}, 128);
    gpu::Pinned<float> pinned(gpu.context(), rois.pixels.size());
    std::copy(rois.pixels.begin(), rois.pixels.end(), pinned.data());
    gpu::Pinned<float> results(gpu.context(), 500 * 10);
    gpu::Pinned<std::uint8_t> states(gpu.context(), 1000);
    FitsView out{psf.model};
    for (int k = 0; k < 4; ++k) out.theta[k] = results.data() + k * 500, out.crlb[k] = results.data() + (4 + k) * 500;
    out.log_likelihood_ratio = results.data() + 4000, out.p_value = results.data() + 4500;
    out.iterations = states.data(), out.status = reinterpret_cast<FitStatus*>(states.data() + 500);
    RoiView rv = view(rois);
    rv.pixels = reinterpret_cast<const std::byte*>(pinned.data());
    const auto pinned_before = gpu.context().statistics().pinned_bytes;
    gpu.fit(rv, psf, pixel_nm, {}, out, &c.info);
    EXPECT_EQ(gpu.context().statistics().pinned_bytes, pinned_before) << "something passed through other memory";
    for (int k = 0; k < 4; ++k) {
        std::copy_n(out.theta[k], 500, c.gpu.theta[k].begin());
        std::copy_n(out.crlb[k], 500, c.gpu.crlb[k].begin());
    }
    std::copy_n(out.p_value, 500, c.gpu.p_value.begin());
    std::copy_n(out.status, 500, c.gpu.status.begin());
    expect_agreement(c);
}

TEST_F(GpuFit, publishes_what_its_batches_have_allocated) {
    // Without a heartbeat, which would report the lost lease a second later.
    gpu::Lease lease = gpu::lease::acquire_in(gpu::lease::machine_dependencies(), {.bytes = 256 * gpu::test::mib});
    if (!lease.visible()) GTEST_SKIP() << "there is no directory of leases";
    const std::uint64_t context_bytes = lease.devices()[0].context_bytes;
    const auto held = [] {
        std::uint64_t bytes = 0;
        for (const gpu::LeaseGpu& one : gpu::snapshot_leases().gpus)
            for (const gpu::LeaseHolder& holder : one.holders)
                if (holder.pid == std::uint32_t(::getpid())) bytes += holder.held_bytes;
        return bytes;
    };
    GpuFitter gpu(std::move(lease));
    EXPECT_EQ(held(), context_bytes);
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const Rois rois = simulated(psf.model, 7, 500);
    Fits fits;
    fits.resize(psf.model, 500);
    gpu.fit(view(rois), psf, pixel_nm, {}, view(fits));
    const std::uint64_t reserved = gpu.context().statistics().reserved_bytes;
    EXPECT_GT(reserved, 0u);
    EXPECT_EQ(held(), context_bytes + reserved);
}

TEST_F(GpuFit, leaves_nothing_behind) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const Rois rois = simulated(psf.model, 7, 100);
    FitOptions options;
    options.backend = Backend::gpu;
    const auto free_bytes = [] { return gpu::inventory().devices.at(0).free_bytes; };
    const std::uint64_t before = free_bytes();
    for (int k = 0; k < 3; ++k) fit(rois, psf, pixel_nm, options);
    EXPECT_GE(free_bytes(), before);
}

// 64-bit indices: more than 2^32 bytes of pixels and of results on a real GPU.
TEST_F(GpuFit, a_hundred_million_rois) {
    const bool simulated_gpu = gpu::inventory().devices.at(0).name.find("Simulated") != std::string::npos;
    const std::size_t n = simulated_gpu ? 20000 : 100000000, few = 1000, pixels = 49;
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const Rois rois = simulated(psf.model, 7, few);
    std::vector<std::uint8_t> counts(n * pixels);
    for (std::size_t k = 0; k < few * pixels; ++k) counts[k] = std::uint8_t(std::min(rois.pixels[k], 255.0f));
    for (std::size_t at = few * pixels; at < counts.size(); at += few * pixels)
        std::copy_n(counts.begin(), std::min(few * pixels, counts.size() - at), counts.begin() + std::ptrdiff_t(at));
    const CameraView one_to_one(Camera{}, 7, 7);
    RoiView raw;
    raw.size = 7, raw.count = n, raw.type = PixelType::uint8, raw.camera = &one_to_one;
    raw.pixels = reinterpret_cast<const std::byte*>(counts.data());
    Fits fits;
    fits.resize(psf.model, n);
    FitInfo info;
    GpuFitter().fit(raw, psf, pixel_nm, {}, view(fits), &info);
    EXPECT_GE(info.bytes_up, std::int64_t(counts.size()));
    std::size_t different = 0;
    for (std::size_t i = few; i < n; ++i) {
        const std::size_t same = i % few;
        different += fits.theta[0][i] != fits.theta[0][same] || fits.theta[2][i] != fits.theta[2][same] ||
                     fits.crlb[3][i] != fits.crlb[3][same] || fits.p_value[i] != fits.p_value[same] ||
                     fits.status[i] != fits.status[same] || fits.iterations[i] != fits.iterations[same];
    }
    EXPECT_EQ(different, 0u);
    EXPECT_GT(std::count(fits.status.begin(), fits.status.end(), FitStatus::converged), std::ptrdiff_t(n / 100 * 99));
}

TEST_F(GpuFit, stops_when_requested) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const Rois rois = simulated(psf.model, 7, 100);
    const StopFlag stop{true};
    FitOptions options;
    options.stop = &stop, options.backend = Backend::gpu;
    EXPECT_THROW(fit(rois, psf, pixel_nm, options), Cancelled);
}

// Without a GPU or without kernels, `automatic` uses the CPU and reports the reason.
TEST(FitBackend, automatic_always_has_a_result) {
    const Psf psf = typical_psf(PsfModel::GaussianXYNB);
    const Rois rois = simulated(psf.model, 7, 100);
    FitOptions options;
    options.backend = Backend::automatic;
    FitInfo info;
    const Fits fits = fit(rois, psf, pixel_nm, options, &info);
    EXPECT_GT(std::count(fits.status.begin(), fits.status.end(), FitStatus::converged), 95);
    EXPECT_EQ(info.note.empty(), info.backend == "gpu") << info.note;
}

}  // namespace glint
