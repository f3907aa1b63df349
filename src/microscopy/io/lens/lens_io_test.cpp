// Files of measured PSFs: glint's own, and those of other programs.
// SPDX-License-Identifier: MIT
#include "glint/psf_io.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <random>

#include "glint/camera_io.hpp"
#include "glint/error.hpp"
#include "io/camera/psf_table_file.hpp"
#include "io/files/atomic_file.hpp"
#include "io/hdf5/writing.hpp"
#include "io/lens/polynomials.hpp"
#include "psf/in_double.hpp"
#include "tests/expect_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

/// The light of the brightest plane, per pixel.
double find_light(const PsfTable& table) {
    const PsfTable::Shape& shape = table.shape();
    const double samples = table.scale().samples_per_px;
    return brightest_plane({{std::size_t(shape[0]), std::size_t(shape[1]), std::size_t(shape[2])},
                            {table.values().begin(), table.values().end()}}) /
           (samples * samples);
}

/// Returns the lens with other coefficients.
Lens with_values(Lens lens, const std::function<float(float)>& change) {
    std::vector<float> values(lens.table->values().begin(), lens.table->values().end());
    std::transform(values.begin(), values.end(), values.begin(), change);
    lens.table = std::make_shared<const PsfTable>(lens.table->shape(), std::move(values), lens.table->scale(),
                                                  lens.table->field());
    return lens;
}

/// A tilted spot that widens with z, so that each axis and direction differs: coefficients with noise. Its light is 1.
Lens make_tilted_lens(int nz = 9, int ny = 13, int nx = 13, int samples = 1) {
    std::mt19937 random(7);
    std::normal_distribution<float> noise(0, 0.002f);
    std::vector<float> values;
    for (int k = 0; k < nz; ++k)
        for (int j = 0; j < ny; ++j)
            for (int i = 0; i < nx; ++i) {
                const double x = i - 0.5 * (nx - 1) - 0.1 * k, y = j - 0.5 * (ny - 1) + 0.3;
                const double width = 1.2 + 0.1 * k;
                values.push_back(float(std::exp(-(x * x + 1.5 * y * y + 0.6 * x * y) / (2 * width * width)) / 8) +
                                 noise(random));
            }
    Lens lens;
    lens.table = std::make_shared<const PsfTable>(PsfTable::Shape{nz, ny, nx, 1}, std::move(values),
                                                  PsfTable::Scale{107.5, -350, 250, samples});
    lens.origin =
        "three beads of \xc2\xb5"
        "m size",
    lens.date = "2026-11-29";
    lens.usable_min_nm = -300, lens.usable_max_nm = 200;
    lens.errors = {{-300, 1.5, 4, 3.5}, {0, -0.5, 3, 2.5}, {200, 2, 6, 5.5}};
    const double light = find_light(*lens.table);
    return with_values(std::move(lens), [light](float value) { return float(double(value) / light); });
}

/// 3 x 2 cells, each brighter by 2 %.
Lens make_field_lens() {
    Lens lens = make_tilted_lens();
    std::vector<float> values;
    for (int cell = 0; cell < 6; ++cell)
        for (const float value : lens.table->values()) values.push_back(value * (1 + 0.02f * float(cell)));
    lens.table = std::make_shared<const PsfTable>(lens.table->shape(), std::move(values), lens.table->scale(),
                                                  PsfField{3, 2, -10.5, 4, 42.25});
    return lens;
}

double peak(const PsfTable& table) { return double(*std::max_element(table.values().begin(), table.values().end())); }

/// The ratio of two tables' light, to which they must be equal otherwise.
void expect_equal_functions(const Lens& out, const Lens& in) {
    ASSERT_EQ(out.table->shape(), in.table->shape());
    EXPECT_NEAR(out.table->scale().pixel_size_nm, in.table->scale().pixel_size_nm, 1e-9);
    EXPECT_NEAR(out.table->scale().z_min_nm, in.table->scale().z_min_nm, 1e-6);
    EXPECT_NEAR(out.table->scale().z_max_nm, in.table->scale().z_max_nm, 1e-6);
    const double ratio = peak(*out.table) / peak(*in.table);
    for (std::size_t k = 0; k < in.table->values().size(); ++k)
        ASSERT_NEAR(double(out.table->values()[k]) / ratio, double(in.table->values()[k]), 1e-5 * peak(*in.table)) << k;
}

void set_attribute(const std::filesystem::path& path, const char* name, const char* text) {
    const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const hdf5::Handle group(H5Gopen2(file, "psf", H5P_DEFAULT));
    H5Adelete(group, name);
    hdf5::write_attribute(group, name, std::string(text), path);
}

void remove_attribute(const std::filesystem::path& path, const char* name) {
    const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const hdf5::Handle group(H5Gopen2(file, "psf", H5P_DEFAULT));
    H5Adelete(group, name);
}

void set_number(const std::filesystem::path& path, const char* name, double value) {
    remove_attribute(path, name);
    const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const hdf5::Handle group(H5Gopen2(file, "psf", H5P_DEFAULT));
    hdf5::write_attribute(group, name, value, path);
}

/// Replaces the coefficients of a file, and removes its hash.
void set_coefficients(const std::filesystem::path& path, const Lens& lens) {
    remove_attribute(path, "hash");
    const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const hdf5::Handle dataset(H5Dopen2(file, "psf/coefficients", H5P_DEFAULT));
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, lens.table->values().data());
}

std::string attribute(const std::filesystem::path& path, const char* name) {
    const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
    const hdf5::Handle group(H5Gopen2(file, "psf", H5P_DEFAULT));
    return hdf5::read_string_attribute(group, name).value_or("");
}

/// A file of the group /psf alone, with coefficients of one shape and type, which need not be stored.
void write_odd_lens(const std::filesystem::path& path, std::vector<hsize_t> shape, hid_t type, bool is_chunked) {
    const Lens lens = make_tilted_lens(4, 4, 4);
    write_lens(path, lens);
    const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const hdf5::Handle group(H5Gopen2(file, "psf", H5P_DEFAULT));
    H5Ldelete(group, "coefficients", H5P_DEFAULT);
    const hdf5::Handle space(H5Screate_simple(int(shape.size()), shape.data(), nullptr));
    const hdf5::Handle properties(H5Pcreate(H5P_DATASET_CREATE));
    const std::vector<hsize_t> chunk(shape.size(), 1);
    if (is_chunked) H5Pset_chunk(properties, int(chunk.size()), chunk.data());
    const hdf5::Handle dataset(H5Dcreate2(group, "coefficients", type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
}

std::filesystem::path third_party(const char* name) {
    const char* folder = std::getenv("GLINT_DATA");
    const std::filesystem::path path = std::filesystem::path(folder ? folder : "") / name;
    return folder && std::filesystem::exists(path) ? path : std::filesystem::path();
}

}  // namespace

TEST(LensIo, own_file_comes_back) {
    TemporaryFolder folder;
    const Lens in = make_tilted_lens(9, 12, 12, 2);
    write_lens(folder / "lens.h5", in);
    const Lens out = read_lens(folder / "lens.h5");
    EXPECT_EQ(out.table->hash(), in.table->hash());
    EXPECT_EQ(attribute(folder / "lens.h5", "hash"), fmt::format("{:016x}", in.table->hash()));
    EXPECT_EQ(out.table->scale(), in.table->scale());
    EXPECT_EQ(out.origin, in.origin);
    EXPECT_EQ(out.date, in.date);
    EXPECT_EQ(out.usable_min_nm, -300);
    EXPECT_EQ(out.usable_max_nm, 200);
    ASSERT_EQ(out.errors.size(), 3u);
    EXPECT_EQ(out.errors[1].z_bias_nm, -0.5);
    EXPECT_EQ(out.errors[2].crlb_nm, 5.5);
    EXPECT_EQ(folder.names().size(), 1u);
    write_lens(folder / "again.h5", in);
    EXPECT_EQ(read_bytes(folder / "again.h5"), read_bytes(folder / "lens.h5"));
}

TEST(LensIo, own_file_is_not_replaced_unless_allowed) {
    TemporaryFolder folder;
    write_lens(folder / "lens.h5", make_tilted_lens());
    const std::string before = read_bytes(folder / "lens.h5");
    expect_error<OutputError>([&] { write_lens(folder / "lens.h5", make_tilted_lens(8), IfExists::refuse); },
                              {"lens.h5"});
    EXPECT_EQ(read_bytes(folder / "lens.h5"), before);
    expect_error<OutputError>([&] { write_lens(folder / "none" / "lens.h5", make_tilted_lens()); }, {"none"});
}

TEST(LensIo, later_minor_versions_are_read_and_major_ones_refused) {
    TemporaryFolder folder;
    const auto path = folder / "lens.h5";
    const Lens in = make_tilted_lens();
    write_lens(path, in);
    set_attribute(path, "version", "1.7");
    {
        const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
        const hdf5::Handle group(H5Gopen2(file, "psf", H5P_DEFAULT));
        hdf5::write_attribute(group, "temperature", 293.0, path);
        const hsize_t three[] = {3};
        const double values[] = {1, 2, 3};
        hdf5::write_values(group, "more", H5T_NATIVE_DOUBLE, three, values, path);
    }
    EXPECT_EQ(read_lens(path).table->hash(), in.table->hash());
    set_attribute(path, "version", "3.0");
    expect_error<InputError>([&] { read_lens(path); }, {"lens.h5", "3.0", "2.x", "newer"});
    set_attribute(path, "version", "one");
    expect_error<InputError>([&] { read_lens(path); }, {"one", "1.2"});
}

TEST(LensIo, damaged_own_files_are_errors) {
    TemporaryFolder folder;
    const auto path = folder / "lens.h5";
    write_lens(path, make_tilted_lens());
    const std::string whole = read_bytes(path);
    for (std::size_t bytes = 0; bytes < whole.size(); bytes += 97) {
        folder.write("cut.h5", whole.substr(0, bytes));
        expect_error<InputError>([&] { read_lens(folder / "cut.h5"); }, {"cut.h5"});
    }
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {  // must end, in a result or in an error
        std::string bytes = whole;
        for (int k = 0; k < 4; ++k) bytes[random() % bytes.size()] = char(random());
        folder.write("odd.h5", bytes);
        try {
            read_lens(folder / "odd.h5");
        } catch (const Error&) {
        }
    }
}

// The values of a file without a hash, as version 1.0 wrote it, are the only evidence.
TEST(LensIo, implausible_values_are_errors) {
    TemporaryFolder folder;
    const auto path = folder / "odd.h5";
    const Lens lens = make_tilted_lens();
    const auto refuses = [&](const std::function<float(float)>& change, std::initializer_list<const char*> words) {
        write_lens(path, lens);
        set_coefficients(path, with_values(lens, change));
        expect_error<InputError>([&] { read_lens(path); }, words);
        expect_error<OptionError>([&] { write_lens(folder / "new.h5", with_values(lens, change)); }, {"new.h5"});
    };
    EXPECT_NO_THROW(write_lens(path, lens));
    set_coefficients(path, with_values(lens, [](float value) { return 1.1f * value; }));
    EXPECT_NEAR(find_light(*read_lens(path).table), 1.1, 1e-5);
    refuses([](float value) { return 2 * value; }, {"odd.h5", "sums to 2", "0.5 to 1.5", "glint calibrate psf"});
    refuses([](float value) { return 0.1f * value; }, {"sums to 0.1", "0.5 to 1.5"});
    refuses([](float) { return 0.0f; }, {"no light"});
    refuses([](float value) { return -value; }, {"no light"});
    refuses([](float) { return 1e30f; }, {"limits are 0.5 to 1.5"});
    refuses([](float value) { return value + 0.05f * (value < 0.005f ? -0.1f : 0.1f); },
            {"% of the light", "negative"});
    const auto refuses_number = [&](const char* name, double value, std::initializer_list<const char*> words) {
        write_lens(path, lens);
        set_number(path, name, value);
        remove_attribute(path, "hash");
        expect_error<InputError>([&] { read_lens(path); }, words);
    };
    refuses_number("z_max_nm", 1e30, {"z_max_nm", "1e+30", "-100000 to 100000"});
    refuses_number("z_min_nm", -1e30, {"z_min_nm", "-1e+30"});
    refuses_number("z_min_nm", 260, {"odd.h5", "260 to 250 nm"});
    refuses_number("pixel_size_nm", 1e9, {"pixel_size_nm", "1 to 100000"});
    refuses_number("usable_max_nm", -400, {"usable_max_nm", "-400", "ascend"});
    refuses_number("usable_max_nm", 300, {"usable_max_nm", "300", "-350 to 250"});
    refuses_number("samples_per_px", 0.37, {"samples_per_px", "0.37", "1 or 2"});
    expect_error<OptionError>([&] { write_lens(path, make_tilted_lens(9, 12, 13)); }, {"9 x 12 x 13", "equal"});
}

TEST(LensIo, a_psf_over_the_field_comes_back) {
    TemporaryFolder folder;
    const auto path = folder / "lens.h5";
    const Lens in = make_field_lens();
    write_lens(path, in);
    const Lens out = read_lens(path);
    EXPECT_EQ(out.table->hash(), in.table->hash());
    EXPECT_EQ(out.table->field(), in.table->field());
    EXPECT_EQ(out.table->cell(5)[0], in.table->cell(5)[0]);
    EXPECT_EQ(read_psf_table(path)->hash(), in.table->hash());
    EXPECT_EQ(attribute(path, "version"), "2.0");  // which a reader of versions 1 refuses
    write_lens(path, make_tilted_lens());
    EXPECT_EQ(attribute(path, "version"), "1.2");
    for (const auto write : {&write_smap_lens, &write_picasso_lens})
        expect_error<OptionError>([&] { write(folder / "other", in, IfExists::replace); },
                                  {"other", "one PSF", "3 x 2 cells", "region"});
}

TEST(LensIo, damaged_fields_are_errors) {
    TemporaryFolder folder;
    const auto path = folder / "odd.h5";
    const Lens lens = make_field_lens();
    const auto refuses = [&](const char* name, double value, std::initializer_list<const char*> words) {
        write_lens(path, lens);
        set_number(path, name, value);
        expect_error<InputError>([&] { read_lens(path); }, words);
    };
    refuses("field_cell_px", 0, {"odd.h5", "edge of 0 px"});
    refuses("field_cell_px", -5, {"odd.h5", "edge of -5 px"});
    refuses("field_cell_px", std::nan(""), {"odd.h5", "field_cell_px", "finite"});
    refuses("field_cell_px", 1e9, {"odd.h5", "edge of 1000000000 px"});
    refuses("field_left_px", 1e9, {"odd.h5", "begins at"});
    refuses("field_top_px", std::nan(""), {"odd.h5", "field_top_px", "finite"});
    refuses("field_left_px", -11, {"odd.h5", "hash"});
    write_lens(path, lens);
    remove_attribute(path, "field_left_px");
    expect_error<InputError>([&] { read_lens(path); }, {"odd.h5", "field_left_px"});
    write_lens(path, lens);
    set_attribute(path, "version", "3.0");
    expect_error<InputError>([&] { read_lens(path); }, {"version 3.0", "up to 2.x"});
    // A cell without light among others.
    const std::size_t size = lens.table->cell_size();
    std::size_t at = 0;
    const Lens dark = with_values(lens, [&](float value) { return at++ / size == 4 ? 0 : value; });
    expect_error<OptionError>([&] { write_lens(folder / "new.h5", dark); }, {"row 1 and column 1", "no light"});
    const hsize_t huge = hsize_t(1) << 30;
    for (const std::vector<hsize_t>& shape :
         {std::vector<hsize_t>{huge, huge, 4, 4, 4}, {64, 64, 64, 64, 64}, {1, 1, 1, 1, 1, 1}}) {
        write_odd_lens(path, shape, H5T_NATIVE_FLOAT, true);
        expect_error<InputError>([&] { read_lens(path); }, {"odd.h5"});
    }
    // With all their values stored.
    for (const std::vector<hsize_t>& shape :
         {std::vector<hsize_t>{0, 1, 4, 4, 4}, {4097, 1, 4, 4, 4}, {2, 2, 4, 4}, {1, 2, 3, 4, 4}}) {
        write_lens(path, lens);
        const hdf5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
        const hdf5::Handle group(H5Gopen2(file, "psf", H5P_DEFAULT));
        H5Ldelete(group, "coefficients", H5P_DEFAULT);
        hsize_t count = 1;
        for (const hsize_t edge : shape) count *= edge;
        const std::vector<float> values(count, 1.0f);
        hdf5::write_values(group, "coefficients", H5T_NATIVE_FLOAT, shape, values.data(), path);
        H5Fflush(file, H5F_SCOPE_GLOBAL);
        expect_error<InputError>([&] { read_lens(path); }, {"odd.h5", "has the shape"});
    }
}

TEST(LensIo, edited_files_are_errors) {
    TemporaryFolder folder;
    const auto path = folder / "lens.h5";
    const Lens lens = make_tilted_lens();
    write_lens(path, lens);
    set_number(path, "z_min_nm", -360);
    expect_error<InputError>([&] { read_lens(path); }, {"lens.h5", "hash", "damaged or was edited"});
    remove_attribute(path, "hash");  // as version 1.0
    EXPECT_EQ(read_lens(path).table->scale().z_min_nm, -360);
}

TEST(LensIo, wrong_shapes_and_types_are_errors) {
    TemporaryFolder folder;
    const auto path = folder / "odd.h5";
    const hsize_t huge = hsize_t(1) << 30;
    for (const std::vector<hsize_t>& shape :
         {std::vector<hsize_t>{4, 4}, {4, 4, 4, 1}, {3, 4, 4}, {huge, huge, huge}, {4, 4, 1 << 24}}) {
        write_odd_lens(path, shape, H5T_NATIVE_FLOAT, true);
        expect_error<InputError>([&] { read_lens(path); }, {"odd.h5"});
    }
    write_odd_lens(path, {4, 4, 4}, H5T_C_S1, false);
    expect_error<InputError>([&] { read_lens(path); }, {"odd.h5"});
    for (const char* name : {"pixel_size_nm", "z_min_nm", "samples_per_px"}) {
        write_lens(path, make_tilted_lens());
        set_attribute(path, name, "100");  // a text
        expect_error<InputError>([&] { read_lens(path); }, {"odd.h5", name});
    }
    Lens lens = make_tilted_lens();
    lens.table = std::make_shared<const PsfTable>(PsfTable::Shape{2, 2, 4, 1}, std::vector<float>(16, 1.0f),
                                                  PsfTable::Scale{100, -100, 100, 1});
    expect_error<OptionError>([&] { write_lens(path, lens); }, {"2 x 2 x 4"});
    lens.table = nullptr;
    expect_error<OptionError>([&] { write_lens(path, lens); }, {"no table"});
}

TEST(LensIo, polynomials_are_the_spline) {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> uniform(-1, 1);
    SplineCoefficients spline{{5, 7, 6}, {}};
    for (int k = 0; k < 5 * 7 * 6; ++k) spline.values.push_back(uniform(random));
    const CellPolynomials polynomials = to_polynomials(spline);
    const SplineCoefficients back = to_spline(polynomials);
    ASSERT_EQ(back.shape, spline.shape);
    for (std::size_t k = 0; k < spline.values.size(); ++k) EXPECT_NEAR(back.values[k], spline.values[k], 3e-6) << k;
    for (int n = 0; n < 1000; ++n) {
        const Index3 cell{random() % 2, random() % 4, random() % 3};
        const std::array<double, 3> at{std::abs(uniform(random)), std::abs(uniform(random)), std::abs(uniform(random))};
        ASSERT_NEAR(polynomials.value(cell, at), spline.value(cell, at), 2e-6);
        ASSERT_NEAR(polynomials.value(cell, at), back.value(cell, at), 5e-6);
    }
}

TEST(LensIo, smallest_grids_are_read) {
    std::mt19937 random(2);
    SplineCoefficients spline{{4, 4, 5}, {}};
    for (int k = 0; k < 80; ++k) spline.values.push_back(1 + double(random() % 1000) / 1000);
    const SplineCoefficients back = to_spline(to_polynomials(spline));
    for (std::size_t k = 0; k < 80; ++k) EXPECT_NEAR(back.values[k], spline.values[k], 1e-5) << k;
}

TEST(LensIo, other_orders_of_the_axes_are_errors) {
    SplineCoefficients spline{{5, 7, 6}, {}};
    std::mt19937 random(5);
    for (int k = 0; k < 5 * 7 * 6; ++k) spline.values.push_back(double(random() % 1000));
    const CellPolynomials right = to_polynomials(spline);
    EXPECT_NO_THROW(to_spline(right));
    Index3 order = right.power_strides;
    std::sort(order.begin(), order.end());
    int refused = 0;
    do {
        CellPolynomials wrong = right;
        wrong.power_strides = order;
        if (order == right.power_strides) continue;
        expect_error<std::runtime_error>([&] { to_spline(wrong); }, {"do not meet"});
        ++refused;
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(refused, 5);
}

TEST(LensIo, jumps_of_the_curvature_are_errors) {
    SplineCoefficients spline{{6, 7, 6}, {}};
    std::mt19937 random(5);
    for (int k = 0; k < 6 * 7 * 6; ++k) spline.values.push_back(double(random() % 1000));
    CellPolynomials bent = to_polynomials(spline);
    // t (1 - t) in one cell: its values at the points are unchanged.
    const std::size_t cell = bent.cell_strides[0] + bent.cell_strides[1] + bent.cell_strides[2];
    bent.values[cell + bent.power_strides[0]] += 10;
    bent.values[cell + 2 * bent.power_strides[0]] -= 10;
    expect_error<std::runtime_error>([&] { to_spline(bent); }, {"no cubic spline", "curvature"});
    bent.values[0] = NAN;
    expect_error<std::runtime_error>([&] { to_spline(bent); }, {"not finite"});
}

TEST(LensIo, smap_file_comes_back) {
    TemporaryFolder folder;
    const Lens in = make_tilted_lens(9, 13, 15);
    write_smap_lens(folder / "a_3dcal.mat", in);
    expect_equal_functions(read_lens(folder / "a_3dcal.mat"), in);
    // Its brightest plane has the light 1.
    EXPECT_NEAR(find_light(*read_lens(folder / "a_3dcal.mat").table), 1, 1e-6);
    expect_error<OptionError>([&] { write_smap_lens(folder / "b.mat", make_tilted_lens(9, 12, 13)); },
                              {"b.mat", "odd number", "11 x 10"});
    expect_error<OptionError>([&] { write_smap_lens(folder / "b.mat", make_tilted_lens(9, 13, 13, 2)); },
                              {"b.mat", "one sample a pixel"});
}

TEST(LensIo, picasso_file_comes_back) {
    TemporaryFolder folder;
    const Lens in = make_tilted_lens(9, 14, 14);
    write_picasso_lens(folder / "a_spline_calib.hdf5", in);
    expect_equal_functions(read_lens(folder / "a_spline_calib.hdf5"), in);
    expect_error<OptionError>([&] { write_picasso_lens(folder / "b.hdf5", make_tilted_lens(9, 12, 13)); },
                              {"b.hdf5", "square", "11 x 10"});
}

// The model that fits use, at a place between pixels, is what Picasso's formula gives.
TEST(LensIo, the_model_draws_what_the_file_has) {
    TemporaryFolder folder;
    const Lens in = make_tilted_lens(9, 15, 15);
    write_picasso_lens(folder / "a.hdf5", in);
    const Lens lens = read_lens(folder / "a.hdf5");
    Psf psf;
    psf.model = PsfModel::SplineXYZNB, psf.table = lens.table;
    const double x = 6.3, y = 5.8, z_nm = -42, step_nm = 100;  // of the middle pixel 6, 6
    const double theta[] = {x, y, 1, 0, z_nm / 1000};
    std::vector<double> image(13 * 13, 0.0);
    PsfInDouble(psf, 107.5).add_photons(theta, 0, 0, 13, 13, image.data());
    const hdf5::Handle file = hdf5::open_file(folder / "a.hdf5");
    const hdf5::Handle dataset = hdf5::open_dataset(file, "coefficients", folder / "a.hdf5");
    const std::vector<float> values = hdf5::read_floats(dataset, "coefficients", folder / "a.hdf5");
    CellPolynomials theirs{{6, 12, 12}, {64 * 144, 64 * 12, 64}, {16, 4, 1}, 0, values};
    const double light = brightest_plane(to_spline(theirs)), highest = *std::max_element(image.begin(), image.end());
    const double depth = (250 - z_nm) / step_nm;
    for (int j = 2; j < 11; ++j)
        for (int i = 2; i < 11; ++i) {
            const double v = j - y + 6, u = i - x + 6;  // from the first pixel of their box
            const Index3 cell{std::size_t(depth), std::size_t(v), std::size_t(u)};
            const double value =
                theirs.value(cell, {depth - double(cell[0]), v - double(cell[1]), u - double(cell[2])});
            ASSERT_NEAR(image[std::size_t(13 * j + i)], std::max(value / light, 1e-12), 1e-5 * highest)
                << i << " " << j;
        }
}

TEST(LensIo, cut_and_odd_files_of_others_are_errors) {
    TemporaryFolder folder;
    write_smap_lens(folder / "smap", make_tilted_lens(5, 7, 7));
    write_picasso_lens(folder / "picasso", make_tilted_lens(5, 7, 7));
    std::vector<std::filesystem::path> files{folder / "smap", folder / "picasso"};
    for (const char* name : {"storm_analysis_3d.spline", "smap_3dcal_small.mat"})
        if (const auto path = third_party(name); !path.empty()) files.push_back(path);
    std::mt19937 random(9);
    for (const auto& file : files) {
        const std::string whole = read_bytes(file);
        for (int round = 0; round < 40; ++round) {
            folder.write("cut", whole.substr(0, random() % whole.size()));
            try {  // a cut behind the last value that is read does no harm
                read_lens(folder / "cut");
            } catch (const InputError& error) {
                EXPECT_NE(std::string(error.what()).find("cut"), std::string::npos);
            } catch (const OptionError&) {  // the pixel size was behind the cut
            }
            std::string bytes = whole;
            for (int k = 0; k < 5; ++k) bytes[random() % std::min<std::size_t>(bytes.size(), 2000)] = char(random());
            folder.write("odd", bytes);
            try {
                read_lens(folder / "odd");
            } catch (const Error&) {
            }
        }
    }
}

TEST(LensIo, files_of_smap_and_storm_analysis_are_read) {
    const auto smap = third_party("smap_3dcal_small.mat"), spline = third_party("storm_analysis_3d.spline");
    if (smap.empty() || spline.empty()) GTEST_SKIP() << "GLINT_DATA names no folder with third-party files";
    const Lens first = read_lens(smap);
    EXPECT_EQ(first.table->shape(), (PsfTable::Shape{9, 17, 17, 1}));
    EXPECT_NEAR(first.table->scale().pixel_size_nm, 100, 1e-9);
    EXPECT_EQ(first.table->scale().z_min_nm, -20);  // z0 4, dz 10, seven slices; z falls
    EXPECT_EQ(first.table->scale().z_max_nm, 40);
    EXPECT_EQ(read_psf_table(smap)->hash(), first.table->hash());
    EXPECT_EQ(coefficients_file(smap), smap);
    const Lens second = read_lens(spline);
    EXPECT_EQ(second.table->shape(), (PsfTable::Shape{12, 12, 12, 1}));
    EXPECT_EQ(second.table->scale().z_min_nm, -750);
    EXPECT_EQ(second.table->scale().z_max_nm, 750);
    expect_error<InputError>([&] { read_lens(third_party("storm_analysis_2d.spline")); },
                             {"storm_analysis_2d.spline", "2D", "only 3D"});
}

TEST(LensIo, pickles_execute_nothing) {
    TemporaryFolder folder;
    // Calls os.system("true") when Python loads it.
    const auto path = folder.write("evil.spline",
                                   "\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94.");
    expect_error<InputError>([&] { read_lens(path); }, {"evil.spline", "posix.system", "executed"});
    folder.write("deep", "\x80\x02" + std::string(2'000'000, ']') + ".");
    expect_error<InputError>([&] { read_lens(folder / "deep"); }, {"more than", "objects"});
    folder.write("cyclic", std::string("\x80\x02]q\0h\0a.", 9));  // a list that contains itself
    expect_error<InputError>([&] { read_lens(folder / "cyclic"); }, {"no dictionary"});
    folder.write("empty", "\x80\x02.");
    expect_error<InputError>([&] { read_lens(folder / "empty"); }, {"empty"});
}

TEST(LensIo, files_of_no_format_are_errors) {
    TemporaryFolder folder;
    folder.write("text", "some words\nmore\n");
    expect_error<InputError>([&] { read_lens(folder / "text"); }, {"text", "\"some words\"", "SMAP", "Picasso"});
    folder.write("empty.h5", "");
    expect_error<InputError>([&] { read_lens(folder / "empty.h5"); }, {"empty.h5", "is empty", "SMAP"});
    expect_error<InputError>([&] { read_lens(folder / "."); }, {"a folder", "SMAP"});
    folder.write("beads.tif", std::string("II*\0\x08\0\0\0", 8));
    expect_error<InputError>([&] { read_lens(folder / "beads.tif"); },
                             {"beads.tif", "TIFF", "glint calibrate psf", "SMAP"});
    folder.write("bytes", std::string("\x01\x02\xff", 3));
    expect_error<InputError>([&] { read_lens(folder / "bytes"); }, {"bytes 01 02 ff"});
    expect_error<InputError>([&] { read_lens(folder / "none.h5"); }, {"none.h5"});
    {
        AtomicFile file(folder / "other.h5");
        hdf5::Handle hdf5 = hdf5::create_file(file);
        hdf5.close();
        file.commit();
    }
    expect_error<InputError>([&] { read_lens(folder / "other.h5"); }, {"other.h5", "without a measured PSF"});
}
