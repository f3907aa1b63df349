// Existing files are not lost: which files a command replaces, refuses to replace, and leaves.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/localize.hpp"
#include "glint/movie_io.hpp"
#include "tests/run_program.hpp"

using namespace glint;
using namespace glint::test;
namespace fs = std::filesystem;

namespace {

const std::string given = " --pixel-size 100nm --offset 100 --gain 1 --sigma 130nm -q";

class Outputs : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(run(folder_, "exec glint simulate -o m.tif --frames 12 --size 32 --spots 3 -q").exit_code, 0);
    }
    Ended glint(const std::string& arguments) { return run(folder_, "exec glint " + arguments); }
    void expect_refused(const std::string& arguments, const std::string& because, int code = 2) {
        const Ended end = glint(arguments);
        EXPECT_EQ(end.exit_code, code) << arguments << "\n" << end.err;
        EXPECT_NE(end.err.find(because), end.err.npos) << arguments << "\n" << end.err;
    }
    bool exists(const std::string& name) const { return fs::exists(folder_ / name); }

    void make_raw(const std::string& name) const {
        folder_.write(name + ".raw", std::string(4 * 16 * 16 * 2, 'd'));
        folder_.write(name + ".yaml", description);
    }

    static constexpr const char* description =
        "Byte Order: <\nData Type: uint16\nFrames: 4\nHeight: 16\nWidth: 16\nBaseline: 100\nSensitivity: 1\nPixelsize: "
        "100\n";
    TemporaryFolder folder_;
};

}  // namespace

TEST_F(Outputs, what_cannot_be_written_is_told_before_the_input_is_read) {
    fs::create_directory(folder_ / "dir.hdf5");
    folder_.write("file", "no folder");
    for (const std::string command : {"drift", "link", "filter --where 'x > 1'", "cluster --radius 20nm", "convert"}) {
        const std::string of_nothing = command + " nowhere.hdf5 -o ";
        expect_refused(of_nothing + "no/o.hdf5", "the folder no does not exist: create it", 4);
        expect_refused(of_nothing + "file/o.hdf5", "file is not a folder", 4);
        expect_refused(of_nothing + "dir.hdf5 --overwrite", "there is a folder of that name", 4);
        expect_refused(of_nothing + "o.hdf5", "nowhere.hdf5", 3);
    }
    expect_refused("drift nowhere.hdf5 -o o.hdf5 --drift-file no/d.txt", "cannot write no/d.txt", 4);
    expect_refused("cluster nowhere.hdf5 -o o.hdf5 --radius 20nm --centers no/c.csv", "cannot write no/c.csv", 4);
    expect_refused("resolution nowhere.hdf5 -o no/c.csv", "cannot write no/c.csv", 4);
    expect_refused("resolution nowhere.hdf5 --map no/m.tif", "cannot write no/m.tif", 4);
    expect_refused("render nowhere.hdf5 -o no/p.png", "cannot write no/p.png", 4);
    expect_refused("localize m.tif -o o.hdf5 --summary no/s.csv" + given, "cannot write no/s.csv", 4);
    expect_refused("simulate -o no/m.tif", "cannot write no/m.tif", 4);
    EXPECT_FALSE(exists("o.hdf5") || exists("o.hdf5.journal"));
    if (::geteuid() == 0) return;  // permissions do not apply to root
    fs::create_directory(folder_ / "locked");
    fs::permissions(folder_ / "locked", fs::perms::owner_read | fs::perms::owner_exec);
    expect_refused("link nowhere.hdf5 -o locked/o.hdf5", "no permission to write in locked", 4);
}

TEST_F(Outputs, a_table_that_lost_its_description_gets_no_others) {
    ASSERT_EQ(glint("localize m.tif -o o.hdf5" + given).exit_code, 0);
    fs::remove(folder_ / "o.yaml");
    for (const std::string flag : {"", " --overwrite"}) {
        expect_refused("localize m.tif -o o.h5" + flag + given, "taken for that of o.hdf5, whose own is missing");
        expect_refused("convert m_truth.csv -o o.h5 --pixel-size 100nm" + flag,
                       "o.yaml would get the description of o.h5");
    }
    EXPECT_FALSE(exists("o.h5") || exists("o.yaml"));
    fs::rename(folder_ / "o.hdf5", folder_ / "o.h5");
    expect_refused("localize m.tif -o o.hdf5" + given, "taken for that of o.h5");
    folder_.write("o.h5", "no table");
    EXPECT_EQ(glint("localize m.tif -o o.hdf5" + given).exit_code, 0) << "what has no description may lie there";
}

TEST_F(Outputs, the_description_of_a_raw_movie_stays) {
    make_raw("a"), make_raw("b");
    expect_refused("localize a.raw -o a.hdf5 --sigma 130nm -q", "a.yaml");
    expect_refused("localize a.raw -o a.hdf5 --sigma 130nm -q --overwrite", "a.yaml");
    expect_refused("localize a.raw b.raw -o . --sigma 130nm -q", "a.yaml");
    expect_refused("localize a.raw b.raw -o . --sigma 130nm -q --overwrite", "a.yaml");
    expect_refused("localize m.tif -o b.hdf5 --overwrite" + given, "b.raw");
    EXPECT_EQ(read_bytes(folder_ / "a.yaml"), description);
    EXPECT_EQ(read_bytes(folder_ / "b.yaml"), description);
    EXPECT_FALSE(exists("a.hdf5") || exists("b.hdf5"));
}

TEST_F(Outputs, one_description_does_not_serve_two_tables) {
    ASSERT_EQ(glint("localize m.tif -o o.hdf5" + given).exit_code, 0);
    expect_refused("localize m.tif -o o.h5" + given, "o.yaml");
    expect_refused("localize m.tif -o o.h5 --overwrite" + given, "o.hdf5");
    EXPECT_FALSE(exists("o.h5"));
}

TEST_F(Outputs, all_are_looked_at_before_the_first_movie) {
    fs::copy(folder_ / "m.tif", folder_ / "n.tif");
    fs::create_directory(folder_ / "out");
    folder_.write("out/n.yaml", "mine");
    expect_refused("localize m.tif n.tif -o out" + given, "n.yaml");
    EXPECT_FALSE(exists("out/m.hdf5"));
}

TEST_F(Outputs, what_is_read_is_not_written_over_under_any_name) {
    const std::string movie = read_bytes(folder_ / "m.tif");
    fs::create_symlink("m.tif", folder_ / "soft.csv");
    fs::create_hard_link(folder_ / "m.tif", folder_ / "hard.csv");
    for (const std::string name : {"soft.csv", "hard.csv"})
        expect_refused("localize m.tif --overwrite -o " + name + given, "m.tif");
    fs::create_hard_link(folder_ / "m_truth.csv", folder_ / "truth.png");
    expect_refused("render m_truth.csv --overwrite -o truth.png --pixel-size 100nm", "m_truth.csv");
    folder_.write("camera.toml", "offset = 100\ngain = 1\npixel_size = \"100nm\"\n");
    fs::create_hard_link(folder_ / "camera.toml", folder_ / "camera.csv");
    expect_refused("localize m.tif --overwrite -o camera.csv --camera camera.toml --sigma 130nm -q", "camera.toml");
    fs::create_hard_link(folder_ / "camera.toml", folder_ / "camera.tif");
    expect_refused("simulate -o camera.tif --camera camera.toml --overwrite -q", "camera.toml");
    EXPECT_EQ(read_bytes(folder_ / "m.tif"), movie);
}

TEST_F(Outputs, what_is_read_is_not_written_over_by_anything_a_command_writes) {
    // The partial file, and its description.
    fs::rename((make_raw("a"), folder_ / "a.raw"), folder_ / "o.partial.raw");
    fs::rename(folder_ / "a.yaml", folder_ / "o.partial.yaml");
    for (const std::string how : {"", " --resume", " --overwrite"})
        expect_refused("localize o.partial.raw -o o.hdf5 --sigma 130nm -q" + how, "o.partial.yaml");
    EXPECT_EQ(read_bytes(folder_ / "o.partial.yaml"), description);
    // A movie of another task.
    fs::create_directory(folder_ / "out");
    fs::copy(folder_ / "m.tif", folder_ / "n.tif");
    fs::create_symlink("../n.tif", folder_ / "out/m.hdf5");
    expect_refused("localize m.tif n.tif -o out --overwrite" + given, "n.tif");
    // The input of a preview and of a picture.
    folder_.write("camera.toml", "offset = 100\ngain = 1\npixel_size = \"100nm\"\n");
    fs::create_symlink("camera.toml", folder_ / "camera.png");
    expect_refused("localize m.tif --preview 0 -o camera.png --camera camera.toml --sigma 130nm --overwrite",
                   "camera.toml");
    ASSERT_EQ(glint("localize m.tif -o t.hdf5" + given).exit_code, 0);
    fs::create_symlink("t.yaml", folder_ / "t.png");
    expect_refused("render t.hdf5 -o t.png --overwrite", "t.yaml");
}

TEST_F(Outputs, two_outputs_are_two_files) {
    fs::create_symlink("l.tif", folder_ / "l_truth.csv");
    expect_refused("simulate -o l.tif --overwrite -q", "one file");
    fs::create_symlink("o.hdf5", folder_ / "o.yaml");
    expect_refused("localize m.tif -o o.hdf5 --overwrite" + given, "one file");
    EXPECT_FALSE(exists("l.tif") || exists("o.hdf5"));
}

TEST_F(Outputs, through_a_link_the_description_stands_beside_the_table) {
    fs::create_directory(folder_ / "data");
    fs::create_symlink("data/real.hdf5", folder_ / "link.hdf5");
    ASSERT_EQ(glint("localize m.tif -o link.hdf5" + given).exit_code, 0);
    EXPECT_TRUE(fs::is_symlink(folder_ / "link.hdf5") && exists("data/real.hdf5") && exists("data/real.yaml"));
    EXPECT_FALSE(exists("link.yaml"));
    expect_refused("localize m.tif -o data/real.hdf5 --resume --threshold 9" + given, "threshold");
    ASSERT_EQ(glint("localize m.tif -o link.hdf5 --overwrite --threshold 9" + given).exit_code, 0);
    EXPECT_EQ(glint("localize m.tif -o data/real.hdf5 --resume --threshold 9" + given).exit_code, 0);
}

TEST_F(Outputs, names_of_any_bytes_are_resumed_and_described) {
    for (const std::string name : {"b\xff.tif", "a\x7f\xc2\x85.tif", "\xef\xbf\xbe.tif"}) {
        fs::copy(folder_ / "m.tif", folder_ / name);
        ASSERT_EQ(glint("localize '" + name + "' -o n.hdf5 --overwrite" + given).exit_code, 0);
        EXPECT_EQ(glint("localize '" + name + "' -o n.hdf5 --resume" + given).exit_code, 0);
        const std::string text = read_bytes(folder_ / "n.yaml");
        for (const std::string forbidden : {"\x7f", "\xc2\x85", "\xef\xbf\xbe", "\xff"})
            EXPECT_EQ(text.find(forbidden), text.npos) << text;
    }
}

TEST_F(Outputs, what_is_no_table_is_not_finished) {
    for (const std::string name : {"o.hdf5", "o.csv", "o_smlm.h5"}) {
        folder_.write(name, "hi\n");
        expect_refused("localize m.tif --resume -o " + name + given, "no localizations", 3);
        EXPECT_EQ(read_bytes(folder_ / name), "hi\n");
    }
}

TEST_F(Outputs, what_appears_meanwhile_is_not_replaced) {
    const auto movie = open_movie(folder_ / "m.tif");
    Camera camera;
    camera.offset_adu.scalar = 100;
    for (const std::string name : {"o.hdf5", "o.yaml", "p.csv", "q_smlm.h5"}) {
        LocalizeOptions options;
        options.psf.sigma_nm = 130, options.pixel_size_nm = 100;
        options.progress = [&](std::int64_t, std::int64_t, std::int64_t) { folder_.write(name, "another's"); };
        const fs::path out = name == "o.yaml" ? folder_ / "o.hdf5" : folder_ / name;
        EXPECT_THROW(localize(*movie, camera, out, options), OutputError) << name;
        EXPECT_EQ(read_bytes(folder_ / name), "another's");
        EXPECT_TRUE(fs::exists(journal_path(out))) << "what is finished is kept";
        fs::remove(folder_ / name);
        options.progress = {}, options.resume = true;
        EXPECT_TRUE(localize(*movie, camera, out, options).complete);
        for (const fs::path& file : files_of_localizations(out)) fs::remove(file);
    }
    LocalizeOptions options;  // a complete run removes only the partial file of the run that it resumed
    options.psf.sigma_nm = 130, options.pixel_size_nm = 100;
    options.progress = [&](std::int64_t, std::int64_t, std::int64_t) { folder_.write("o.partial.hdf5", "another's"); };
    EXPECT_TRUE(localize(*movie, camera, folder_ / "o.hdf5", options).complete);
    EXPECT_EQ(read_bytes(folder_ / "o.partial.hdf5"), "another's");
}

TEST_F(Outputs, what_killed_runs_left_is_removed_and_permissions_are_kept) {
    folder_.write(".o.csv.part-4194305", "of a killed run");
    const std::string older = folder_.write("o.csv", "private");
    ASSERT_EQ(::chmod(older.c_str(), 0600), 0);
    ASSERT_EQ(glint("localize m.tif -o o.csv --overwrite" + given).exit_code, 0);
    EXPECT_FALSE(exists(".o.csv.part-4194305"));
    struct stat status {};
    ASSERT_EQ(::stat(older.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(Outputs, the_partial_file_is_of_the_same_format) {
    for (const std::string name : {"o.hdf5", "o.h5", "o.csv", "o.smlm.h5", "o_smlm.h5", "o.smlm.hdf5", "o_smlm.hdf5"}) {
        EXPECT_EQ(localization_format(partial_path(name)).name, localization_format(name).name) << name;
        EXPECT_NE(partial_path(name).string().find("o.partial"), std::string::npos) << name;
    }
}

TEST_F(Outputs, a_partial_file_without_its_journal_is_all_there_is) {
    folder_.write("o.partial.csv", "of a stopped run");
    expect_refused("localize m.tif -o o.csv" + given, "o.partial.csv");
    EXPECT_FALSE(exists("o.csv.journal"));
    EXPECT_EQ(glint("localize m.tif -o o.csv --overwrite" + given).exit_code, 0);
}

TEST_F(Outputs, a_bad_movie_does_not_stop_the_others) {
    folder_.write("bad.tif", "no movie");
    fs::copy(folder_ / "m.tif", folder_ / "n.tif");
    const Ended end = glint("localize m.tif bad.tif n.tif -o out/ --json" + given);
    EXPECT_EQ(end.exit_code, 3) << end.err;
    const auto results = nlohmann::json::parse(end.out);
    ASSERT_EQ(results.size(), 3u);
    EXPECT_EQ(results[0]["complete"], true);
    EXPECT_EQ(results[1]["error"]["exit_code"], 3);
    EXPECT_EQ(results[1]["movies"][0], "bad.tif");
    EXPECT_EQ(results[2]["complete"], true);
    EXPECT_TRUE(exists("out/m.hdf5") && exists("out/n.hdf5"));
    const std::size_t list = end.err.find("1 of 3 movies failed:\n  bad.tif: ");
    EXPECT_NE(list, end.err.npos) << end.err;
    EXPECT_LT(end.err.find("glint: bad.tif"), list) << "told at once, too";
}

TEST_F(Outputs, a_batch_has_a_table) {
    folder_.write("bad, \"it\".tif", "no movie");
    const std::string movies = "localize m.tif 'bad, \"it\".tif' -o out --summary table.csv";
    EXPECT_EQ(glint(movies + given).exit_code, 3);
    const std::string table = read_bytes(folder_ / "table.csv");
    const Localizations rows = read_localizations(folder_ / "out/m.hdf5");
    EXPECT_EQ(table.find("movie,frames,spots,localizations,noise_check,status,error,output\n\"m.tif\",12,"), 0u)
        << table;
    EXPECT_NE(table.find("," + std::to_string(rows.size()) + ","), table.npos) << table;
    EXPECT_NE(table.find(",complete,,\"out/m.hdf5\"\n\"bad, \"\"it\"\".tif\",,,,,failed,\"bad, \"\"it\"\".tif"),
              table.npos)
        << table;
    expect_refused(movies + given, "exist");
    expect_refused("localize m.tif -o p.hdf5 --summary table.csv" + given, "table.csv exists");
    expect_refused("localize m.tif -o p.csv --summary p.csv" + given, "one file");
    expect_refused("localize m.tif -o p.csv --summary p.txt" + given, "a name that ends in .csv");
    EXPECT_FALSE(exists("p.hdf5") || exists("p.csv"));
    EXPECT_EQ(glint(movies + " --resume" + given).exit_code, 3);
    EXPECT_NE(read_bytes(folder_ / "table.csv").find("\"m.tif\",,,,,finished before,,"), table.npos);
    folder_.write("table.csv", "somebody's\n");
    expect_refused(movies + " --resume" + given, "table.csv exists");
    EXPECT_EQ(glint("localize 'bad, \"it\".tif' -o bad.hdf5 --summary one.csv" + given).exit_code, 3);
    EXPECT_NE(read_bytes(folder_ / "one.csv").find("failed"), table.npos) << "also of one movie";
}

TEST_F(Outputs, a_folder_takes_one_movie_too) {
    for (const std::string flags : {"", " --concat"}) {
        const std::string name = flags.empty() ? "one" : "joined";
        EXPECT_EQ(glint("localize m.tif -o " + name + "/" + flags + given).exit_code, 0);
        EXPECT_TRUE(exists(name + "/m.hdf5"));
    }
    fs::create_directory(folder_ / "there");
    EXPECT_EQ(glint("localize m.tif -o there" + given).exit_code, 0);
    EXPECT_TRUE(exists("there/m.hdf5"));
}

TEST_F(Outputs, a_finished_one_knows_its_settings) {
    for (const std::string name : {"o.hdf5", "o_smlm.h5"}) {
        ASSERT_EQ(glint("localize m.tif -o " + name + given).exit_code, 0);
        EXPECT_EQ(glint("localize m.tif --resume -o " + name + given).exit_code, 0);
        expect_refused("localize m.tif --resume --threshold 7 -o " + name + given, "threshold (5 then, 7 now)");
        expect_refused("localize m.tif --resume --offset 101 --pixel-size 100nm --gain 1 --sigma 130nm -o " + name,
                       "camera offset (100 then, 101 now)");
    }
    ASSERT_EQ(glint("localize m.tif -o o.csv" + given).exit_code, 0);
    const Ended csv = glint("localize m.tif --resume --threshold 7 -o o.csv" + given);
    EXPECT_EQ(csv.exit_code, 0) << csv.err;
    EXPECT_NE(csv.err.find("a .csv has no place for them: they were not compared"), csv.err.npos) << csv.err;
}

// A run of one process holds the lock of OUT.journal. A run of several processes checks that lock, even with
// --overwrite.
TEST_F(Outputs, a_run_in_parts_sees_one_that_is_alive) {
    const int journal = ::open((folder_ / "o.hdf5.journal").c_str(), O_RDWR | O_CREAT, 0666);
    ASSERT_EQ(::flock(journal, LOCK_EX | LOCK_NB), 0);
    fs::create_directory(folder_ / "o.hdf5.journal.parts");
    for (const std::string how : {"", " --resume", " --overwrite"})
        expect_refused("localize m.tif -o o.hdf5" + how + given, "in use", 4);
    ::close(journal);
    EXPECT_EQ(glint("localize m.tif -o o.hdf5" + given).exit_code, 0);
    EXPECT_FALSE(exists("o.hdf5.journal") || exists("o.hdf5.journal.parts"));
}

TEST_F(Outputs, a_file_system_without_locks_will_do) {
    const fs::path library = fs::read_symlink("/proc/self/exe").replace_filename("libio_faults.so");
    for (const std::string name : {"o.hdf5", "o_smlm.h5", "o.csv"}) {
        const Ended end =
            run(folder_, "exec env GLINT_FAULT_NO_LOCKS=1 ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" +
                             library.string() + " glint localize m.tif -o " + name + given);
        EXPECT_EQ(end.exit_code, 0) << end.err;
        EXPECT_GT(read_localizations(folder_ / name, {}, 100).size(), 0u);
    }
}
