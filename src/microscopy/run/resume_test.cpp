// Runs that were stopped or killed, or whose movie still grows, resume to the same bytes.
// SPDX-License-Identifier: MIT
#include "glint/localization_io.hpp"
#include "run/run.hpp"
#include "run/run_files.hpp"
#include "run/settings.hpp"
#include "tests/localize_fixture.hpp"

using namespace glint;
using test::Pipeline;
using test::read_bytes;

namespace {

/// A movie that is still being written: the number of frames is known only at the end.
class StillWritten : public Movie {
  public:
    StillWritten() : info_(movie_->info()) { info_.frames = unknown_frames; }
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override { movie_->read(first, count, block); }
    void end() { info_.frames = Pipeline::frames; }

  private:
    std::unique_ptr<Movie> movie_ = Pipeline::movie();
    MovieInfo info_;
};

}  // namespace

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
    EXPECT_NE(message_of(how, "out.csv").find("`resume`"), std::string::npos) << "finished work must not be lost";
    how.resume = true;
    const LocalizeResult whole = localize(*movie(), camera(), out, how);
    EXPECT_EQ(whole.resumed_frames, part.frames);
    EXPECT_EQ(whole.frames, frames);
    EXPECT_EQ(read_bytes(out), expected);
    EXPECT_EQ(folder_.names(), (std::vector<std::string>{"out.csv", "reference.csv"})) << "no journal, no part";
}

// A table needs more disk space than a journal, which must not run out of space.
TEST_F(Pipeline, what_a_killed_run_left_of_its_tables_is_gone_when_work_begins) {
    const auto left_of = [&](const std::string& name) { return folder_.write("." + name + ".part-1", "?"); };
    const auto table = left_of("out.csv"), partial = left_of("out.partial.csv"), of_pair = left_of("out.hdf5");
    LocalizeOptions how = options();
    how.progress = [&](auto...) {
        EXPECT_FALSE(std::filesystem::exists(table));
        EXPECT_FALSE(std::filesystem::exists(partial));
    };
    EXPECT_TRUE(localize(*movie(), camera(), folder_ / "out.csv", how).complete);
    how.progress = [&](auto...) { EXPECT_TRUE(std::filesystem::exists(of_pair)) << "repair_pair() looks for it"; };
    EXPECT_TRUE(localize(*movie(), camera(), folder_ / "out.hdf5", how).complete);
    EXPECT_EQ(folder_.names(), (std::vector<std::string>{"out.csv", "out.hdf5", "out.yaml"}));
}

// After kill -9 or a power failure, the journal may end anywhere.
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

// Frames arrive a few at a time, the run is interrupted twice, and the end is not known in advance.
TEST_F(Pipeline, a_movie_that_grows_gives_the_bytes_of_the_whole_one) {
    localize(*movie(), camera(), folder_ / "known.hdf5", options());
    const auto out = folder_ / "grown.hdf5";
    const Camera of = camera();
    std::int64_t there = 0;
    for (const std::int64_t until : {17, 30, frames}) {
        StillWritten growing;
        LocalizeOptions how = options();
        how.resume = there > 0;
        LocalizeJob job = make_job(growing.info(), of, how);
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

// A run of one process is finished by several processes, and vice versa. If a run is killed at its end, after the
// output has its name and the journal has joined the parts, it counts as finished.
TEST_F(Pipeline, goes_on_with_records_in_a_journal_and_in_parts) {
    const std::string expected = reference();
    const auto out = folder_ / "out.csv";
    const LocalizeResult first = stopped_at(20, out);
    LocalizeOptions how = options();
    how.resume = true;
    const Camera of = camera();
    const auto whole = movie();
    LocalizeJob job = make_job(whole->info(), of, how);
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

TEST_F(Pipeline, a_table_without_its_other_file_is_not_finished) {
    const auto out = folder_ / "out.hdf5";
    localize(*movie(), camera(), out, options());
    LocalizeOptions how = options();
    how.resume = true;
    const auto again = movie();
    EXPECT_TRUE(is_already_localized(*again, camera(), out, how));
    std::filesystem::remove(folder_ / "out.yaml");
    EXPECT_FALSE(is_already_localized(*again, camera(), out, how));
}

// --resume --overwrite resumes a run that replaces a table: the old table stays until the new one is complete.
TEST_F(Pipeline, a_table_to_be_replaced_is_finished_only_if_it_is_the_new_one) {
    const auto out = folder_ / "out.hdf5";
    localize(*movie(), camera(), out, options());
    LocalizeOptions how = options();
    how.resume = how.overwrite = true;
    const auto again = movie();
    EXPECT_TRUE(is_already_localized(*again, camera(), out, how));
    how.threshold = 9;
    EXPECT_FALSE(is_already_localized(*again, camera(), out, how));
    localize(*movie(), camera(), folder_ / "out.csv", options());
    EXPECT_FALSE(is_already_localized(*again, camera(), folder_ / "out.csv", how)) << "it does not tell";
    std::ofstream(out) << "no table";
    EXPECT_FALSE(is_already_localized(*again, camera(), out, how));
}

TEST_F(Pipeline, resume_refuses_other_options_and_names_them) {
    const auto out = folder_ / "out.csv";
    stopped_at(20, out);
    LocalizeOptions how = options();
    how.resume = true;
    how.threshold = 7;
    const std::string message = message_of(how, "out.csv");
    EXPECT_NE(message.find("threshold (5 then, 7 now)"), std::string::npos) << message;
    EXPECT_EQ(message.find("ROI size"), std::string::npos) << message;
}
