// Tests of detection on a real or simulated GPU, against the CPU.
// SPDX-License-Identifier: MIT
#include "detect/cuda/gpu_detector.hpp"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>

#include "glint/gpu_fit.hpp"
#include "glint/movie_io.hpp"
#include "glint/simulate.hpp"
#include "gpu/gpu_fixture.hpp"

namespace glint {
namespace {

constexpr int roi = 7;

struct Frame {
    Spots spots;
    float spread = 0;
    unsigned bad_pixels = 0;
    Rois rois;
};

std::vector<Frame> found_by_cpu(const FrameBlock& block, const CameraView& camera, const DetectOptions& options) {
    Detector detector(camera, options);
    std::vector<Frame> frames;
    std::vector<float> photoelectrons(std::size_t(block.width) * block.height);
    for (int k = 0; k < block.count; ++k) {
        Frame& frame = frames.emplace_back();
        frame.bad_pixels = unsigned(camera.to_photoelectrons(block.frame(k), block.type, photoelectrons));
        detector.find(photoelectrons, frame.spots);
        frame.spread = float(detector.noise_check());
        frame.rois = make_rois(camera, roi);
        cut_rois(photoelectrons, camera, frame.spots, 0, frame.rois);
    }
    return frames;
}

class GpuDetection : public gpu::test::OneGpuTest {
  protected:
    void SetUp() override {
        OneGpuTest::SetUp();
        if (!IsSkipped() && !has_gpu_kernels()) GTEST_SKIP() << "built without nvcc: there are no kernels";
    }

    /// `part`: maximum number of ROIs per cut.
    std::vector<Frame> found_by_gpu(const FrameBlock& block, const CameraView& camera, const DetectOptions& options,
                                    std::int64_t part = 1000) {
        GpuDetector detector(*stream, detect_module(*context), camera, options);
        gpu::Buffer<std::byte> counts(*stream, block.bytes.size());
        gpu::upload(*stream, counts, block.bytes);
        detector.find(block.count, block.type, counts);
        const auto per_frame = detector.spot_counts();
        const std::int64_t all = std::accumulate(per_frame.begin(), per_frame.end(), std::int64_t(0));
        std::vector<Frame> frames(std::size_t(block.count));
        for (Frame& frame : frames) frame.rois = make_rois(camera, roi);
        for (std::int64_t first = 0; first < all; first += part)
            take(detector.cut(roi, first, std::min(part, all - first)), frames);
        stream->synchronize();
        for (std::size_t k = 0; k < frames.size(); ++k) {
            EXPECT_EQ(frames[k].spots.count(), per_frame[k]);
            frames[k].spread = detector.spreads()[k];
            frames[k].bad_pixels = detector.bad_pixels()[k];
        }
        return frames;
    }

    void take(const GpuSpots& spots, std::vector<Frame>& frames) {
        const std::size_t n = std::size_t(spots.count);
        const auto places = gpu::test::downloaded(*stream, spots.places.view(0, 5 * n));
        const auto starts = gpu::test::downloaded(*stream, spots.starts.view(0, 3 * n));
        const auto pixels = gpu::test::downloaded(*stream, spots.pixels.view(0, n * roi * roi));
        for (std::size_t k = 0; k < n; ++k) {
            Frame& frame = frames.at(std::size_t(places[k]));
            frame.spots.x.push_back(places[n + k]), frame.spots.y.push_back(places[2 * n + k]);
            frame.spots.score.push_back(starts[2 * n + k]);
            frame.rois.x_corner.push_back(places[3 * n + k]), frame.rois.y_corner.push_back(places[4 * n + k]);
            frame.rois.x_start.push_back(starts[k]), frame.rois.y_start.push_back(starts[n + k]);
            frame.rois.pixels.insert(frame.rois.pixels.end(), pixels.begin() + std::ptrdiff_t(k * roi * roi),
                                     pixels.begin() + std::ptrdiff_t((k + 1) * roi * roi));
        }
    }

    /// Window sums have rounding errors of about 1e-7 of the signal in them; the noise is the root of the signal.
    static float score_tolerance(float score, float brightest) {
        return 2e-5f * (score + std::sqrt(brightest)) + 1e-4f;
    }

    static void expect_same_pixel(float cpu, float gpu) {
        if (std::isnan(cpu) || std::isnan(gpu))
            EXPECT_EQ(std::isnan(cpu), std::isnan(gpu));
        else
            EXPECT_EQ(cpu, gpu);
    }

    /// Compares both lists: a spot that is in only one list must be at the threshold. Returns the number of such spots.
    static std::size_t expect_agreement(const Frame& cpu, const Frame& gpu, float threshold, float brightest) {
        EXPECT_EQ(cpu.bad_pixels, gpu.bad_pixels);
        EXPECT_NEAR(cpu.spread, gpu.spread, 2e-4f * std::max(1.0f, cpu.spread));
        const float least = threshold * (cpu.spread > 1.25f ? cpu.spread : 1.0f);
        std::size_t i = 0, k = 0;
        const auto place = [](const Spots& s, std::size_t n) { return std::pair(s.y[n], s.x[n]); };
        const auto alone = [&](float score) { EXPECT_NEAR(score, least, score_tolerance(score, brightest)); };
        while (i < cpu.spots.count() || k < gpu.spots.count()) {
            if (k == gpu.spots.count() || (i < cpu.spots.count() && place(cpu.spots, i) < place(gpu.spots, k))) {
                alone(cpu.spots.score[i++]);
            } else if (i == cpu.spots.count() || place(gpu.spots, k) < place(cpu.spots, i)) {
                alone(gpu.spots.score[k++]);
            } else {
                EXPECT_NEAR(cpu.spots.score[i], gpu.spots.score[k], score_tolerance(cpu.spots.score[i], brightest));
                EXPECT_EQ(cpu.rois.x_corner[i], gpu.rois.x_corner[k]);
                EXPECT_EQ(cpu.rois.y_corner[i], gpu.rois.y_corner[k]);
                EXPECT_EQ(cpu.rois.x_start[i], gpu.rois.x_start[k]);
                EXPECT_EQ(cpu.rois.y_start[i], gpu.rois.y_start[k]);
                for (std::size_t p = 0; p < roi * roi; ++p)
                    expect_same_pixel(cpu.rois.pixels[i * roi * roi + p], gpu.rois.pixels[k * roi * roi + p]);
                ++i, ++k;
            }
            if (HasFailure()) return 0;
        }
        return i;
    }

    std::size_t compare(const FrameBlock& block, const Camera& camera, DetectOptions options = {}) {
        const CameraView view(camera, block.width, block.height);
        const std::vector<Frame> cpu = found_by_cpu(block, view, options), gpu = found_by_gpu(block, view, options);
        if (options.threshold == 0) options.threshold = camera.kind == CameraKind::EMCCD ? 6 : 5;
        float brightest = 1;
        for (const Frame& frame : cpu)
            for (float pixel : frame.rois.pixels) brightest = std::max(brightest, pixel);
        std::size_t spots = 0;
        for (std::size_t k = 0; k < cpu.size(); ++k) {
            SCOPED_TRACE("frame " + std::to_string(k));
            spots += expect_agreement(cpu[k], gpu[k], float(options.threshold), brightest);
            if (HasFailure()) break;
        }
        return spots;
    }
};

Camera ordinary() {
    Camera camera;
    camera.kind = CameraKind::SCMOS;
    camera.offset_adu.scalar = 100, camera.gain_e_per_adu.scalar = 0.5f, camera.readnoise_e.scalar = 1.5f;
    return camera;
}

Camera with_maps(int width, int height) {
    Camera camera = ordinary();
    camera.sensor_width = width, camera.sensor_height = height;
    for (int k = 0; k < width * height; ++k) {
        camera.offset_adu.map.push_back(100 + float(k % 7));
        camera.gain_e_per_adu.map.push_back(0.4f + 0.01f * float(k % 11));
        camera.readnoise_e.map.push_back(1 + 0.3f * float(k % 5) + (k % 97 == 0 ? 20.0f : 0.0f));
    }
    return camera;
}

FrameBlock simulated(const Camera& camera, int width, int height, int frames, double spots = 8, double sigma_px = 1.3) {
    SimulateOptions options;
    options.structure = Structure::random;
    options.psf.sigma_nm = 100 * sigma_px;
    options.width = width, options.height = height, options.frames = frames, options.spots_per_frame = spots;
    FrameBlock block;
    Simulation(options, camera).read(0, frames, block);
    return block;
}

template <class T>
FrameBlock converted(const FrameBlock& from, PixelType type, float offset) {
    FrameBlock to = from;
    to.type = type;
    to.bytes.resize(to.frame_bytes() * std::size_t(to.count));
    const auto* counts = reinterpret_cast<const std::uint16_t*>(from.bytes.data());
    auto* values = reinterpret_cast<T*>(to.bytes.data());
    for (std::size_t k = 0; k < from.bytes.size() / 2; ++k)
        values[k] = T(std::clamp(float(counts[k]) - offset, 0.0f, 255.0f));
    return to;
}

FrameBlock empty(int width, int height, int frames, std::uint16_t count) {
    FrameBlock block;
    block.width = width, block.height = height, block.count = frames;
    block.bytes.resize(block.frame_bytes() * std::size_t(frames));
    for (std::size_t k = 0; k < block.bytes.size() / 2; ++k) std::memcpy(block.bytes.data() + 2 * k, &count, 2);
    return block;
}

}  // namespace

TEST_F(GpuDetection, finds_what_the_cpu_finds_in_frames_of_any_size) {
    for (const auto& [width, height] : {std::pair(96, 64), {53, 37}, {7, 7}, {8, 200}, {1100, 9}, {33, 32}}) {
        SCOPED_TRACE(std::to_string(width) + "x" + std::to_string(height));
        const std::size_t spots = compare(simulated(ordinary(), width, height, 6), ordinary());
        EXPECT_GE(spots, 6u);
    }
}

TEST_F(GpuDetection, for_spots_of_any_width) {
    for (double sigma_px : {0.5, 1.0, 1.6, 2.0, 2.3, 5.0, 8.0}) {
        SCOPED_TRACE(sigma_px);
        const FrameBlock block = simulated(ordinary(), 150, 130, 2, 20, sigma_px);
        EXPECT_GT(compare(block, ordinary(), {.filter = {sigma_px}}), 5u);
        EXPECT_GT(compare(block, with_maps(150, 130), {.filter = {sigma_px}}), 5u);
    }
}

TEST_F(GpuDetection, with_every_camera) {
    EXPECT_GT(compare(simulated(with_maps(96, 80), 96, 80, 6), with_maps(96, 80)), 20u);
    Camera ideal;
    EXPECT_GT(compare(simulated(ideal, 96, 80, 6), ideal), 20u);
    Camera em;
    em.kind = CameraKind::EMCCD, em.em_gain = 100, em.readnoise_e.scalar = 50, em.gain_e_per_adu.scalar = 5;
    EXPECT_GT(compare(simulated(em, 96, 80, 6), em), 20u);
    Camera gain_map = with_maps(96, 80);
    gain_map.readnoise_e = {1.0f, {}};
    EXPECT_GT(compare(simulated(gain_map, 96, 80, 6), gain_map), 20u);
    Camera dim = ordinary();
    dim.relative_qe.scalar = 0.25f;
    EXPECT_GT(compare(simulated(dim, 96, 80, 6), dim), 20u);
    Camera uneven = with_maps(96, 80);
    for (int k = 0; k < 96 * 80; ++k) uneven.relative_qe.map.push_back(0.4f + 0.1f * float(k * 7 % 12));
    EXPECT_GT(compare(simulated(uneven, 96, 80, 6), uneven), 20u);
}

// The noise check with an offset that is too high, and with saturation.
TEST_F(GpuDetection, with_values_that_are_wrong) {
    for (Camera camera : {ordinary(), with_maps(96, 80)}) {
        FrameBlock block = simulated(camera, 96, 80, 4);
        auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
        for (int k = 0; k < 4 * 96 * 80; ++k)
            if (k % 96 > 20 && k % 96 < 60) counts[k] = 65535;
        compare(block, camera);
        if (camera.offset_adu.is_map())
            for (float& offset : camera.offset_adu.map) offset += 60;
        else
            camera.offset_adu.scalar += 60;
        compare(block, camera);
    }
}

TEST_F(GpuDetection, with_every_type_of_pixel) {
    const FrameBlock counts = simulated(ordinary(), 64, 64, 4);
    Camera without_offset = ordinary();
    without_offset.offset_adu.scalar = 0;
    EXPECT_GT(compare(converted<std::uint8_t>(counts, PixelType::uint8, 100), without_offset), 10u);
    FrameBlock numbers = converted<float>(counts, PixelType::float32, 100);
    auto* values = reinterpret_cast<float*>(numbers.bytes.data());
    values[17] = std::numeric_limits<float>::quiet_NaN();
    values[4096 + 5] = std::numeric_limits<float>::infinity();
    values[4096 + 6] = -std::numeric_limits<float>::infinity();
    EXPECT_GT(compare(numbers, without_offset), 10u);
    const std::vector<Frame> gpu = found_by_gpu(numbers, CameraView(without_offset, 64, 64), {});
    EXPECT_EQ(gpu[0].bad_pixels, 1u);
    EXPECT_EQ(gpu[1].bad_pixels, 2u);
    EXPECT_EQ(gpu[2].bad_pixels, 0u);
}

// Also entire tiles, and pixels beside masked ones. Every second frame has all pixels.
TEST_F(GpuDetection, with_missing_pixels) {
    Camera masked = with_maps(96, 80);
    masked.masked.assign(96 * 80, 0);
    for (std::size_t k = 5; k < masked.masked.size(); k += 83) masked.masked[k] = 1;
    for (Camera camera : {ordinary(), with_maps(96, 80), masked}) {
        const FrameBlock counts = simulated(camera, 96, 80, 4, 30);
        FrameBlock block = converted<float>(counts, PixelType::float32, 0);
        auto* values = reinterpret_cast<float*>(block.bytes.data());
        for (int k = 0; k < 4 * 96 * 80; ++k) {
            const int x = k % 96, y = k / 96 % 80;
            if (k / (96 * 80) % 2 == 1 && (x < 37 || y < x / 8)) values[k] = std::numeric_limits<float>::quiet_NaN();
        }
        for (const double sigma_px : {1.3, 3.0}) EXPECT_GT(compare(block, camera, {.filter = {sigma_px}}), 20u);
    }
    FrameBlock nothing = converted<float>(empty(64, 48, 2, 100), PixelType::float32, 0);
    std::fill_n(reinterpret_cast<float*>(nothing.bytes.data()), 64 * 48, std::numeric_limits<float>::infinity());
    EXPECT_EQ(compare(nothing, ordinary()), 0u);
}

TEST_F(GpuDetection, masked_pixels_take_the_mean_of_good_ones) {
    Camera camera = with_maps(64, 64);
    FrameBlock block = simulated(camera, 64, 64, 4);
    camera.masked.assign(64 * 64, 0);
    for (std::size_t k = 5; k < camera.masked.size(); k += 83) camera.masked[k] = 1;
    for (std::size_t k = 63; k < camera.masked.size(); k += 64) camera.masked[k] = 2;  // a column at the edge
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (std::size_t k = 0; k < 4 * camera.masked.size(); ++k)
        if (camera.masked[k % camera.masked.size()]) counts[k] = 9000;
    EXPECT_GT(compare(block, camera), 10u);
}

TEST_F(GpuDetection, finds_nothing_in_empty_frames) {
    EXPECT_EQ(compare(empty(64, 48, 3, 100), ordinary()), 0u);
    EXPECT_EQ(compare(empty(64, 48, 3, 65535), ordinary()), 0u);
}

TEST_F(GpuDetection, when_noise_gets_through) {
    EXPECT_GT(compare(simulated(ordinary(), 96, 80, 3), ordinary(), {.threshold = 1}), 400u);
    Camera wrong = ordinary();
    wrong.gain_e_per_adu.scalar = 2;  // the noise is twice the predicted one, and raises the threshold
    EXPECT_GT(compare(simulated(ordinary(), 96, 80, 3), wrong), 0u);
}

TEST_F(GpuDetection, a_saturated_area_is_one_spot) {
    FrameBlock block = empty(64, 64, 2, 100);
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int y = 20; y < 28; ++y)
        for (int x = 30; x < 37; ++x) counts[y * 64 + x] = 4000;
    counts[4096 + 64 * 63 + 63] = 900;
    EXPECT_EQ(compare(block, ordinary()), 2u);
}

TEST_F(GpuDetection, in_real_movies) {
    const char* folder = std::getenv("GLINT_DATA");
    if (!folder) GTEST_SKIP() << "GLINT_DATA names no folder with movies";
    Camera camera = ordinary();
    for (const char* name : {"sim_2d_low_density.tif", "single_molecules_pmhc.tif", "storm_microtubules_astigmatic.tif",
                             "picasso_testdata.raw"}) {
        SCOPED_TRACE(name);
        FrameBlock block;
        open_movie(std::filesystem::path(folder) / name)->read(0, 6, block);
        compare(block, camera);
    }
}

TEST_F(GpuDetection, a_frame_s_spots_depend_on_that_frame_alone) {
    const FrameBlock block = simulated(ordinary(), 64, 64, 9);
    const CameraView camera(ordinary(), 64, 64);
    const std::vector<Frame> together = found_by_gpu(block, camera, {}, 7);
    for (int k = 0; k < block.count; ++k) {
        FrameBlock one = block;
        one.count = 1;
        one.bytes.assign(block.frame(k), block.frame(k) + block.frame_bytes());
        const Frame alone = found_by_gpu(one, camera, {}).front();
        EXPECT_EQ(alone.spots.x, together[std::size_t(k)].spots.x);
        EXPECT_EQ(alone.spots.y, together[std::size_t(k)].spots.y);
        EXPECT_EQ(alone.spots.score, together[std::size_t(k)].spots.score);
        EXPECT_EQ(alone.spread, together[std::size_t(k)].spread);
        EXPECT_EQ(alone.rois.pixels, together[std::size_t(k)].rois.pixels);
    }
}

TEST_F(GpuDetection, refuses_what_the_detector_refuses) {
    const CameraView camera(ordinary(), 64, 64);
    EXPECT_THROW(GpuDetector(*stream, detect_module(*context), camera, {.filter = {20}}), OptionError);
}

}  // namespace glint
