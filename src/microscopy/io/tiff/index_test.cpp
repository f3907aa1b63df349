// Scans of a growing TIFF read only new data, find the same frames as a full walk, and notice a replaced file.
// SPDX-License-Identifier: MIT
#include "io/tiff/index.hpp"

#include <gtest/gtest.h>
#include <tiff.h>

#include <fstream>
#include <random>

#include "io/byte_order.hpp"
#include "tests/reads_so_far.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/tiff_pages.hpp"

using namespace glint;
using test::reads_so_far;

namespace {

struct Layout {
    bool big, big_endian;
    int bits = 16;
};

/// A TIFF that a test writes piece by piece.
class GrowingTiff {
  public:
    static constexpr std::uint32_t width = 8, height = 6;

    GrowingTiff(const std::filesystem::path& path, Layout layout) : path_(path), layout_(layout) {
        std::string header = layout.big_endian ? "MM" : "II";
        header += number(layout.big ? 43 : 42, 2) + (layout.big ? number(8, 2) + number(0, 2) : "");
        next_at_ = header.size();
        put(0, header + number(0, offset_bytes()));
    }
    /// Appends a page and makes the previous directory refer to it. Returns the page's position.
    std::uint64_t append() { return append_at(end_); }
    std::uint64_t append_at(std::uint64_t place, std::uint64_t pixels_at = 0) {
        put(place, page(place, pixels_at));
        name_next(place);
        next_at_ = place + next_in_page();
        return place;
    }
    void append(int pages) {
        for (int k = 0; k < pages; ++k) append();
    }
    /// Makes the last directory refer to the next one.
    void name_next(std::uint64_t place) { put(next_at_, number(place, offset_bytes())); }
    /// A page's bytes: its directory, then its pixels.
    std::string page(std::uint64_t place, std::uint64_t pixels_at = 0) const {
        const std::uint64_t behind = place + next_in_page() + offset_bytes();
        std::string bytes = number(entries, layout_.big ? 8 : 2);
        const auto entry = [&](std::uint16_t tag, std::uint64_t value) {
            const std::size_t size = tag == TIFFTAG_STRIPOFFSETS ? offset_bytes() : 2;
            const std::uint16_t type = size == 2     ? std::uint16_t(TIFF_SHORT)
                                       : layout_.big ? std::uint16_t(TIFF_LONG8)
                                                     : std::uint16_t(TIFF_LONG);
            std::string field = number(value, size);
            field.resize(offset_bytes(), '\0');
            bytes += number(tag, 2) + number(type, 2) + number(1, offset_bytes()) + field;
        };
        entry(TIFFTAG_IMAGEWIDTH, width), entry(TIFFTAG_IMAGELENGTH, height),
            entry(TIFFTAG_BITSPERSAMPLE, std::uint64_t(layout_.bits));
        entry(TIFFTAG_COMPRESSION, COMPRESSION_NONE), entry(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        entry(TIFFTAG_STRIPOFFSETS, pixels_at ? pixels_at : behind), entry(TIFFTAG_SAMPLESPERPIXEL, 1);
        entry(TIFFTAG_ROWSPERSTRIP, height), entry(TIFFTAG_STRIPBYTECOUNTS, frame_bytes());
        return bytes + number(0, offset_bytes()) + std::string(frame_bytes(), 'p');
    }
    void put(std::uint64_t at, const std::string& bytes) {
        std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
        if (!file) file.open(path_, std::ios::binary | std::ios::out);
        file.seekp(std::streamoff(at)).write(bytes.data(), std::streamsize(bytes.size()));
        end_ = std::max(end_, at + bytes.size());
    }
    std::uint64_t end() const { return end_; }
    std::size_t frame_bytes() const { return std::size_t(width) * height * std::size_t(layout_.bits / 8); }

  private:
    static constexpr std::uint64_t entries = 9;
    std::size_t offset_bytes() const { return layout_.big ? 8 : 4; }
    std::uint64_t next_in_page() const { return layout_.big ? 8 + entries * 20 : 2 + entries * 12; }
    std::string number(std::uint64_t value, std::size_t bytes) const {
        std::string text(bytes, '\0');
        for (std::size_t k = 0; k < bytes; ++k) text[layout_.big_endian ? bytes - 1 - k : k] = char(value >> (8 * k));
        return text;
    }

    std::filesystem::path path_;
    Layout layout_;
    std::uint64_t end_ = 0, next_at_ = 0;
};

class GrowingIndex : public ::testing::TestWithParam<Layout> {
  protected:
    std::filesystem::path path() const { return folder_ / "m.tif"; }
    TiffIndex look() {
        const InputFile file(path());
        return index_tiff(file, &progress_);
    }
    /// Expects that a scan finds the same frames as a walk over the whole file.
    void expect_frames(std::size_t frames) {
        const InputFile file(path());
        const TiffIndex now = look(), all = index_tiff(file);
        EXPECT_EQ(now.places.size(), frames);
        ASSERT_EQ(now.places.size(), all.places.size());
        for (std::size_t k = 0; k < now.places.size(); ++k) {
            EXPECT_EQ(now.places[k].data_offset, all.places[k].data_offset) << k;
            EXPECT_EQ(now.places[k].directory_offset, all.places[k].directory_offset) << k;
        }
        EXPECT_EQ(now.info.frames, all.info.frames);
        EXPECT_EQ(now.info.type, all.info.type);
        EXPECT_EQ(now.info.width, all.info.width);
        EXPECT_EQ(now.info.height, all.info.height);
        EXPECT_EQ(now.info.warnings, all.info.warnings);
        EXPECT_EQ(now.truncated, all.truncated);
        EXPECT_EQ(now.swapped, all.swapped);
    }
    test::TemporaryFolder folder_;
    TiffProgress progress_;
};

INSTANTIATE_TEST_SUITE_P(Layouts, GrowingIndex,
                         ::testing::Values(Layout{false, false}, Layout{false, true}, Layout{true, false},
                                           Layout{true, true}, Layout{false, false, 8}),
                         [](const auto& layout) {
                             return std::string(layout.param.big ? "Big" : "Classic") +
                                    (layout.param.big_endian ? "BigEndian" : "LittleEndian") +
                                    std::to_string(layout.param.bits) + "Bits";
                         });

}  // namespace

TEST_P(GrowingIndex, a_look_reads_the_new_pages_alone) {
    if (reads_so_far() < 0) GTEST_SKIP() << "the system does not count reads";
    constexpr int known = 2000, pages_a_read = 30, added = 5, max_per_page = 6;
    GrowingTiff tiff(path(), GetParam());
    tiff.append(known);
    const auto reads = [&] {
        const std::int64_t before = reads_so_far();
        look();
        return reads_so_far() - before;
    };
    EXPECT_GT(reads(), known / pages_a_read);  // in the first two scans: a page is known after it was found twice
    EXPECT_GT(reads(), known / pages_a_read);
    constexpr int opening = 30;  // the header, the first page and the last known page
    EXPECT_LT(reads(), opening);
    for (int k = 0; k < 3; ++k) {
        tiff.append(added);
        EXPECT_LT(reads(), opening + max_per_page * 2 * added);
    }
    expect_frames(known + 3 * added);
    progress_.from_first = true;
    EXPECT_GT(reads(), known / pages_a_read);
    EXPECT_FALSE(progress_.changed);
}

TEST_P(GrowingIndex, it_grows_page_by_page) {
    GrowingTiff tiff(path(), GetParam());
    for (std::size_t k = 1; k < 12; ++k) {
        tiff.append();
        expect_frames(k);
    }
    EXPECT_FALSE(progress_.changed);
}

TEST_P(GrowingIndex, a_page_counts_when_it_is_whole) {
    GrowingTiff tiff(path(), GetParam());
    tiff.append(3);
    for (int k = 0; k < 3; ++k) expect_frames(3);
    // Like Micro-Manager: the last directory refers to a position without data, then to a part of a page, then to the
    // complete page.
    const std::uint64_t place = tiff.end();
    const std::string page = tiff.page(place);
    tiff.name_next(place);
    expect_frames(3);
    for (const std::size_t written : {std::size_t(20), page.size() - 50}) {
        tiff.put(place, page.substr(0, written));
        expect_frames(3);
        expect_frames(3);
    }
    tiff.put(place, page);
    for (int k = 0; k < 3; ++k) expect_frames(4);
    EXPECT_FALSE(progress_.changed);
}

TEST_P(GrowingIndex, a_file_that_was_given_its_size_before_grows_and_is_cut) {
    GrowingTiff tiff(path(), GetParam());
    tiff.append(3);
    const std::uint64_t end = tiff.end();
    std::filesystem::resize_file(path(), 1'000'000);
    for (int k = 0; k < 3; ++k) expect_frames(3);
    tiff.name_next(end);  // zeros
    expect_frames(3);
    tiff.append_at(end);
    for (int k = 0; k < 3; ++k) expect_frames(4);
    std::filesystem::resize_file(path(), tiff.end());
    expect_frames(4);
    EXPECT_FALSE(progress_.changed);
}

TEST_P(GrowingIndex, where_a_page_says_its_pixels_are_may_change_until_the_second_look) {
    GrowingTiff tiff(path(), GetParam());
    tiff.append(3);
    for (int k = 0; k < 3; ++k) expect_frames(3);
    const std::uint64_t place = tiff.end();
    tiff.append_at(place, 8);
    expect_frames(4);
    tiff.put(place, tiff.page(place));
    for (int k = 0; k < 3; ++k) expect_frames(4);
    EXPECT_FALSE(progress_.changed);
}

TEST_P(GrowingIndex, directories_in_another_order_are_all_walked) {
    GrowingTiff tiff(path(), GetParam());
    tiff.append();
    const std::uint64_t gap = tiff.end();
    tiff.put(gap + 5000, "far away");
    tiff.append(3);
    for (int k = 0; k < 3; ++k) expect_frames(4);
    tiff.append_at(gap);  // page before the known pages
    for (int k = 0; k < 3; ++k) expect_frames(5);
    tiff.append(2);
    for (int k = 0; k < 3; ++k) expect_frames(7);
    EXPECT_FALSE(progress_.changed);
}

TEST_P(GrowingIndex, directories_that_run_in_a_circle_are_reported) {
    GrowingTiff tiff(path(), GetParam());
    tiff.append();
    const std::uint64_t second = tiff.append();
    tiff.append(3);
    for (int k = 0; k < 3; ++k) expect_frames(5);
    tiff.name_next(second);
    for (int k = 0; k < 4; ++k) {
        expect_frames(5);
        EXPECT_NE(look().info.warnings.at(0).find("run in a circle"), std::string::npos);
    }
}

TEST_P(GrowingIndex, another_file_of_that_name_is_noticed) {
    GrowingTiff(path(), GetParam()).append(5);
    for (int k = 0; k < 3; ++k) expect_frames(5);
    GrowingTiff(folder_ / "other.tif", GetParam()).append(7);
    std::filesystem::rename(folder_ / "other.tif", path());
    expect_frames(7);
    EXPECT_TRUE(progress_.changed);
    for (int k = 0; k < 3; ++k) expect_frames(7);
}

TEST_P(GrowingIndex, a_file_that_begins_anew_is_noticed) {
    GrowingTiff(path(), GetParam()).append(5);
    for (int k = 0; k < 3; ++k) expect_frames(5);
    std::filesystem::resize_file(path(), 0);
    GrowingTiff anew(path(), GetParam());
    anew.append(2);
    expect_frames(2);
    EXPECT_TRUE(progress_.changed);
    anew.append(6);
    for (int k = 0; k < 3; ++k) expect_frames(8);
}

TEST_P(GrowingIndex, a_change_of_the_first_page_is_noticed) {
    GrowingTiff tiff(path(), GetParam());
    const std::uint64_t first = tiff.append();
    tiff.append(4);
    const std::string page = tiff.page(first, first + 1);
    for (int k = 0; k < 3; ++k) expect_frames(5);
    tiff.put(first, page.substr(0, page.size() - tiff.frame_bytes() - (GetParam().big ? 8 : 4)));
    expect_frames(5);
    EXPECT_TRUE(progress_.changed);
}

TEST_P(GrowingIndex, a_change_of_another_page_is_noticed_when_all_are_read) {
    GrowingTiff tiff(path(), GetParam());
    tiff.append(2);
    const std::uint64_t third = tiff.append();
    tiff.append(4);
    for (int k = 0; k < 3; ++k) expect_frames(7);
    tiff.put(third, std::string(8, '\0'));  // no entries
    EXPECT_EQ(look().places.size(), 7u);
    EXPECT_FALSE(progress_.changed);
    progress_.from_first = true;
    expect_frames(2);
    EXPECT_TRUE(progress_.changed);
}

TEST(NearReads, are_what_the_file_has_at_any_offset_up_to_its_end) {
    test::TemporaryFolder folder;
    std::string bytes(20000, '\0');
    for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = char(k * k / 7);
    const InputFile file(folder.write("f", bytes));
    NearReads reads(file);
    std::mt19937 random(1);
    std::uint64_t at = 0;
    for (int k = 0; k < 20000; ++k) {
        // Most reads begin where the last read ended, as in a directory.
        at = random() % 8 == 0 ? random() % 21000 : at;
        const std::size_t n = random() % 16 == 0 ? random() % 9000 : random() % 200;
        std::vector<std::byte> got(n), expected(n);
        const std::size_t count = reads.read_at(at, got.data(), n);
        ASSERT_EQ(count, file.read_at(at, expected.data(), n)) << at << ' ' << n;
        ASSERT_EQ(got, expected);
        at += count;
    }
}

TEST(TiffIndex, finds_pages_that_are_alike_where_libtiff_finds_them) {
    const test::TemporaryFolder folder;
    for (const char* mode : {"w", "wb", "w8", "w8b"}) {
        std::vector<test::TiffPageOptions> pages(60);
        for (std::size_t p = 1; p < pages.size(); ++p) {
            if (p % 7 == 3) pages[p].subfile_type = FILETYPE_REDUCEDIMAGE;
            if (p % 11 == 5) pages[p].compression = COMPRESSION_ADOBE_DEFLATE;
            if (p > 20) pages[p].description = std::string(p % 5 + 1, 'n');
        }
        const auto path = test::write_tiff(folder / "m.tif", pages, mode);
        const InputFile file(path);
        const TiffIndex index = index_tiff(file);
        std::size_t frames = 0;
        TiffHandle tiff(file);
        do {
            if (tiff.tag<std::uint32_t>(TIFFTAG_SUBFILETYPE, 0) == FILETYPE_REDUCEDIMAGE) continue;
            ASSERT_LT(frames, index.places.size()) << mode;
            const bool plain = tiff.tag<std::uint16_t>(TIFFTAG_COMPRESSION, 0) == COMPRESSION_NONE;
            EXPECT_EQ(index.places[frames].data_offset, plain ? TIFFGetStrileOffset(tiff.get(), 0) : 0) << frames;
            EXPECT_EQ(index.places[frames].directory_offset, TIFFCurrentDirOffset(tiff.get())) << frames;
            ++frames;
        } while (TIFFReadDirectory(tiff.get()));
        EXPECT_EQ(index.places.size(), frames) << mode;
        EXPECT_TRUE(index.info.warnings.empty()) << mode;
    }
}

TEST_P(GrowingIndex, frames_before_a_directory_that_cannot_be_read_are_usable) {
    GrowingTiff tiff(path(), GetParam());
    tiff.append(3);
    tiff.name_next(~std::uint64_t(0) - 7);  // a negative position in a file
    const TiffIndex index = look();
    EXPECT_EQ(index.places.size(), 3u);
    EXPECT_NE(index.info.warnings.at(0).find("the file breaks off or is damaged after page 3"), std::string::npos);
}

TEST(TiffIndex, a_page_takes_one_read_where_libtiff_makes_eight) {
    if (reads_so_far() < 0) GTEST_SKIP() << "the system does not count reads";
    test::TemporaryFolder folder;
    GrowingTiff tiff(folder / "m.tif", {});
    constexpr int pages = 500;
    for (int k = 0; k < pages; ++k) tiff.append();
    const InputFile file(folder / "m.tif");
    const auto before = reads_so_far();
    EXPECT_EQ(index_tiff(file).places.size(), std::size_t(pages));
    EXPECT_LT(reads_so_far() - before, 2 * pages);
}
