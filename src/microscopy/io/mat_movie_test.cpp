// Movies in MATLAB files: classes and how they are stored, both byte orders, packed variables, files without a movie.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <zlib.h>

#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "tests/expect_error.hpp"
#include "tests/movie_bytes.hpp"
#include "tests/temporary_folder.hpp"

using namespace glint;
using namespace glint::test;

namespace {

enum Class : std::uint32_t { cell = 1, as_double = 6, as_single = 7, as_uint8 = 9, as_uint16 = 11, as_int32 = 12 };

std::string header(Order order = Order::little) {
    std::string text = "MATLAB 5.0 MAT-file";
    text.resize(124, ' ');
    return text + (order == Order::big ? std::string("\1\0MI", 4) : std::string("\0\1IM", 4));
}

std::string element(std::uint32_t type, std::string bytes, Order order) {
    const std::string tag = bytes_of_numbers<std::uint32_t>({type, std::uint32_t(bytes.size())}, order);
    bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
    return tag + bytes;
}

struct Array {
    std::string name = "movie";
    std::uint32_t class_and_flags = as_uint16;
    std::vector<std::int32_t> dimensions = {2, 4, 3};
    std::uint32_t stored = 4;
};

template <class T>
std::string matrix(const Array& array, const std::vector<T>& numbers, Order order = Order::little) {
    return element(14,
                   element(6, bytes_of_numbers<std::uint32_t>({array.class_and_flags, 0}, order), order) +
                       element(5, bytes_of_numbers(array.dimensions, order), order) + element(1, array.name, order) +
                       element(array.stored, bytes_of_numbers(numbers, order), order),
                   order);
}

std::string packed(const std::string& bytes) {
    uLongf size = compressBound(bytes.size());
    std::string out(size, '\0');
    compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
              6);
    out.resize(size);
    return bytes_of_numbers<std::uint32_t>({15, std::uint32_t(size)}) + out;
}

std::unique_ptr<Movie> opened(const TemporaryFolder& folder, const std::string& bytes) {
    return open_movie(folder.write("movie.mat", bytes));
}

/// Converts stored numbers, column by column, to rows.
template <class Read, class T>
std::vector<Read> rows_first(const std::vector<T>& numbers, int height, int width) {
    std::vector<Read> out(numbers.size());
    const std::size_t frame = std::size_t(height) * std::size_t(width);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        const std::size_t x = k % frame / std::size_t(height), y = k % std::size_t(height);
        out[k / frame * frame + y * std::size_t(width) + x] = Read(numbers[k]);
    }
    return out;
}

template <class T, class Read>
void reads_class(std::uint32_t array_class, std::uint32_t stored) {
    const TemporaryFolder folder;
    for (const Order order : {Order::little, Order::big}) {
        const auto numbers = counting<T>(24, T(7));
        const auto movie = opened(
            folder, header(order) + matrix(Array{.class_and_flags = array_class, .stored = stored}, numbers, order));
        EXPECT_EQ(movie->info().height, 2);
        EXPECT_EQ(movie->info().width, 4);
        EXPECT_EQ(movie->info().frames, 3);
        EXPECT_TRUE(movie->info().warnings.empty());
        EXPECT_EQ(pixels<Read>(*movie), (rows_first<Read>(numbers, 2, 4))) << array_class << " as " << stored;
    }
}

const auto counts = counting<std::uint16_t>(24, 513);

}  // namespace

TEST(MatMovie, reads_all_classes_as_they_are_stored) {
    reads_class<std::uint16_t, std::uint16_t>(as_uint16, 4);
    reads_class<std::uint8_t, std::uint8_t>(as_uint8, 2);
    reads_class<float, float>(as_single, 7);
    reads_class<double, float>(as_double, 9);
    reads_class<std::int32_t, float>(as_int32, 5);
}

TEST(MatMovie, the_class_says_the_type_where_fewer_bytes_are_stored) {
    reads_class<std::uint8_t, std::uint16_t>(as_uint16, 2);
    reads_class<std::uint16_t, float>(as_double, 4);
    reads_class<float, float>(as_uint16, 7);  // no program writes it, but it is safe
}

TEST(MatMovie, unpacks_what_is_packed) {
    const TemporaryFolder folder;
    const auto movie = opened(folder, header() + packed(matrix(Array{}, counts)));
    EXPECT_EQ(movie->info().type, PixelType::uint16);
    EXPECT_EQ(pixels<std::uint16_t>(*movie), (rows_first<std::uint16_t>(counts, 2, 4)));
}

TEST(MatMovie, packed_frames_are_read_in_any_order) {
    const TemporaryFolder folder;
    const int height = 100, width = 128, frames = 900;  // 23 MB, with several restart points
    std::vector<std::uint16_t> numbers(std::size_t(height) * width * frames);
    std::uint32_t random = 1;
    for (auto& number : numbers) number = std::uint16_t((random = random * 1664525 + 1013904223) >> 20);
    const auto movie = opened(folder, header() + packed(matrix(Array{.dimensions = {height, width, frames}}, numbers)));
    const auto expected = rows_first<std::uint16_t>(numbers, height, width);
    const auto frame = [&](std::int64_t k, int count) {
        const auto first = expected.begin() + k * height * width;
        return std::vector<std::uint16_t>(first, first + std::int64_t(count) * height * width);
    };
    for (const std::int64_t k : {0, 899, 450, 451, 449, 0, 163, 164, 165, 700, 327, 328})
        EXPECT_EQ(pixels<std::uint16_t>(*movie, k, 1), frame(k, 1)) << k;
    for (std::int64_t k = 0; k < frames; k += 100) EXPECT_EQ(pixels<std::uint16_t>(*movie, k, 100), frame(k, 100)) << k;
}

TEST(MatMovie, finds_the_movie_among_other_variables) {
    const TemporaryFolder folder;
    const std::string scalar = matrix(Array{"gain", as_double, {1, 1}, 9}, std::vector<double>{0.5});
    const std::string complex = matrix(Array{"psf", as_double | 0x800, {2, 4, 3}, 9}, std::vector<double>(24));
    const std::string movie = matrix(Array{}, counts);
    const std::string mask = matrix(Array{"mask", as_uint8 | 0x200, {2, 4, 3}, 2}, std::vector<std::uint8_t>(24));
    EXPECT_EQ(opened(folder, header() + scalar + packed(complex) + mask + packed(movie))->info().frames, 3);
    EXPECT_EQ(opened(folder, header() + packed(scalar) + movie + scalar)->info().frames, 3);
}

TEST(MatMovie, names_the_variables_where_none_or_several_can_be_the_movie) {
    const TemporaryFolder folder;
    const std::string scalar = matrix(Array{"gain", as_double, {1, 1}, 9}, std::vector<double>{0.5});
    expect_error<InputError>([&] { opened(folder, header() + scalar); },
                             {"movie.mat: has no movie", "(height, width, frames)", "gain (1 x 1)"});
    expect_error<InputError>([&] { opened(folder, header()); }, {"its variables: none"});
    const std::string two = packed(matrix(Array{"a"}, counts)) + matrix(Array{"b"}, counts);
    expect_error<InputError>([&] { opened(folder, header() + two); },
                             {"2 arrays", "a (2 x 4 x 3), b (2 x 4 x 3)", "save('movie.mat', 'a')"});
    std::string many;
    for (int k = 0; k < 25; ++k) many += scalar;
    expect_error<InputError>([&] { opened(folder, header() + many); }, {"and 5 more"});
}

TEST(MatMovie, takes_one_pixel_and_wide_frames) {
    const TemporaryFolder folder;
    const auto one = opened(folder, header() + matrix(Array{.dimensions = {1, 1, 24}}, counts));
    EXPECT_EQ(pixels<std::uint16_t>(*one), counts);
    const auto row = counting<std::uint16_t>(10000);
    const auto wide = opened(folder, header() + matrix(Array{.dimensions = {1, 5000, 2}}, row));
    EXPECT_EQ(wide->info().width, 5000);
    EXPECT_EQ(pixels<std::uint16_t>(*wide), row);
}

TEST(MatMovie, truncated_file_has_its_complete_frames) {
    const TemporaryFolder folder;
    const std::string plain = header() + matrix(Array{}, counts);
    const auto movie = opened(folder, plain.substr(0, plain.size() - 5));
    EXPECT_EQ(movie->info().frames, 2);
    ASSERT_EQ(movie->info().warnings.size(), 1u);
    EXPECT_NE(movie->info().warnings[0].find("movie.mat: frame 3 of 3 is truncated (expected 16 bytes, found 11)"),
              std::string::npos);
    std::vector<std::uint16_t> numbers(24000);
    std::uint32_t random = 1;
    for (auto& number : numbers) number = std::uint16_t((random = random * 1664525 + 1013904223) >> 20);
    const std::string whole = header() + packed(matrix(Array{.dimensions = {20, 40, 30}}, numbers));
    const auto part = opened(folder, whole.substr(0, whole.size() / 2));
    EXPECT_GT(part->info().frames, 10);
    EXPECT_LT(part->info().frames, 20);
    const auto expected = rows_first<std::uint16_t>(numbers, 20, 40);
    EXPECT_EQ(pixels<std::uint16_t>(*part),
              std::vector<std::uint16_t>(expected.begin(), expected.begin() + part->info().frames * 800));
    EXPECT_EQ(part->info().warnings.size(), 1u);
}

TEST(MatMovie, refuses_headers_that_make_no_sense) {
    const TemporaryFolder folder;
    const auto refused = [&](const std::vector<std::int32_t>& dimensions, std::initializer_list<const char*> parts) {
        for (const bool pack : {false, true}) {
            const std::string array = matrix(Array{.dimensions = dimensions}, counts);
            expect_error<InputError>([&] { opened(folder, header() + (pack ? packed(array) : array)); }, parts);
        }
    };
    refused({2, 4, 4}, {"movie.mat", "movie (2 x 4 x 4) has 48 bytes of numbers, and should have 64"});
    refused({0, 4, 3}, {"frames of 4x0 px"});
    refused({2, -4, 3}, {"frames of -1x2 px"});
    refused({2, 4, 0}, {"claims 0 frames"});
    refused({2147483647, 2147483647, 2147483647}, {"damaged"});
    refused({2, 12}, {"has no movie"});
    refused({2, 2, 2, 3}, {"has no movie", "movie (2 x 2 x 2 x 3)"});
    expect_error<InputError>([&] { opened(folder, header() + packed("nonsense")); }, {"has no movie"});
    expect_error<InputError>(
        [&] {
            opened(folder, header() + bytes_of_numbers<std::uint32_t>({15, 8}) + "nonsense");
        },
        {"has no movie"});
}
