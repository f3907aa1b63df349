// Tables of MINFLUX localizations: both layouts, written byte by byte according to NumPy's format, and damaged files.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstring>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "tests/localization_table.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

template <class T>
void put(std::string& bytes, T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes.append(raw, sizeof(T));
}

std::string npy(const std::string& descr, std::size_t rows, const std::string& records) {
    const std::string header = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': ({},), }}\n", descr, rows);
    std::string bytes = "\x93NUMPY\x01";
    bytes += '\0';
    put(bytes, std::uint16_t(header.size()));
    return bytes + header + records;
}

struct Spot {
    double x_m, y_m, z_m, tim_s;
    int tid;
    bool is_valid = true, is_final = true;
};

const std::string flat_descr =
    "[('vld', '|b1'), ('fnl', '|b1'), ('tim', '<f8'), ('tid', '<u4'), ('itr', '<i4'), ('loc', '<f8', (3,)), "
    "('eco', '<u4'), ('dcr', '<f2', (2,))]";

/// Writes two iterations per record. The first iteration is at another position.
std::string nested(const std::vector<Spot>& spots) {
    std::string bytes;
    for (const Spot& one : spots) {
        for (const int iteration : {0, 1}) {
            put(bytes, std::int32_t(iteration));
            for (const double at : {one.x_m, one.y_m, one.z_m}) put(bytes, iteration == 0 ? at + 1 : at);
            put(bytes, std::int32_t(100 + iteration)), put(bytes, 0.5);
        }
        put(bytes, std::uint32_t(0)), put(bytes, one.tim_s), put(bytes, std::int32_t(one.tid)),
            put(bytes, one.is_valid);
    }
    return npy(
        "[('itr', [('itr', '<i4'), ('loc', '<f8', (3,)), ('eco', '<i4'), ('cfr', '<f8')], (2,)), ('sqi', '<u4'), "
        "('tim', '<f8'), ('tid', '<i4'), ('vld', '|b1')]",
        spots.size(), bytes);
}

std::string flat(const std::vector<Spot>& spots) {
    std::string bytes;
    for (const Spot& one : spots) {
        put(bytes, one.is_valid), put(bytes, one.is_final), put(bytes, one.tim_s), put(bytes, std::uint32_t(one.tid));
        put(bytes, std::int32_t(one.is_final ? 4 : 0));
        for (const double at : {one.x_m, one.y_m, one.z_m}) put(bytes, at);
        put(bytes, std::uint32_t(250));
        put(bytes, std::uint16_t(0x3800)), put(bytes, std::uint16_t(0x3400));  // 0.5 and 0.25
    }
    return npy(flat_descr, spots.size(), bytes);
}

const std::vector<Spot> spots = {{-1.2e-6, 2e-7, 0, 0.5, 7},    {-1.1e-6, 3e-7, 0, 0.6, 7, true, false},
                                 {-1.1e-6, 3e-7, 0, 0.7, 7},    {5e-8, 1e-6, 0, 0.8, 9, false},
                                 {6e-8, 1.1e-6, 2e-7, 0.9, 12}, {7e-8, 1.1e-6, -1e-7, 1.0, 12}};

}  // namespace

TEST(Minflux, the_last_iteration_of_valid_localizations_is_read_in_nm) {
    TemporaryFolder folder;
    Warnings told;
    std::vector<Spot> whole = spots;
    whole.erase(whole.begin() + 1);
    const Localizations out = read_localizations(folder.write("a.npy", nested(whole)), told.sink());
    EXPECT_EQ(out.pixel_size_nm, 100);
    // Moved by 2,000 nm along x, because the minimum is -1,200. The traces 7 and 12 are separated by one frame number.
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0, 1, 3, 4}));
    expect_near(out.x_px, {8, 9, 20.6f, 20.7f}, "x");
    expect_near(out.y_px, {2, 3, 11, 11}, "y");
    expect_near(out.z_nm, {0, 0, 200, -100}, "z");
    EXPECT_EQ(out.extra.at("tid").values, (std::vector<double>{7, 7, 12, 12}));
    EXPECT_EQ(out.extra.at("tim").values, (std::vector<double>{0.5, 0.7, 0.9, 1.0}));
    EXPECT_EQ(out.extra.at("eco").values, (std::vector<double>{101, 101, 101, 101})) << "of the last iteration";
    EXPECT_EQ(out.extra.at("cfr").values[0], 0.5);
    EXPECT_TRUE(out.photons.empty());
    EXPECT_TRUE(told.contain("each localization is a frame of its own"));
    EXPECT_TRUE(told.contain("4 localizations in 2 traces"));
    EXPECT_TRUE(told.contain("moved by 2000 and 0 nm"));
    EXPECT_TRUE(told.contain("1 of 5 records are not valid"));
}

TEST(Minflux, the_flat_layout_gives_the_same) {
    TemporaryFolder folder;
    const Localizations out = read_localizations(folder.write("a.npy", flat(spots)), {}, 50);
    EXPECT_EQ(out.pixel_size_nm, 50);
    EXPECT_EQ(out.frame, (std::vector<std::uint32_t>{0, 1, 3, 4}));
    expect_near(out.x_px, {16, 18, 41.2f, 41.4f}, "x");
    EXPECT_EQ(out.extra.at("dcr").values, (std::vector<double>{0.5, 0.5, 0.5, 0.5})) << "the first of two";
    EXPECT_EQ(out.extra.at("eco").values[0], 250);
}

TEST(Minflux, a_plane_has_no_z) {
    TemporaryFolder folder;
    EXPECT_TRUE(read_localizations(folder.write("a.npy", flat({{0, 0, 0, 0, 1}, {1e-9, 0, 0, 1, 1}}))).z_nm.empty());
}

TEST(Minflux, refuses_objects_and_what_is_no_table) {
    TemporaryFolder folder;
    const auto message = [&](const std::string& bytes) {
        const auto path = folder.write("a.npy", bytes);
        return message_of<InputError>([&] { read_localizations(path); });
    };
    EXPECT_HAS(message(npy("'|O'", 3, std::string(24, 'x'))), "Python objects");
    EXPECT_HAS(message(npy("[('tid', '|O'), ('loc', '<f8', (3,))]", 3, std::string(96, 'x'))), "Python objects");
    EXPECT_HAS(message(npy("'<f8'", 3, std::string(24, '\0'))), "does not list named fields");
    EXPECT_HAS(message(npy("[('x', '<f8'), ('y', '<f8')]", 3, std::string(48, '\0'))),
               "no field loc of numbers (it has x, y)");
    EXPECT_HAS(message(npy("[('vld', '|b1'), ('fnl', '|b1'), ('tim', '<f8'), ('tid', '<u4'), ('loc', '<U8', (3,))]", 1,
                           std::string(200, '\0'))),
               "no field loc of numbers");
    EXPECT_HAS(message(npy("[('a', '<f8', (99999999, 99999999))]", 1, "")), "too large a shape");
    EXPECT_HAS(message(npy("[('a', '<f8', (999999999999, 999999999999))]", 1, "")), "too large");
    EXPECT_HAS(message(npy("[]", 1, "")), "does not say what the records are");
    EXPECT_HAS(message(npy("[('vld', '|b1'), ('tid', '<i4', (0,))]", 1, "x")), "a field without numbers");
    EXPECT_HAS(message(npy("[('itr', [('loc', '<f8', (3,))], (0,)), ('tid', '<i4')]", 1, "xxxx")),
               "a field without numbers");
    EXPECT_HAS(message(npy("[('loc', '<f8', (3,)), ('tid', '<i4')], 'descr': [('tid', '<i4')]", 1, "xxxx")),
               "its fields twice");
    EXPECT_HAS(message(npy("[('a', [('b', [('c', '<f8')])])]", 1, "")), "records within records");
    EXPECT_HAS(message(npy(flat_descr, std::size_t(1) << 39, std::string(100, '\0'))), "is cut off");
}

TEST(Minflux, files_that_break_off_are_refused) {
    TemporaryFolder folder;
    for (const std::string& whole : {flat(spots), nested(spots)})
        for (std::size_t n = 6; n < whole.size(); n += 7) {
            const auto path = folder.write("a.npy", whole.substr(0, n));
            EXPECT_HAS(message_of<InputError>([&] { read_localizations(path); }), "a.npy");
        }
}

// A changed byte in the header causes neither a crash nor an endless loop.
TEST(Minflux, damaged_headers_give_a_table_or_an_error) {
    TemporaryFolder folder;
    const std::string whole = nested(spots);
    for (std::size_t k = 6; k < whole.find('\n'); ++k)
        for (const char other : {'\0', '9', '(', '[', '\'', '\xff'}) {
            std::string damaged = whole;
            damaged[k] = other;
            const auto path = folder.write("a.npy", damaged);
            try {
                EXPECT_LE(read_localizations(path).size(), 100u);
            } catch (const Error&) {
            }
        }
}
