// Localizing a movie into a file: the same bytes whatever the threads, the memory and the interruptions.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <random>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/localize.hpp"
#include "run/run.hpp"
#include "run/run_files.hpp"
#include "run/settings.hpp"
#include "tests/noise_frames.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using test::read_bytes;

namespace {

constexpr int width = 48, height = 40, frames = 60, spots_per_frame = 3;
constexpr double background = 10, photons = 1500, sigma_px = 1.3;

double share(double pixel, double center) {
    const double scale = 1 / (std::sqrt(2.0) * sigma_px);
    return 0.5 * (std::erf((pixel + 0.5 - center) * scale) - std::erf((pixel - 0.5 - center) * scale));
}

/// Spots on a fixed grid, jittered from frame to frame, with Poisson noise: counts are photoelectrons + 100.
FrameBlock spots_movie() {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> jitter(-2, 2);
    FrameBlock block;
    block.count = frames, block.width = width, block.height = height;
    block.bytes.resize(block.frame_bytes() * frames);
    auto* counts = reinterpret_cast<std::uint16_t*>(block.bytes.data());
    for (int frame = 0; frame < frames; ++frame) {
        double x[spots_per_frame], y[spots_per_frame];
        for (int k = 0; k < spots_per_frame; ++k) x[k] = 10 + 13 * k + jitter(random), y[k] = 20 + jitter(random);
        for (int row = 0; row < height; ++row)
            for (int column = 0; column < width; ++column) {
                double mu = background;
                for (int k = 0; k < spots_per_frame; ++k) mu += photons * share(column, x[k]) * share(row, y[k]);
                *counts++ = std::uint16_t(100 + std::poisson_distribution<int>(mu)(random));
            }
    }
    return block;
}

const FrameBlock& movie_block() {
    static const FrameBlock block = spots_movie();
    return block;
}

std::unique_ptr<Movie> movie() { return memory_movie(movie_block(), "spots.tif"); }

Camera camera() {
    Camera camera;
    camera.offset_adu.scalar = 100;
    return camera;
}

LocalizeOptions options(int threads = 2) {
    LocalizeOptions options;
    options.psf.sigma_um = sigma_px * 0.1;
    options.pixel_size_nm = 100;
    options.threads = threads;
    return options;
}

/// Stops, or fails, when a certain frame is asked for.
class TroubledMovie : public Movie {
  public:
    TroubledMovie(std::int64_t frame, StopFlag* stop) : frame_(frame), stop_(stop) {}
    const MovieInfo& info() const override { return movie_->info(); }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        const bool now = first <= frame_ && frame_ < first + count && count < frames;
        if (now && stop_ && first > 0) *stop_ = true;
        if (now && !stop_) throw InputError("spots.tif: frame is damaged");
        movie_->read(first, count, block);
    }

  private:
    std::unique_ptr<Movie> movie_ = movie();
    std::int64_t frame_;
    StopFlag* stop_;
};

/// Still being written: how many frames there are becomes known at the end.
class GrowingMovie : public Movie {
  public:
    GrowingMovie() : info_(movie_->info()) { info_.frames = unknown_frames; }
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override { movie_->read(first, count, block); }
    void end() { info_.frames = frames; }

  private:
    std::unique_ptr<Movie> movie_ = movie();
    MovieInfo info_;
};

class Pipeline : public ::testing::Test {
  protected:
    /// The bytes of an undisturbed run.
    std::string reference() {
        const auto out = folder_ / "reference.csv";
        localize(*movie(), camera(), out, options());
        return read_bytes(out);
    }
    std::string message_of(const LocalizeOptions& how, const std::string& name) {
        try {
            localize(*movie(), camera(), folder_ / name, how);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    /// A run of one thread that is stopped when it reads this frame.
    LocalizeResult stopped_at(std::int64_t frame, const std::filesystem::path& out) {
        StopFlag stop{false};
        LocalizeOptions how = options(1);
        how.memory_bytes = 4 * width * height * 2;
        how.stop = &stop;
        TroubledMovie stopping(frame, &stop);
        return localize(stopping, camera(), out, how);
    }

    test::TemporaryFolder folder_;
};

}  // namespace

TEST_F(Pipeline, finds_every_spot_and_leaves_only_the_output) {
    const auto out = folder_ / "out.hdf5";
    const LocalizeResult result = localize(*movie(), camera(), out, options());
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.frames, frames);
    EXPECT_EQ(result.resumed_frames, 0);
    // 1500 photons at this background stand 40 standard deviations high: none is missed, and noise rarely joins.
    EXPECT_GE(result.localizations, frames * spots_per_frame);
    EXPECT_LE(result.localizations, frames * spots_per_frame + 2);
    EXPECT_NEAR(result.empty_score_spread, 1, 4 * test::noise_check_error(width, height, spots_per_frame, frames));
    EXPECT_EQ(folder_.names(), (std::vector<std::string>{"out.hdf5", "out.yaml"}));
    EXPECT_EQ(std::int64_t(read_localizations(out).size()), result.localizations);
}

// Noise above a low threshold: what a stop comes upon may take long, and is given up.
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

TEST_F(Pipeline, stopped_it_leaves_a_valid_part_and_resumes_to_the_same_bytes) {
    const std::string expected = reference();
    const auto out = folder_ / "out.csv";
    const LocalizeResult part = stopped_at(20, out);
    EXPECT_FALSE(part.complete);
    EXPECT_GT(part.frames, 0);
    EXPECT_LT(part.frames, frames);
    EXPECT_EQ(part.written, partial_path(out));
    EXPECT_EQ(std::int64_t(read_localizations(part.written, {}, 100).size()), part.localizations);
    EXPECT_FALSE(std::filesystem::exists(out));

    LocalizeOptions how = options();
    EXPECT_NE(message_of(how, "out.csv").find("--resume"), std::string::npos) << "finished work must not be lost";
    how.resume = true;
    const LocalizeResult whole = localize(*movie(), camera(), out, how);
    EXPECT_EQ(whole.resumed_frames, part.frames);
    EXPECT_EQ(whole.frames, frames);
    EXPECT_EQ(read_bytes(out), expected);
    EXPECT_EQ(folder_.names(), (std::vector<std::string>{"out.csv", "reference.csv"})) << "no journal, no part";
}

// What kill -9 or a power cut leaves: a journal that ends anywhere.
TEST_F(Pipeline, resumes_from_a_journal_cut_anywhere_to_the_same_bytes) {
    const std::string expected = reference();
    const auto out = folder_ / "out.csv";
    stopped_at(40, out);
    const std::string journal = read_bytes(journal_path(out));
    LocalizeOptions how = options();
    how.resume = how.overwrite = true;
    for (std::size_t cut : {std::size_t(0), std::size_t(5), std::size_t(100), journal.size() / 2,
                            journal.size() / 2 + 1, journal.size() - 1, journal.size()}) {
        folder_.write("out.csv.journal", journal.substr(0, cut));
        localize(*movie(), camera(), out, how);
        EXPECT_EQ(read_bytes(out), expected) << "cut at " << cut;
    }
}

// Frames come a few at a time, the run is interrupted twice, and nobody knows the end until it is there.
TEST_F(Pipeline, a_movie_that_grows_gives_the_bytes_of_the_whole_one) {
    localize(*movie(), camera(), folder_ / "known.hdf5", options());
    const auto out = folder_ / "grown.hdf5";
    const Camera of = camera();
    std::int64_t there = 0;
    for (const std::int64_t until : {17, 30, frames}) {
        GrowingMovie growing;
        LocalizeOptions how = options();
        how.resume = there > 0;
        Job job = make_job(growing.info(), of, how);
        glint::Run run(growing, of, out, job, Writers::this_process);
        ASSERT_EQ(run.finished_frames(), there);
        ASSERT_EQ(run.to_do().size(), 1u);
        EXPECT_EQ(run.to_do().front().begin, there);
        EXPECT_EQ(run.to_do().front().end, unknown_end);
        const auto next = [&] {
            const FrameRange some{there, std::min<std::int64_t>(there + 7, until)};
            there = some.end;
            return some;
        };
        const PartDone done =
            run_part(growing, job, unknown_end, next, [&](const BlockResult& block) { run.append(block); });
        if (until == frames) growing.end(), run.end_at(frames);
        const LocalizeResult result = run.finish({}, done.error);
        EXPECT_EQ(result.complete, until == frames);
        EXPECT_EQ(result.written, until == frames ? out : partial_path(out));
        EXPECT_EQ(result.frames, until);
    }
    EXPECT_EQ(read_bytes(out), read_bytes(folder_ / "known.hdf5"));
    EXPECT_EQ(read_bytes(folder_ / "grown.yaml"), read_bytes(folder_ / "known.yaml"));
    EXPECT_EQ(folder_.names(), (std::vector<std::string>{"grown.hdf5", "grown.yaml", "known.hdf5", "known.yaml"}));
}

// A run of one process that is finished by one of several, and the other way round; killed at the end, when the output has
// its name and the journal has joined the parts, it is taken for finished.
TEST_F(Pipeline, goes_on_with_records_in_a_journal_and_in_parts) {
    const std::string expected = reference();
    const auto out = folder_ / "out.csv";
    const LocalizeResult first = stopped_at(20, out);
    LocalizeOptions how = options();
    how.resume = true;
    const Camera of = camera();
    const auto whole = movie();
    Job job = make_job(whole->info(), of, how);
    {
        glint::Run run(*whole, of, out, job, Writers::several);
        const auto part = part_path(out, run.name(), 3);
        const auto records = new_part(part, run.fingerprint(), TableLayout(job.like));
        FrameRange some{first.frames, frames - 10};
        const PartDone done = run_part(
            *whole, job, frames, [&] { return std::exchange(some, {}); },
            [&](const BlockResult& block) { records->append(block); });
        const LocalizeResult result = run.finish({part}, done.error);
        EXPECT_FALSE(result.complete);
        EXPECT_EQ(result.frames, frames - 10);
    }
    const LocalizeResult rest = localize(*movie(), camera(), out, how);
    EXPECT_EQ(rest.resumed_frames, frames - 10);
    EXPECT_EQ(read_bytes(out), expected);
    EXPECT_EQ(folder_.names(), (std::vector<std::string>{"out.csv", "reference.csv"}));

    const LocalizeResult again = stopped_at(20, folder_ / "other.csv");
    std::filesystem::create_directory(parts_path(out));
    std::filesystem::rename(journal_path(folder_ / "other.csv"), part_path(out, "run", 99999));
    {
        const auto records = new_part(part_path(out, "run", 0), fingerprint_of(*whole, of, job), TableLayout(job.like));
        FrameRange some{again.frames, frames};
        run_part(
            *whole, job, frames, [&] { return std::exchange(some, {}); },
            [&](const BlockResult& block) { records->append(block); });
    }
    EXPECT_TRUE(localize(*movie(), camera(), out, how).complete) << "the output is there already, and is its own";
    EXPECT_EQ(read_bytes(out), expected);
}

TEST_F(Pipeline, a_journal_that_is_none_is_left_alone) {
    folder_.write("out.csv.journal", "my notes, not yours");
    for (const bool resume : {false, true})
        for (const bool overwrite : {false, true}) {
            LocalizeOptions how = options();
            how.resume = resume, how.overwrite = overwrite;
            EXPECT_NE(message_of(how, "out.csv").find("no journal"), std::string::npos);
        }
    EXPECT_EQ(read_bytes(folder_ / "out.csv.journal"), "my notes, not yours");
}

// What stands under the names of a run's files and is none of them.
TEST_F(Pipeline, what_is_not_of_a_run_is_neither_removed_nor_written_over) {
    namespace fs = std::filesystem;
    folder_.write("file.csv.journal.parts", "my notes");
    EXPECT_NE(message_of(options(), "file.csv").find("is a file"), std::string::npos);
    EXPECT_EQ(read_bytes(folder_ / "file.csv.journal.parts"), "my notes");

    fs::create_directory(folder_ / "far");
    fs::create_directory_symlink("far", folder_ / "link.csv.journal.parts");
    EXPECT_NE(message_of(options(), "link.csv").find("is a link"), std::string::npos);
    EXPECT_TRUE(fs::is_symlink(folder_ / "link.csv.journal.parts"));

    fs::create_directories(folder_ / "in.csv.journal.parts/photos");
    folder_.write("in.csv.journal.parts/thesis.txt", "my thesis");
    EXPECT_EQ(message_of(options(), "in.csv"), "");
    EXPECT_EQ(read_bytes(folder_ / "in.csv.journal.parts/thesis.txt"), "my thesis");
    EXPECT_TRUE(fs::exists(folder_ / "in.csv.journal.parts/photos"));

    ASSERT_EQ(::mkfifo((folder_ / "pipe.csv.journal").c_str(), 0600), 0);
    EXPECT_NE(message_of(options(), "pipe.csv").find("not a regular file"), std::string::npos);
    EXPECT_TRUE(fs::is_fifo(folder_ / "pipe.csv.journal"));

    fs::create_directory(folder_ / ".a.csv.journal.parts-backup");
    folder_.write(".a.csv.journal.parts-backup/b.part", "mine");
    folder_.write("a.partial.csv", "all that is left");
    LocalizeOptions resume = options();
    resume.resume = true;
    EXPECT_NE(message_of(resume, "a.csv").find("a.partial.csv"), std::string::npos) << "of no run that is gone on with";
    EXPECT_EQ(read_bytes(folder_ / "a.partial.csv"), "all that is left");
    EXPECT_EQ(read_bytes(folder_ / ".a.csv.journal.parts-backup/b.part"), "mine");
}

TEST_F(Pipeline, a_damaged_journal_is_not_begun_anew_in_silence) {
    const auto out = folder_ / "out.csv";
    stopped_at(40, out);
    std::string journal = read_bytes(journal_path(out));
    journal[60] ^= 1;
    folder_.write("out.csv.journal", journal);
    for (const bool resume : {false, true}) {
        LocalizeOptions how = options();
        how.resume = resume;
        EXPECT_NE(message_of(how, "out.csv").find("damaged"), std::string::npos);
    }
    EXPECT_EQ(read_bytes(journal_path(out)), journal);
}

TEST_F(Pipeline, an_interrupted_replacement_says_how_to_go_on) {
    const auto out = folder_ / "out.csv";
    stopped_at(40, out);
    folder_.write("out.csv", "the old table");
    LocalizeOptions how = options();
    how.resume = true;
    EXPECT_NE(message_of(how, "out.csv").find("--resume --overwrite"), std::string::npos);
    how.overwrite = true;
    const std::string expected = reference();
    EXPECT_EQ(message_of(how, "out.csv"), "");
    EXPECT_EQ(read_bytes(out), expected);
}

TEST_F(Pipeline, a_table_without_its_other_file_is_not_finished) {
    const auto out = folder_ / "out.hdf5";
    localize(*movie(), camera(), out, options());
    LocalizeOptions how = options();
    how.resume = true;
    const auto again = movie();
    EXPECT_TRUE(finished_before(*again, camera(), out, how));
    std::filesystem::remove(folder_ / "out.yaml");
    EXPECT_FALSE(finished_before(*again, camera(), out, how));
}

TEST_F(Pipeline, resume_refuses_other_options_and_names_them) {
    const auto out = folder_ / "out.csv";
    stopped_at(20, out);
    LocalizeOptions how = options();
    how.resume = true;
    how.threshold = 7;
    const std::string message = message_of(how, "out.csv");
    EXPECT_NE(message.find("threshold (0 then, 7 now)"), std::string::npos) << message;
    EXPECT_EQ(message.find("ROI size"), std::string::npos) << message;
}

TEST_F(Pipeline, a_damaged_frame_loses_nothing_before_it) {
    const auto out = folder_ / "out.csv";
    TroubledMovie damaged(33, nullptr);
    try {
        localize(damaged, camera(), out, options());
        FAIL();
    } catch (const InputError& error) {
        const std::string message = error.what();
        EXPECT_NE(message.find("damaged"), std::string::npos);
        EXPECT_NE(message.find("33 frames"), std::string::npos) << message;
        EXPECT_NE(message.find("out.partial.csv"), std::string::npos);
    }
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

TEST_F(Pipeline, existing_output_is_replaced_on_request_only) {
    const auto out = folder_.write("out.csv", "precious");
    EXPECT_NE(message_of(options(), "out.csv").find("--overwrite"), std::string::npos);
    EXPECT_EQ(read_bytes(out), "precious");
    LocalizeOptions how = options();
    how.overwrite = true;
    localize(*movie(), camera(), out, how);
    EXPECT_EQ(read_bytes(out), reference());
}

TEST_F(Pipeline, options_are_refused_before_anything_is_written) {
    for (int k = 0; k < 5; ++k) {
        LocalizeOptions how = options();
        if (k == 0) how.pixel_size_nm = 0;
        if (k == 1) how.psf.sigma_um = 0;
        if (k == 2) how.roi_size = 41;
        if (k == 3) how.frames = {10, 1000};
        if (k == 4) how.fit.max_iterations = 0;
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

TEST(RoiSize, holds_the_spot_and_grows_with_it) {
    Psf psf;
    psf.sigma_um = 0.13;
    EXPECT_EQ(default_roi_size(psf, 100), 7);
    EXPECT_EQ(default_roi_size(psf, 160), 7);
    EXPECT_EQ(default_roi_size(psf, 65), 11);
    EXPECT_EQ(default_roi_size(psf, 1), 31) << "never beyond what can be fitted";

    psf.model = PsfModel::AstigmaticXYZNB;
    psf.curve = {.sx0_um = 0.13, .sy0_um = 0.13, .d_um = 0.4, .roi_size = 0, .pixel_size_um = 0.1};
    EXPECT_EQ(default_roi_size(psf, 100), 7) << "widths that hold in any window";
    EXPECT_EQ(calibration_warning(psf, 9, 100), "");
    psf.curve.roi_size = 14;
    EXPECT_EQ(default_roi_size(psf, 100), 14);
    EXPECT_EQ(default_roi_size(psf, 100.5), 14) << "the same pixels";
    EXPECT_EQ(calibration_warning(psf, 14, 100), "");
    EXPECT_NE(calibration_warning(psf, 9, 100).find("window of 9 px is not the one of 14 px"), std::string::npos);
    psf.curve.roi_size = 15;
    EXPECT_EQ(default_roi_size(psf, 160), 9) << "1500 nm are 9.4 px";
    EXPECT_NE(calibration_warning(psf, 9, 160).find("pixels of 100 nm, the movie has 160 nm"), std::string::npos);
    psf.curve.roi_size = AstigmaticCurve::unknown_roi;
    EXPECT_EQ(default_roi_size(psf, 100), 7);
    EXPECT_NE(calibration_warning(psf, 7, 100).find("write roi_px = 7"), std::string::npos);
}
