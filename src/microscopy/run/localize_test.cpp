// Localizing a movie into a file: every spot is found, and the bytes do not depend on threads and memory.
// SPDX-License-Identifier: MIT
#include <type_traits>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/simulate.hpp"
#include "tests/expect_error.hpp"
#include "tests/localize_fixture.hpp"
#include "tests/noise_frames.hpp"

using namespace glint;
using test::Pipeline;
using test::read_bytes;

// Programs that passed FitOptions for a movie must not silently lose their backend and callbacks.
static_assert(!std::is_assignable_v<FitSettings&, const FitOptions&> &&
              !std::is_assignable_v<FitSettings&, FitOptions>);
static_assert(std::is_assignable_v<FitSettings&, FitSettings> && std::is_copy_assignable_v<FitOptions> &&
              std::is_copy_assignable_v<LocalizeOptions>);

TEST_F(Pipeline, finds_every_spot_and_leaves_only_the_output) {
    const auto out = folder_ / "out.hdf5";
    const LocalizeResult result = localize(*movie(), camera(), out, options());
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.frames, frames);
    EXPECT_EQ(result.resumed_frames, 0);
    // At this background, 1500 photons are 40 standard deviations high: no spot is missed, and noise is rarely found.
    EXPECT_GE(result.localizations, frames * spots_per_frame);
    EXPECT_LE(result.localizations, frames * spots_per_frame + 2);
    EXPECT_NEAR(result.noise_check, 1, 4 * test::noise_check_error(width, height, spots_per_frame, frames));
    EXPECT_EQ(folder_.names(), (std::vector<std::string>{"out.hdf5", "out.yaml"}));
    EXPECT_EQ(std::int64_t(read_localizations(out).size()), result.localizations);
}

// The threshold is low, so noise is found. Blocks in progress at a stop may take long, and are dropped.
TEST_F(Pipeline, a_stop_waits_for_no_block_full_of_spots) {
    constexpr int edge = 400, count = 8;  // 2 frames a block, with 7000 spots
    std::mt19937 random(5);
    FrameBlock noise;
    noise.count = count, noise.width = noise.height = edge;
    noise.bytes.resize(noise.frame_bytes() * count);
    auto* counts = reinterpret_cast<std::uint16_t*>(noise.bytes.data());
    for (int k = 0; k < count * edge * edge; ++k)
        counts[k] = std::uint16_t(100 + std::poisson_distribution<int>(10)(random));
    struct Stopping : Movie {
        std::unique_ptr<Movie> movie;
        StopFlag* stop;
        const MovieInfo& info() const override { return movie->info(); }
        void read(std::int64_t first, int frames_read, FrameBlock& block) override {
            if (first == 4 && frames_read == 2) *stop = true;
            movie->read(first, frames_read, block);
        }
    };
    for (const double threshold : {1.0, 4.0}) {
        StopFlag stop{false};
        Stopping stopping;
        stopping.movie = memory_movie(noise, "noise.tif"), stopping.stop = &stop;
        LocalizeOptions how = options(1);
        how.threshold = threshold, how.stop = &stop;
        const auto out = folder_ / "noise.csv", whole = folder_ / "whole.csv";
        const LocalizeResult stopped = localize(stopping, camera(), out, how);
        EXPECT_FALSE(stopped.complete);
        EXPECT_EQ(stopped.frames, threshold == 1 ? 4 : 6) << "few spots: a block that was begun is finished";
        EXPECT_EQ(stopped.spots > 2 * 4096, threshold == 1) << stopped.spots;
        how.stop = nullptr, how.resume = true;
        EXPECT_TRUE(localize(*stopping.movie, camera(), out, how).complete);
        how.resume = false, how.overwrite = true;
        localize(*stopping.movie, camera(), whole, how);
        EXPECT_TRUE(read_bytes(out) == read_bytes(whole));
        std::filesystem::remove(out);
    }
}

TEST_F(Pipeline, same_bytes_for_any_threads_and_memory) {
    const std::string expected = reference();
    int run = 0;
    for (int threads : {1, 4})
        for (std::size_t memory : {std::size_t(1), std::size_t(20000), std::size_t(1) << 28}) {
            LocalizeOptions how = options(threads);
            how.memory_bytes = memory;
            const auto out = folder_ / ("run" + std::to_string(run++) + ".csv");
            localize(*movie(), camera(), out, how);
            EXPECT_EQ(read_bytes(out), expected) << threads << " threads, " << memory << " bytes";
        }
}

// A window of noise may overlap a spot's window, and both are then fitted together.
TEST_F(Pipeline, where_nothing_overlaps_emitters_auto_gives_the_same_rows) {
    LocalizeOptions how = options(2);
    how.fit.emitters = 1;
    const Localizations alone = localize_frames(*movie(), camera(), how);
    how.fit.emitters = any_emitters;
    const Localizations rows = localize_frames(*movie(), camera(), how);
    EXPECT_TRUE(alone.emitters.empty());
    std::size_t same = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        if (rows.emitters[k] != 0) continue;
        for (std::size_t i = 0; i < alone.size(); ++i)
            same += alone.frame[i] == rows.frame[k] && alone.x_px[i] == rows.x_px[k] &&
                    alone.lpx_px[i] == rows.lpx_px[k] && alone.photons[i] == rows.photons[k] &&
                    alone.p_value[i] == rows.p_value[k];
    }
    EXPECT_EQ(same, std::size_t(std::count(rows.emitters.begin(), rows.emitters.end(), 0.0f)));
    EXPECT_GE(same, alone.size() * 95 / 100);
    how.fit.emitters = 2;
    test::expect_error<OptionError>([&] { localize(*movie(), camera(), folder_ / "two.csv", how); },
                                    {"2 emitters", "auto"});
}

TEST_F(Pipeline, molecules_fitted_together_are_the_same_for_any_threads_and_memory) {
    SimulateOptions crowded;
    crowded.structure = Structure::random;
    crowded.psf = options(1).psf;
    crowded.width = width, crowded.height = height, crowded.frames = 12, crowded.spots_per_frame = 15;
    FrameBlock block;
    Simulation(crowded, camera()).read(0, 12, block);
    Localizations first;
    for (const auto& [threads, memory] : {std::pair(1, 1 << 28), {4, 1}, {4, 20000}}) {
        LocalizeOptions how = options(threads);
        how.memory_bytes = std::size_t(memory), how.fit.emitters = any_emitters;
        const Localizations rows = localize_frames(*memory_movie(block), camera(), how);
        if (first.size() == 0) first = rows;
        EXPECT_EQ(rows.x_px, first.x_px) << threads << " threads, " << memory << " bytes";
        EXPECT_EQ(rows.lpx_px, first.lpx_px);
        EXPECT_EQ(rows.emitters, first.emitters);
    }
    EXPECT_EQ(first.emitters.size(), first.size());
    EXPECT_GT(*std::max_element(first.emitters.begin(), first.emitters.end()), 1);
}

// With too little noise assumed, false molecules beside true ones explain the rest: 10 % of the rows appeared to be
// several molecules.
TEST_F(Pipeline, a_wrong_gain_is_not_taken_for_crowded_frames) {
    SimulateOptions sparse;
    sparse.structure = Structure::random;
    sparse.psf = options(1).psf;
    sparse.width = sparse.height = 64, sparse.frames = 60, sparse.spots_per_frame = 40;
    sparse.background = 20, sparse.seed = 4;
    Camera right = camera();
    right.gain_e_per_adu.scalar = 0.5f;
    FrameBlock block;
    Simulation(sparse, right).read(0, 60, block);
    Camera wrong = right;
    for (const float gain : {0.5f, 4.0f}) {
        wrong.gain_e_per_adu.scalar = gain;
        std::string warnings;
        LocalizeOptions how = options(1);
        how.fit.emitters = any_emitters;
        how.warn = [&](const std::string& text) { warnings += text + "\n"; };
        localize_frames(*memory_movie(block, "sparse.tif"), wrong, how);
        EXPECT_EQ(warnings.find(": frames are crowded"), std::string::npos) << warnings;
        EXPECT_EQ(warnings.find("the noise on empty regions is 2.8") == std::string::npos, gain == 0.5f) << warnings;
        EXPECT_EQ(warnings.find("crowded can only be assessed after that") == std::string::npos, gain == 0.5f)
            << warnings;
    }
}

TEST_F(Pipeline, a_damaged_frame_loses_nothing_before_it) {
    const auto out = folder_ / "out.csv";
    TroubledMovie damaged(33, nullptr);
    test::expect_error<InputError>([&] { localize(damaged, camera(), out, options()); },
                                   {"damaged", "33 frames", "out.partial.csv"});
    const Localizations part = read_localizations(partial_path(out), {}, 100);
    EXPECT_GE(part.size(), 33u * spots_per_frame);
    EXPECT_EQ(part.frame.back(), 32u);
}

TEST_F(Pipeline, a_damaged_first_frame_names_no_file_that_does_not_exist) {
    const auto out = folder_ / "out.csv";
    TroubledMovie damaged(0, nullptr);
    try {
        localize(damaged, camera(), out, options());
        FAIL();
    } catch (const InputError& error) {
        const std::string message = error.what();
        EXPECT_NE(message.find("damaged"), std::string::npos);
        EXPECT_EQ(message.find("out."), std::string::npos) << message;
    }
    EXPECT_TRUE(folder_.names().empty());
}

TEST_F(Pipeline, options_are_refused_before_anything_is_written) {
    for (int k = 0; k < 6; ++k) {
        LocalizeOptions how = options();
        if (k == 0) how.pixel_size_nm = 0;
        if (k == 1) how.psf.sigma_nm = 0;
        if (k == 2) how.roi_size = 41;
        if (k == 3) how.frames = {10, 1000};
        if (k == 4) how.fit.max_iterations = 0;
        if (k == 5) how.fit.emitters = 2;  // must be set in LocalizeOptions::emitters instead
        EXPECT_THROW(localize(*movie(), camera(), folder_ / "out.csv", how), OptionError) << k;
    }
    EXPECT_THROW(localize(*movie(), camera(), folder_ / "out.txt", options()), OptionError);
    EXPECT_TRUE(folder_.names().empty());
}

TEST_F(Pipeline, a_movie_without_spots_gives_an_empty_table) {
    FrameBlock empty;
    empty.count = 3, empty.width = width, empty.height = height;
    empty.bytes.resize(empty.frame_bytes() * 3);
    const auto out = folder_ / "out.hdf5";
    const LocalizeResult result = localize(*memory_movie(empty, "dark.tif"), camera(), out, options());
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.localizations, 0);
    EXPECT_EQ(read_localizations(out).size(), 0u);
}

TEST_F(Pipeline, a_few_frames_in_memory_are_those_of_the_file) {
    LocalizeOptions how = options();
    how.frames = {10, 20};
    const Localizations rows = localize_frames(*movie(), camera(), how);
    localize(*movie(), camera(), folder_ / "out.hdf5", how);
    const Localizations file = read_localizations(folder_ / "out.hdf5");
    EXPECT_EQ(rows.frame, file.frame);
    EXPECT_EQ(rows.x_px, file.x_px);
    EXPECT_EQ(rows.frame.front(), 10u);
    EXPECT_EQ(rows.frame.back(), 19u);
}

// Molecules up to 0.4 um from the focus are beyond the calibrated 0.25 um. Their rows keep x and y. At the wrong z, the
// width is wrong by at most a fifth. This leaves x and y unbiased and costs less than a tenth of their precision.
TEST_F(Pipeline, molecules_beyond_the_calibrated_range_are_kept_and_marked) {
    SimulateOptions deep;
    deep.structure = Structure::random;
    deep.psf.model = PsfModel::AstigmaticXYZNB;
    deep.psf.curve = {140, 135, 200, 400, 0, 0, 0, 0, -600, 600};
    deep.width = deep.height = 64, deep.frames = 300, deep.spots_per_frame = 2, deep.on_frames = 1;
    deep.photons_min = deep.photons_max = 4000, deep.background = 5, deep.z_range_nm = 400;
    const Simulation simulation(deep, camera());
    FrameBlock block;
    simulation.read(0, int(deep.frames), block);
    const Localizations truth = simulation.truth(0, deep.frames);
    LocalizeOptions how = options();
    how.psf = deep.psf, how.psf.curve.z_min_nm = -250, how.psf.curve.z_max_nm = 250, how.roi_size = 13;
    for (const int emitters : {1, any_emitters}) {
        how.fit.emitters = emitters;
        how.fit.psf_misfit = 0.3;  // the true misfit; otherwise a wide spot may become two molecules
        LocalizeResult result;
        const Localizations rows = localize_frames(*memory_movie(block), camera(), how, &result);
        const auto with_status = [&](FitStatus status) {
            return std::count(rows.status.begin(), rows.status.end(), std::uint8_t(status));
        };
        EXPECT_EQ(with_status(FitStatus::at_bound), result.at_bound);
        EXPECT_EQ(with_status(FitStatus::converged) + result.at_bound, std::int64_t(rows.size()));
        EXPECT_EQ(result.localizations, std::int64_t(rows.size()));
        int beyond = 0, wrong = 0, count = 0;
        double squares = 0;
        for (std::size_t t = 0; t < truth.size(); ++t) {
            const float z = truth.z_nm[t], x = truth.x_px[t], y = truth.y_px[t];
            const auto near = [&](const Localizations& table, float reach, std::size_t k) {
                return table.frame[k] == truth.frame[t] && std::hypot(table.x_px[k] - x, table.y_px[k] - y) < reach;
            };
            bool lone = x > 8 && y > 8 && x < 55 && y < 55;  // a whole window without light of other molecules
            for (std::size_t k = 0; k < truth.size(); ++k) lone &= k == t || !near(truth, 20, k);
            if (!lone || (std::abs(z) > 200 && std::abs(z) < 300)) continue;  // lpz is 12 nm
            std::size_t row = 0;
            while (row < rows.size() && !near(rows, 0.7f, row)) ++row;
            ASSERT_LT(row, rows.size()) << x << ' ' << y << ' ' << z << ' ' << emitters;
            const bool at_bound = FitStatus(rows.status[row]) == FitStatus::at_bound;
            wrong += at_bound != (std::abs(z) > 250);
            if (!at_bound) continue;
            ++beyond;
            EXPECT_EQ(rows.z_nm[row], z > 0 ? 250 : -250);
            for (const double pull : {(rows.x_px[row] - x) / rows.lpx_px[row], (rows.y_px[row] - y) / rows.lpy_px[row]})
                squares += pull * pull, ++count;
        }
        EXPECT_GE(beyond, 40);
        EXPECT_EQ(wrong, 0);
        EXPECT_LT(std::sqrt(squares / count), 1.4);
    }
    for (const char* name : {"z.hdf5", "z.csv", "z.smlm.h5"}) {
        how.fit.emitters = 1;
        const LocalizeResult result = localize(*memory_movie(block), camera(), folder_ / name, how);
        const Localizations rows = read_localizations(folder_ / name, {}, 100);
        EXPECT_GE(result.at_bound, 40);
        EXPECT_EQ(std::count(rows.status.begin(), rows.status.end(), 2), result.at_bound) << name;
    }
}

// A free width at its bound does not give such a row.
TEST_F(Pipeline, free_widths_at_their_bounds_are_left_out) {
    LocalizeOptions how = options();
    how.psf.model = PsfModel::GaussianXYNBS;
    how.fit.max_sigma_px = 1.2f;  // the spots have 1.3
    const LocalizeResult result = localize(*movie(), camera(), folder_ / "out.hdf5", how);
    EXPECT_EQ(result.at_bound, 0);
    EXPECT_GT(result.not_converged, result.spots * 9 / 10);
}
