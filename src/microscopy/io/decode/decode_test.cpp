// DECODE's tables: x counts rows, uncertainties come as standard deviations or variances.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "io/hdf5/writing.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

std::string comments(const std::string& meta) {
    return "# DECODE EmitterSet\n# {\"version\": \"v0.10\"}\n# " + meta + "\n";
}

const std::string in_px = comments(R"({"xy_unit": "px", "px_size": [200.0, 100.0]})");

}  // namespace

TEST(Decode, csv) {
    TemporaryFolder folder;
    const std::string header = "x,y,z,phot,frame_ix,id,prob,bg,x_cr,y_cr,z_cr,x_sig,y_sig,z_sig,phot_sig\n";
    const std::string row = "3.5,10,-200,1000,0,-1,0.9,15,,,,0.2,0.1,30,25\n";
    Warnings told;
    const Localizations out = read_localizations(folder.write("a.csv", in_px + header + row), told.sink());
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0}));
    expect_near(out.x_px, {10}, "x");
    expect_near(out.y_px, {3.5f}, "y");
    expect_near(out.z_nm, {-200}, "z");
    expect_near(out.photons, {1000}, "photons");
    expect_near(out.lpx_px, {0.1f}, "lpx");
    expect_near(out.lpy_px, {0.2f}, "lpy");
    expect_near(out.lpz_nm, {30}, "lpz");
    expect_near(out.photons_unc, {25}, "photons_unc");
    EXPECT_EQ(out.extra.at("prob").values[0], 0.9);
    EXPECT_FALSE(out.extra.contains("id")) << "-1 in all rows";
    EXPECT_EQ(out.pixel_size_nm, 100);
    EXPECT_TRUE(told.contain("its x is taken as a frame's rows"));
    EXPECT_FALSE(told.contain("no number"));
    // A simulation has variances only.
    const std::string simulated = "3.5,10,-200,1000,0,-1,0.9,15,0.04,0.01,900,,,,\n";
    const Localizations truth = read_localizations(folder.write("b.csv", in_px + header + simulated));
    expect_near(truth.lpx_px, {0.1f}, "lpx");
    expect_near(truth.lpz_nm, {30}, "lpz");
}

TEST(Decode, csv_in_nm_needs_a_pixel_size) {
    TemporaryFolder folder;
    const std::string rows = "x,y,z,phot,frame_ix,id,prob,bg\n400,1000,0,9,4,-1,1,2\n";
    const auto path = folder.write("a.csv", comments(R"({"xy_unit": "nm"})") + rows);
    EXPECT_HAS(message_of<OptionError>([&] { read_localizations(path); }), "`table_pixel_size=100nm`");
    const Localizations out = read_localizations(path, {}, 100);
    expect_near(out.x_px, {10}, "x");
    expect_near(out.y_px, {4}, "y");
    EXPECT_EQ(out.frame[0], 4u);
    const auto both = folder.write("b.csv", comments(R"({"xy_unit": "nm", "px_size": [200, 100]})") + rows);
    expect_near(read_localizations(both).y_px, {2}, "y");
    const auto message = [&](const std::string& text) {
        return message_of<InputError>([&] { read_localizations(folder.write("c.csv", text), {}, 100); });
    };
    EXPECT_HAS(message(comments(R"({"xy_unit": "furlong"})") + rows), "xy_unit \"furlong\", and px or nm is needed");
    EXPECT_HAS(message(comments("[[[[") + rows), "xy_unit \"\"");
    EXPECT_HAS(message(rows), "without its three comments");
}

TEST(Decode, hdf5) {
    TemporaryFolder folder;
    const auto write = [&](const char* name, hsize_t xyz_columns, hsize_t frames) {
        AtomicFile target(folder / name);
        {
            const hdf5::Handle file = hdf5::create_file(target);
            const hdf5::Handle data(H5Gcreate2(file, "data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
            const hdf5::Handle meta(H5Gcreate2(file, "meta", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
            const auto add = [&](const char* column, std::vector<hsize_t> shape, const std::vector<double>& values) {
                hdf5::write_values(data, column, H5T_IEEE_F64LE, shape, values.data(), folder / name);
            };
            add("xyz", {2, xyz_columns}, {3.5, 10, -200, 7, 11, 50});
            add("xyz_sig", {2, xyz_columns}, {0.2, 0.1, 30, 0.4, 0.3, 40});
            add("phot", {2}, {1000, 900});
            add("phot_cr", {2}, {100, 144});
            add("frame_ix", {frames}, {4, 5});
            const hdf5::Handle text(H5Tcopy(H5T_C_S1));
            H5Tset_size(text, 2);
            const hdf5::Handle scalar(H5Screate(H5S_SCALAR));
            const hsize_t two = 2;
            const hdf5::Handle pair(H5Screate_simple(1, &two, nullptr));
            const hdf5::Handle unit(H5Acreate2(meta, "xy_unit", text, scalar, H5P_DEFAULT, H5P_DEFAULT));
            const hdf5::Handle size(H5Acreate2(meta, "px_size", H5T_IEEE_F32LE, pair, H5P_DEFAULT, H5P_DEFAULT));
            const float sizes[] = {200, 100};
            H5Awrite(unit, text, "px"), H5Awrite(size, H5T_NATIVE_FLOAT, sizes);
        }
        target.commit();
        return folder / name;
    };
    const Localizations out = read_localizations(write("a.h5", 3, 2));
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{4, 5}));
    expect_near(out.x_px, {10, 11}, "x");
    expect_near(out.y_px, {3.5f, 7}, "y");
    expect_near(out.lpx_px, {0.1f, 0.3f}, "lpx");
    expect_near(out.lpz_nm, {30, 40}, "lpz");
    EXPECT_EQ(out.pixel_size_nm, 100);
    EXPECT_TRUE(out.photons_unc.empty()) << "the network's uncertainties and the simulation's are not mixed";
    EXPECT_HAS(message_of<InputError>([&] { read_localizations(write("b.h5", 2, 2)); }), "no list of three numbers");
    EXPECT_HAS(message_of<InputError>([&] { read_localizations(write("c.h5", 3, 1)); }),
               "/data/frame_ix has 1 rows, /data/xyz has 2");
}
