// Localizations through files: what goes in comes out, and what is wrong is told.
// SPDX-License-Identifier: MIT
#include "glint/localization_io.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <string>

#include "glint/error.hpp"
#include "io/hdf5_file.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using glint::test::read_bytes;
using glint::test::TemporaryFolder;

namespace {

/// Every column filled with values that a wrong order, unit or origin would change.
Localizations full_table(std::size_t n) {
    Localizations t;
    float base = 1;
    for (const LocalizationColumn& column : localization_columns()) {
        for (std::size_t k = 0; k < n; ++k) (t.*column.values).push_back(base + float(k % 29) * 0.37f);
        base += 0.25f;
    }
    for (float& value : t.log_likelihood) value = -value;
    for (std::size_t k = 0; k < n; ++k) {
        t.frame.push_back(std::uint32_t(k / 3));
        t.iterations.push_back(std::uint32_t(5 + k % 7));
        t.status.push_back(std::uint8_t(k % 3));
        t.extra["net_gradient"].push_back(double(1000 + k));
        t.extra["molecule"].push_back(double(1'000'000'000 + k));
    }
    t.width = 64, t.height = 48, t.frames = std::int64_t(n), t.pixel_size_nm = 107.5;
    return t;
}

struct Warnings {
    std::vector<std::string> all;
    Warn sink() {
        return [this](const std::string& message) { all.push_back(message); };
    }
    bool contain(const std::string& part) const {
        for (const std::string& message : all)
            if (message.find(part) != std::string::npos) return true;
        return false;
    }
};

void expect_near(const std::vector<float>& a, const std::vector<float>& b, const std::string& name) {
    ASSERT_EQ(a.size(), b.size()) << name;
    for (std::size_t k = 0; k < a.size(); ++k)  // a few roundings to float on the way
        ASSERT_NEAR(a[k], b[k], 4e-7 * (std::abs(a[k]) + 1)) << name << " row " << k;
}

template <class Exception, class Call>
std::string message_of(Call call) {
    try {
        call();
    } catch (const Exception& error) {
        return error.what();
    } catch (const std::exception& error) {
        return std::string("another exception: ") + error.what();
    }
    return "no exception";
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::filesystem::path data_file(const char* name) {
    const char* folder = std::getenv("GLINT_DATA");
    return (folder ? std::filesystem::path(folder) : std::filesystem::path(GLINT_SOURCE_DIR) / "../shared/data") / name;
}

}  // namespace

TEST(LocalizationIo, picasso_gives_back_every_column_exactly) {
    TemporaryFolder folder;
    const Localizations in = full_table(20000);  // more than one block
    write_localizations(folder / "a.hdf5", in);
    const Localizations out = read_localizations(folder / "a.hdf5");
    for (const LocalizationColumn& column : localization_columns())
        EXPECT_EQ(out.*column.values, in.*column.values) << column.name;
    EXPECT_EQ(out.frame, in.frame);
    EXPECT_EQ(out.iterations, in.iterations);
    EXPECT_EQ(out.status, in.status);
    EXPECT_EQ(out.extra, in.extra);
    EXPECT_EQ(out.width, 64);
    EXPECT_EQ(out.height, 48);
    EXPECT_EQ(out.frames, 20000);
    EXPECT_EQ(out.pixel_size_nm, 107.5);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.hdf5", "a.yaml"}));
}

TEST(LocalizationIo, the_same_input_gives_the_same_bytes_however_it_is_cut) {
    TemporaryFolder folder;
    const Localizations in = full_table(1000);
    for (const char* end : {".hdf5", ".csv", ".smlm.h5"}) {
        const auto whole = folder / (std::string("whole") + end), pieces = folder / (std::string("pieces") + end);
        write_localizations(whole, in);
        LocalizationWriter writer(pieces, in, in.size());
        for (std::size_t first = 0; first < in.size(); first += 173) {
            std::vector<std::size_t> rows;
            for (std::size_t k = first; k < std::min(first + 173, in.size()); ++k) rows.push_back(k);
            writer.append(select(in, rows));
        }
        writer.close();
        EXPECT_EQ(read_bytes(whole), read_bytes(pieces)) << end;
    }
    EXPECT_EQ(read_bytes(folder / "whole.yaml"), read_bytes(folder / "pieces.yaml"));
}

TEST(LocalizationIo, thunderstorm_csv_is_in_nanometres_from_the_edge_and_frames_from_one) {
    TemporaryFolder folder;
    Localizations in;
    in.frame = {0, 7}, in.x_px = {0, 2.5f}, in.y_px = {-0.5f, 3}, in.photons = {500, 1000}, in.bg = {4, 9};
    in.sx_px = in.sy_px = {1.25f, 1.5f}, in.lpx_px = {0.1f, 0.2f}, in.lpy_px = {0.3f, 0.2f};
    in.log_likelihood = {-20, -30}, in.pixel_size_nm = 100;
    write_localizations(folder / "a.csv", in);
    EXPECT_EQ(read_bytes(folder / "a.csv"),
              "\"id\",\"frame\",\"x [nm]\",\"y [nm]\",\"sigma [nm]\",\"intensity [photon]\",\"offset [photon]\","
              "\"bkgstd [photon]\",\"chi2\",\"uncertainty_xy [nm]\"\n"
              "1,1,50,0,125,500,4,2,40,20\n"
              "2,8,300,350,150,1000,9,3,60,20\n");
}

TEST(LocalizationIo, thunderstorm_csv_reads_back) {
    TemporaryFolder folder;
    const Localizations in = full_table(500);
    write_localizations(folder / "a.csv", in);
    const Localizations out = read_localizations(folder / "a.csv", {}, in.pixel_size_nm);
    EXPECT_EQ(out.frame, in.frame);
    for (auto column : {&Localizations::x_px, &Localizations::y_px, &Localizations::z_nm, &Localizations::photons,
                        &Localizations::bg, &Localizations::sx_px, &Localizations::sy_px, &Localizations::lpz_nm})
        expect_near(out.*column, in.*column, "a column");
    EXPECT_EQ(out.extra.at("molecule"), in.extra.at("molecule"));
}

TEST(LocalizationIo, two_widths_in_2d_are_both_in_the_csv) {
    TemporaryFolder folder;
    Localizations in;
    in.frame = {0}, in.x_px = in.y_px = {1}, in.sx_px = {1}, in.sy_px = {4}, in.pixel_size_nm = 100;
    write_localizations(folder / "a.csv", in);
    EXPECT_HAS(read_bytes(folder / "a.csv"), "\"sigma [nm]\",\"sigma1 [nm]\",\"sigma2 [nm]\"\n1,1,150,150,200,100,400");
    const Localizations out = read_localizations(folder / "a.csv", {}, 100);
    EXPECT_FLOAT_EQ(out.sx_px[0], 1);
    EXPECT_FLOAT_EQ(out.sy_px[0], 4);
}

TEST(LocalizationIo, csv_of_old_versions_windows_and_without_a_last_newline) {
    TemporaryFolder folder;
    const auto path =
        folder.write("a.csv",
                     "\xEF\xBB\xBF\"id\", \"frame\",\"x [nm]\",\"y [nm]\",\"uncertainty [nm]\",\"my, \"\"col\"\"\"\r\n"
                     "1,1.0,50,150,10,1e3\r\n"
                     "2,3, 250 ,50,20,");
    const Localizations out = read_localizations(path, {}, 100);
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_EQ(out.x_px, (std::vector<float>{0, 2}));
    EXPECT_EQ(out.y_px, (std::vector<float>{1, 0}));
    EXPECT_EQ(out.lpx_px, (std::vector<float>{0.1f, 0.2f}));
    EXPECT_EQ(out.lpy_px, out.lpx_px);
    EXPECT_EQ(out.extra.at("my, \"col\"")[0], 1000);
    EXPECT_TRUE(std::isnan(out.extra.at("my, \"col\"")[1]));
    EXPECT_EQ(out.pixel_size_nm, 100);
    EXPECT_EQ(out.width, 3);
    EXPECT_EQ(out.frames, 3);
}

TEST(LocalizationIo, csv_with_what_it_should_not_have) {
    TemporaryFolder folder;
    const std::string header = "frame,x [nm],y [nm],note\n";
    const auto read = [&](const std::string& text, double pixel_size_nm = 100, const Warn& warn = {}) {
        return read_localizations(folder.write("a.csv", text), warn, pixel_size_nm);
    };
    Warnings warnings;
    const Localizations kept = read(header + "1,2,3,hello\n2,2,3,4\n", 100, warnings.sink());
    EXPECT_EQ(kept.size(), 2u);
    EXPECT_TRUE(kept.extra.empty());
    EXPECT_TRUE(warnings.contain("column note is left out: \"hello\" in line 2"));

    EXPECT_EQ(read(header + "1,2,3,4\n2,2", 100, warnings.sink()).size(), 1u);
    EXPECT_TRUE(warnings.contain("the last line is cut off"));
    EXPECT_EQ(read(header + "0,2,3,4\n1,2,3,4\n", 100, warnings.sink()).frame, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_TRUE(warnings.contain("frame 0"));
    EXPECT_EQ(read(header + "1,nan,3,4\n1,2,Infinity,4\n5,2,3,4\n", 100, warnings.sink()).size(), 1u);
    EXPECT_TRUE(warnings.contain("2 of 3 rows hold NaN or infinity"));

    EXPECT_HAS(message_of<InputError>([&] { read(header + "1,2,3,4\n1,oops,3,4\n"); }),
               "line 3: \"oops\" in column x [nm] is no number");
    EXPECT_HAS(message_of<InputError>([&] { read(header + "1,2,3\n1,2,3,4\n"); }),
               "line 2 has 3 columns, the header 4");
    EXPECT_HAS(message_of<InputError>([&] { read("a,b\n1,2\n"); }), "has no column frame: it has a, b");
    EXPECT_HAS(message_of<InputError>([&] { read(header + "1.5,2,3,4\n"); }), "frame number 1.5");
    EXPECT_HAS(message_of<InputError>([&] { read(header + "-1,2,3,4\n"); }), "frame number -1");
    EXPECT_HAS(message_of<InputError>([&] { read(std::string(3 << 20, '7')); }), "longer than 1048576 bytes");
    EXPECT_HAS(message_of<InputError>([&] { read(std::string("\x7f\x45\x00\x00", 4)); }), "neither HDF5 nor CSV");
    EXPECT_HAS(message_of<OptionError>([&] { read(header + "1,2,3,4\n", 0); }), "--pixel-size");
}

TEST(LocalizationIo, picassos_own_table_as_text_is_in_pixels) {
    TemporaryFolder folder;
    const auto path = folder.write("a.csv", "frame,x,y,photons,lpx,lpy\n0,1.5,2,100,0.1,0.2\n");
    const Localizations out = read_localizations(path, {}, 100);
    EXPECT_EQ(out.frame[0], 0u);
    EXPECT_EQ(out.x_px[0], 1.5f);
    EXPECT_EQ(out.lpy_px[0], 0.2f);
}

TEST(LocalizationIo, smlm_reads_back_what_it_holds) {
    TemporaryFolder folder;
    const Localizations in = full_table(500);
    write_localizations(folder / "a.smlm.h5", in);
    const Localizations out = read_localizations(folder / "a.smlm.h5");
    EXPECT_EQ(out.frame, in.frame);
    for (auto column :
         {&Localizations::x_px, &Localizations::y_px, &Localizations::z_nm, &Localizations::photons, &Localizations::bg,
          &Localizations::lpx_px, &Localizations::lpy_px, &Localizations::lpz_nm, &Localizations::photons_unc,
          &Localizations::bg_unc, &Localizations::p_value, &Localizations::sx_px, &Localizations::sy_px,
          &Localizations::sx_unc_px, &Localizations::sy_unc_px})
        expect_near(out.*column, in.*column, "a column");
    EXPECT_EQ(out.width, 64);
    EXPECT_EQ(out.height, 48);
    EXPECT_EQ(out.frames, 500);
    EXPECT_NEAR(out.pixel_size_nm, 107.5, 1e-9);
}

TEST(LocalizationIo, an_empty_table_is_a_valid_file) {
    TemporaryFolder folder;
    Localizations none;
    none.width = 32, none.height = 16, none.frames = 10, none.pixel_size_nm = 100;
    for (const char* name : {"a.hdf5", "a.csv", "a.smlm.h5"}) {
        write_localizations(folder / name, none);
        const Localizations out = read_localizations(folder / name, {}, 100);
        EXPECT_EQ(out.size(), 0u) << name;
    }
    EXPECT_EQ(read_localizations(folder / "a.hdf5").width, 32);
}

TEST(LocalizationIo, an_unknown_movie_size_is_taken_from_the_rows) {
    TemporaryFolder folder;
    Localizations in;
    in.frame = {3, 9}, in.x_px = {0, 12.6f}, in.y_px = {1, 4.2f};
    Warnings warnings;
    write_localizations(folder / "a.hdf5", in, warnings.sink());
    const Localizations out = read_localizations(folder / "a.hdf5");
    EXPECT_EQ(out.width, 14);
    EXPECT_EQ(out.height, 5);
    EXPECT_EQ(out.frames, 10);
    EXPECT_TRUE(warnings.contain("no pixel size"));
    EXPECT_TRUE(warnings.contain("no column lpx"));
}

TEST(LocalizationIo, rows_that_picasso_hides_are_told) {
    TemporaryFolder folder;
    Localizations in = full_table(5);
    in.x_px[1] = -0.2f, in.y_px[2] = 60, in.lpx_px[3] = -1;
    Warnings warnings;
    write_localizations(folder / "a.hdf5", in, warnings.sink());
    EXPECT_TRUE(warnings.contain("3 of 5 rows")) << warnings.all.size();
    EXPECT_EQ(read_localizations(folder / "a.hdf5").size(), 5u);
}

TEST(LocalizationIo, no_file_ever_holds_nan) {
    TemporaryFolder folder;
    Localizations in = full_table(6);
    in.x_px[1] = std::numeric_limits<float>::quiet_NaN();
    in.photons[2] = std::numeric_limits<float>::infinity();
    in.extra["molecule"][3] = std::nan("");
    Warnings warnings;
    write_localizations(folder / "a.hdf5", in, warnings.sink());
    EXPECT_TRUE(warnings.contain("1 of 6 rows have a position that is NaN"));
    EXPECT_TRUE(warnings.contain("2 values were NaN or infinite and are written as 0"));
    const Localizations out = read_localizations(folder / "a.hdf5");
    EXPECT_EQ(out.size(), 5u);
    EXPECT_EQ(out.photons[1], 0);
    EXPECT_EQ(out.extra.at("molecule")[2], 0);
}

TEST(LocalizationIo, history_stays_and_grows_only_where_it_must) {
    TemporaryFolder folder;
    Localizations in = full_table(2);
    in.history = {"Width: 64\nHeight: 48\nFrames: 2\nPixelsize: 107.5\n",
                  "Generated by: \"a: b\"\nBox Size: 7\nROI: null"};
    write_localizations(folder / "a.hdf5", in);
    EXPECT_EQ(
        read_bytes(folder / "a.yaml"),
        "Width: 64\nHeight: 48\nFrames: 2\nPixelsize: 107.5\n---\nGenerated by: \"a: b\"\nBox Size: 7\nROI: null\n");
    std::filesystem::remove(folder / "a.yaml");
    const Localizations inside = read_localizations(folder / "a.hdf5");  // from /metadata
    ASSERT_EQ(inside.history.size(), 2u);
    EXPECT_EQ(inside.history[1], "Generated by: \"a: b\"\nBox Size: 7\nROI: null\n");
    EXPECT_EQ(inside.pixel_size_nm, 107.5);

    in.width = 128;  // contradicts the history: the last word is ours
    write_localizations(folder / "b.hdf5", in);
    EXPECT_EQ(read_localizations(folder / "b.hdf5").width, 128);
}

TEST(LocalizationIo, broken_metadata_do_not_lose_the_rows) {
    TemporaryFolder folder;
    write_localizations(folder / "a.hdf5", full_table(3));
    folder.write("a.yaml", "Width: [1, 2\n---\n- a list\n---\nWidth: 99\nHeight: -3\nFrames: lots\n");
    Warnings warnings;
    const Localizations out = read_localizations(folder / "a.hdf5", warnings.sink(), 50);
    EXPECT_EQ(out.size(), 3u);
    EXPECT_EQ(out.width, 99);
    EXPECT_EQ(out.pixel_size_nm, 50);
    EXPECT_TRUE(warnings.contain("2 document(s) are no YAML mapping"));
}

TEST(LocalizationIo, metadata_nested_beyond_reason_are_cut) {
    TemporaryFolder folder;
    const std::string nested = std::string(300'000, '[') + std::string(300'000, ']');
    const auto path = folder / "a.hdf5";
    {
        const hdf5::Handle file = hdf5::create_file(path, path);
        const hdf5::Handle type(H5Tcreate(H5T_COMPOUND, 12));
        H5Tinsert(type, "frame", 0, H5T_STD_U32LE);
        H5Tinsert(type, "x", 4, H5T_IEEE_F32LE);
        H5Tinsert(type, "y", 8, H5T_IEEE_F32LE);
        const hsize_t shape[] = {1};
        const char zeros[12] = {};
        hdf5::write_values(file, "locs", type, shape, zeros, path);
        hdf5::write_string(file, "metadata", "[{\"Deep\": " + nested + ", \"Width\": 40}]", path);
    }
    EXPECT_EQ(read_localizations(path).width, 40);
    folder.write("a.yaml", "Deep: " + nested + "\nWidth: 40\n");
    Warnings warnings;
    EXPECT_EQ(read_localizations(path, warnings.sink()).size(), 1u);
    EXPECT_TRUE(warnings.contain("no YAML mapping"));
}

TEST(LocalizationIo, picasso_file_with_nan_rows_odd_types_and_unknown_columns) {
    TemporaryFolder folder;
    struct Row {
        double y;
        std::int16_t frame;
        float x;
        char text[4];
        float likelihood;
        std::int32_t iterations;
        double mine;
    };
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Row rows[] = {{1, 0, 2, "a", -5, 7, 1e10}, {1, 1, nan, "b", -5, 8, 2}, {4, 2, 5, "c", -6, -1, nan}};
    {
        const hdf5::Handle file(H5Fcreate((folder / "a.hdf5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const hdf5::Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Row))), text(H5Tcopy(H5T_C_S1));
        H5Tset_size(text, 4);
        H5Tinsert(type, "y", HOFFSET(Row, y), H5T_NATIVE_DOUBLE);
        H5Tinsert(type, "frame", HOFFSET(Row, frame), H5T_NATIVE_INT16);
        H5Tinsert(type, "x", HOFFSET(Row, x), H5T_NATIVE_FLOAT);
        H5Tinsert(type, "text", HOFFSET(Row, text), text);
        H5Tinsert(type, "likelihood", HOFFSET(Row, likelihood), H5T_NATIVE_FLOAT);
        H5Tinsert(type, "iterations", HOFFSET(Row, iterations), H5T_NATIVE_INT32);
        H5Tinsert(type, "mine", HOFFSET(Row, mine), H5T_NATIVE_DOUBLE);
        const hsize_t shape[] = {3};
        hdf5::write_values(file, "locs", type, shape, rows, "a.hdf5");
    }
    Warnings warnings;
    const Localizations out = read_localizations(folder / "a.hdf5", warnings.sink());
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_EQ(out.x_px, (std::vector<float>{2, 5}));
    EXPECT_EQ(out.y_px, (std::vector<float>{1, 4}));
    EXPECT_EQ(out.log_likelihood, (std::vector<float>{-5, -6}));
    EXPECT_EQ(out.iterations, (std::vector<std::uint32_t>{7, 0}));
    EXPECT_EQ(out.extra.at("mine")[0], 1e10);
    EXPECT_TRUE(warnings.contain("1 of 3 rows hold NaN"));
    EXPECT_TRUE(warnings.contain("column text is left out"));
    EXPECT_TRUE(warnings.contain("has no metadata"));
}

TEST(LocalizationIo, files_that_are_none) {
    TemporaryFolder folder;
    const auto read = [&](const std::filesystem::path& path) {
        return message_of<InputError>([&] { read_localizations(path); });
    };
    EXPECT_HAS(read(folder / "missing.hdf5"), "does not exist");
    EXPECT_HAS(read(folder.write("empty.hdf5", "")), "is empty");
    EXPECT_HAS(read(folder.path()), "is not a file");

    write_localizations(folder / "a.hdf5", full_table(1000));
    const std::string bytes = read_bytes(folder / "a.hdf5");
    EXPECT_HAS(read(folder.write("cut.hdf5", bytes.substr(0, bytes.size() / 2))), "truncated");
    EXPECT_HAS(message_of<OptionError>([&] { write_localizations(folder / "a.txt", full_table(1)); }),
               "end it in .hdf5");

    const auto make = [&](const char* name, const char* dataset, hid_t type, std::vector<hsize_t> shape) {
        const hdf5::Handle file(H5Fcreate((folder / name).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const std::vector<char> zeros(1000);
        hdf5::write_values(file, dataset, type, shape, zeros.data(), name);
    };
    make("image.hdf5", "locs", H5T_NATIVE_FLOAT, {5, 5});
    EXPECT_HAS(read(folder / "image.hdf5"), "/locs is not a table");
    make("other.hdf5", "data", H5T_NATIVE_FLOAT, {5});
    EXPECT_HAS(read(folder / "other.hdf5"), "neither /locs (Picasso) nor /emitters (SMLMAnalysis), but /data");
}

TEST(LocalizationIo, a_claim_beyond_the_file_is_refused_before_memory_is_taken) {
    TemporaryFolder folder;
    {
        const hdf5::Handle file(H5Fcreate((folder / "a.hdf5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const hdf5::Handle type(H5Tcreate(H5T_COMPOUND, 12));
        H5Tinsert(type, "frame", 0, H5T_STD_U32LE);
        H5Tinsert(type, "x", 4, H5T_IEEE_F32LE);
        H5Tinsert(type, "y", 8, H5T_IEEE_F32LE);
        const hsize_t rows[] = {hsize_t(1) << 40}, chunk[] = {1000};
        const hdf5::Handle space(H5Screate_simple(1, rows, nullptr)), properties(H5Pcreate(H5P_DATASET_CREATE));
        H5Pset_chunk(properties, 1, chunk);
        const hdf5::Handle locs(H5Dcreate2(file, "locs", type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    }
    EXPECT_HAS(message_of<InputError>([&] { read_localizations(folder / "a.hdf5"); }), "claims");
}

TEST(LocalizationIo, nothing_is_left_of_what_was_not_closed) {
    TemporaryFolder folder;
    const Localizations in = full_table(10);
    for (const char* name : {"a.hdf5", "a.csv", "a.smlm.h5"}) {
        LocalizationWriter writer(folder / name, in, 20);
        writer.append(in);
        EXPECT_THROW(writer.close(), OptionError);  // 10 of 20 rows
    }
    EXPECT_TRUE(folder.names().empty());
    EXPECT_HAS(message_of<OutputError>([&] { write_localizations(folder / "no/a.hdf5", in); }), "mkdir -p");
}

TEST(LocalizationIo, a_full_disk_is_told_and_leaves_the_older_file) {
    TemporaryFolder folder;
    write_localizations(folder / "a.hdf5", full_table(10));
    const std::string before = read_bytes(folder / "a.hdf5");
    const Localizations large = full_table(100'000);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit unlimited;
    getrlimit(RLIMIT_FSIZE, &unlimited);
    for (const char* name : {"a.hdf5", "b.csv", "c.smlm.h5"}) {
        const rlimit tight{100'000, unlimited.rlim_max};
        setrlimit(RLIMIT_FSIZE, &tight);
        const std::string message = message_of<OutputError>([&] { write_localizations(folder / name, large); });
        setrlimit(RLIMIT_FSIZE, &unlimited);
        EXPECT_HAS(message, std::string(name) + ": the file would exceed the size limit");
    }
    EXPECT_EQ(read_bytes(folder / "a.hdf5"), before);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.hdf5", "a.yaml"}));
}

TEST(LocalizationIo, pieces_must_agree) {
    TemporaryFolder folder;
    const Localizations in = full_table(4);
    LocalizationWriter writer(folder / "a.hdf5", in, 8);
    Localizations other = in;
    other.bg.clear();
    EXPECT_THROW(writer.append(other), OptionError);
    other = in;
    other.bg.pop_back();
    EXPECT_THROW(writer.append(other), OptionError);
    writer.append(in);
    writer.append(in);
    EXPECT_THROW(writer.append(in), OptionError);
    EXPECT_THROW(LocalizationWriter(folder / "b.hdf5", Localizations{}, 3), OptionError);
}

TEST(LocalizationIo, truth_reads_back) {
    TemporaryFolder folder;
    Localizations in;
    in.frame = {0, 5}, in.x_px = {0, 3.25f}, in.y_px = {-0.25f, 7}, in.z_nm = {-120, 35}, in.photons = {900, 1100};
    in.extra["molecule"] = {123456789, 2}, in.pixel_size_nm = 100;
    write_truth(folder / "t.csv", in);
    EXPECT_EQ(read_bytes(folder / "t.csv"),
              "frame,x_nm,y_nm,z_nm,photons,molecule\n0,0,-25,-120,900,123456789\n5,325,700,35,1100,2\n");
    const Localizations out = read_truth(folder / "t.csv", 100);
    EXPECT_EQ(out.frame, in.frame);
    EXPECT_EQ(out.x_px, in.x_px);
    EXPECT_EQ(out.y_px, in.y_px);
    EXPECT_EQ(out.z_nm, in.z_nm);
    EXPECT_EQ(out.photons, in.photons);
    EXPECT_EQ(out.extra, in.extra);
    EXPECT_THROW(read_truth(folder / "t.csv", 0), OptionError);
}

TEST(LocalizationIo, truth_without_a_header_is_id_frame_x_y) {
    TemporaryFolder folder;
    const Localizations six = read_truth(folder.write("6.csv", "1,1,50,150,-30,700\n2,4,250,50,20,800\n"), 100);
    EXPECT_EQ(six.frame, (std::vector<std::uint32_t>{0, 3}));
    EXPECT_EQ(six.x_px, (std::vector<float>{0, 2}));
    EXPECT_EQ(six.z_nm, (std::vector<float>{-30, 20}));
    EXPECT_EQ(six.photons, (std::vector<float>{700, 800}));
    const Localizations five = read_truth(folder.write("5.csv", "1,1,50,150,700\n"), 100);
    EXPECT_TRUE(five.z_nm.empty());
    EXPECT_TRUE(five.photons.empty());
    const auto challenge =
        folder.write("c.csv", "Ground-truth,frame,xnano,ynano,znano,intensity \n1,2,150,250,9,500\n");
    EXPECT_EQ(read_truth(challenge, 100).y_px[0], 2);
    EXPECT_EQ(read_truth(challenge, 100).photons[0], 500);
}

TEST(LocalizationIo, third_party_truth) {
    const auto path = data_file("sim_3d_astigmatic_low_density_truth.csv");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << ": GLINT_DATA names the folder";
    const Localizations truth = read_truth(path, 100);
    ASSERT_EQ(truth.size(), 6322u);
    EXPECT_EQ(truth.frame[0], 0u);
    EXPECT_NEAR(truth.x_px[0], 2706.88563875974 / 100 - 0.5, 2e-6);
    EXPECT_NEAR(truth.z_nm[0], -91.3646487508248, 1e-5);
    EXPECT_EQ(truth.photons[0], 2400);
    EXPECT_EQ(truth.width, 32);
    EXPECT_EQ(truth.frames, 1000);
}

TEST(LocalizationIo, picassos_own_file) {
    const auto path = data_file("picasso_testdata_locs.hdf5");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << ": GLINT_DATA names the folder";
    const Localizations locs = read_localizations(path);
    EXPECT_EQ(locs.size(), 564u);
    EXPECT_EQ(locs.pixel_size_nm, 130);
    EXPECT_EQ(locs.width, 32);
    EXPECT_EQ(locs.history.size(), 2u);
    EXPECT_EQ(locs.log_likelihood.size(), 564u);
    EXPECT_EQ(locs.extra.count("net_gradient"), 1u);
}
