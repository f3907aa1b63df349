// Indexes a TIFF: one pass over its directories, which stops where the file breaks off.
// SPDX-License-Identifier: MIT
#include "io/tiff/index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/tiff/metadata.hpp"
#include "io/tiff/page.hpp"
#include "io/tiff/stk.hpp"

namespace glint {
namespace {

/// The walk and what it has found.
struct Walk {
    const InputFile& file;
    TiffIndex index = {};
    TiffPage first = {};      ///< the first frame's page
    std::int64_t pages = 0;   ///< pages seen, thumbnails too
    std::int64_t frames = 0;  ///< pages seen that are frames, usable or not
    TiffPage broken = {};     ///< the first page that is not whole, with its number
    std::int64_t broken_page = 0;
    std::string unlike = {};                ///< why a page is no frame like the first; the walk ends before it
    std::string complaint = {};             ///< libtiff's, where the chain of directories broke
    std::uint64_t index_bytes = 0;          ///< of all directories and their lists of strips
    std::vector<std::byte> directory = {};  ///< of the current page, where its bytes are looked at
    std::int64_t whole_before = 0;          ///< frames that were whole at the look before
    TiffStand twice = {};                   ///< the last of them that still is
};

std::string page_name(const Walk& walk, std::int64_t page) {
    return fmt::format("{}: page {}", walk.file.name(), page);
}

/// Why a page cannot follow the first; empty: it can.
std::string why_unlike_first(const Walk& walk, const TiffPage& page) try {
    const PixelType type = check_page(page, page_name(walk, walk.pages));
    if (page.width == walk.first.width && page.height == walk.first.height && type == walk.index.info.type) return {};
    return fmt::format(
        "{} is {}x{} pixels of {} bits, the first {}x{} of {} bits: the frames of a movie are alike; split the file",
        page_name(walk, walk.pages), page.width, page.height, page.bits, walk.first.width, walk.first.height,
        walk.first.bits);
} catch (const InputError& error) {
    return error.what();
}

void take_frame(Walk& walk, const TiffPage& page) {
    if (walk.frames == 0) {
        walk.index.info.type = check_page(page, page_name(walk, walk.pages));
        walk.first = page;
    } else if (walk.unlike = why_unlike_first(walk, page); !walk.unlike.empty()) {
        return;
    }
    ++walk.frames;
    if (!walk.broken_page && page.truncated()) {
        walk.broken = page;
        walk.broken_page = walk.pages;
    }
    if (walk.broken_page) return;
    walk.index.places.push_back({page.data_offset, page.directory_offset});
    if (walk.frames <= walk.whole_before) walk.twice = {page, walk.pages, walk.frames, walk.index_bytes};
}

template <class T>
std::uint64_t number_at(TiffHandle& tiff, std::uint64_t offset, bool swapped) {
    T value = 0;
    const auto bytes = reinterpret_cast<std::byte*>(&value);
    tiff.read_at(offset, bytes, sizeof value);
    if (swapped) swap_bytes(bytes, sizeof value, sizeof value);
    return value;
}

std::uint64_t directory_bytes(TiffHandle& tiff, std::uint64_t file_bytes, std::uint64_t offset) {
    const bool swapped = bool(TIFFIsBigEndian(tiff.get())) == host_is_little_endian;
    if (TIFFIsBigTIFF(tiff.get())) return std::min(number_at<std::uint64_t>(tiff, offset, swapped), file_bytes) * 20;
    return number_at<std::uint16_t>(tiff, offset, swapped) * 12;
}

// Pages that share a long directory or list of strips could take time quadratic in the file's size.
void count_index(TiffHandle& tiff, const TiffPage& page, Walk& walk) {
    walk.index_bytes += page.index_bytes + directory_bytes(tiff, walk.file.size(), page.directory_offset);
    if (walk.index_bytes > walk.file.size())
        throw InputError(fmt::format("{} claims a longer list of strips than the file holds: the file is damaged",
                                     page_name(walk, walk.pages)));
}

/// The value of the predictor tag of the handle's current directory, 1 where it has none. libtiff drops the tag where the
/// compression is none that it uses a predictor with, so it is looked up here.
int predictor_of(TiffHandle& tiff, std::uint64_t file_bytes, std::uint64_t directory, std::vector<std::byte>& bytes) {
    const bool swapped = bool(TIFFIsBigEndian(tiff.get())) == host_is_little_endian, big = TIFFIsBigTIFF(tiff.get());
    const std::size_t entry_bytes = big ? 20 : 12, count_bytes = big ? 8 : 2, value_at = big ? 12 : 8;
    bytes.resize(directory_bytes(tiff, file_bytes, directory));
    bytes.resize(tiff.read_at(directory + count_bytes, bytes.data(), bytes.size()));
    const auto number = [&](std::size_t at) {
        std::uint16_t value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        return swapped ? std::uint16_t(value << 8 | value >> 8) : value;
    };
    for (std::size_t at = 0; at + entry_bytes <= bytes.size(); at += entry_bytes)
        if (number(at) == TIFFTAG_PREDICTOR && number(at + 2) == TIFF_SHORT) return number(at + value_at);
    return PREDICTOR_NONE;
}

/// libtiff would decode such a page and leave the differences as they are; other programs add them up.
void refuse_unused_predictor(TiffHandle& tiff, const TiffPage& page, Walk& walk) {
    for (const int with_predictor : {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE, COMPRESSION_ZSTD,
                                     COMPRESSION_LZMA, COMPRESSION_PIXARLOG})
        if (page.compression == with_predictor) return;
    const int predictor = predictor_of(tiff, walk.file.size(), page.directory_offset, walk.directory);
    if (predictor == PREDICTOR_NONE) return;
    throw InputError(
        fmt::format("{} has a predictor ({}), and its compression is {}, which has none: programs differ in what its "
                    "pixels are. Save it without compression, or with Deflate or LZW",
                    page_name(walk, walk.pages), predictor, compression_name(page.compression)));
}

void take_page(TiffHandle& tiff, Walk& walk) {
    const TiffPage page = read_page_facts(tiff, walk.file.size());
    ++walk.pages;
    count_index(tiff, page, walk);
    (void)tiff.take_complaint();  // of a tag we do not need; a broken chain complains at its end
    if (!page.reduced) refuse_unused_predictor(tiff, page, walk);
    if (!page.reduced) take_frame(walk, page);
}

void end_of_chain(TiffHandle& tiff, Walk& walk) {
    if (!walk.unlike.empty()) return;
    walk.complaint = tiff.take_complaint();
    if (walk.complaint.empty() && !TIFFLastDirectory(tiff.get())) walk.complaint = "its directories run in a circle";
}

void walk_from_first(TiffHandle& tiff, Walk& walk) {
    do take_page(tiff, walk);
    while (walk.unlike.empty() && TIFFReadDirectory(tiff.get()));
    end_of_chain(tiff, walk);
}

/// A walk that stands where two earlier looks agreed.
Walk walk_behind(const InputFile& file, const TiffProgress& earlier) {
    const TiffStand& known = earlier.twice;
    Walk walk{.file = file};
    walk.first = earlier.first;
    walk.index.info.type = check_page(walk.first, page_name(walk, 1));
    walk.pages = known.pages, walk.frames = known.frames, walk.index_bytes = known.index_bytes;
    walk.index.places.assign(earlier.places.begin(), earlier.places.begin() + known.frames);
    walk.twice = known;
    return walk;
}

/// False where not all pages would be found this way.
bool walk_new_pages(const TiffPage& first, const TiffStand& known, Walk& walk) try {
    if (first != walk.first) return false;
    TiffHandle tiff(walk.file, known.page.directory_offset);
    if (read_page_facts(tiff, walk.file.size()) != known.page) return false;
    (void)tiff.take_complaint();
    for (std::uint64_t before = known.page.directory_offset; walk.unlike.empty() && TIFFReadDirectory(tiff.get());) {
        if (TIFFCurrentDirOffset(tiff.get()) <= before) return false;  // it may be a known one
        before = TIFFCurrentDirOffset(tiff.get());
        take_page(tiff, walk);
    }
    end_of_chain(tiff, walk);
    return true;
} catch (const BrokenTiff&) {
    return false;
}

/// `tiff` stands at the first page.
Walk walk_pages(TiffHandle& tiff, const InputFile& file, const TiffProgress& earlier) {
    const std::int64_t whole_before = earlier.file == file.id() ? std::int64_t(earlier.places.size()) : 0;
    if (!earlier.from_first && whole_before > 0 && earlier.twice.frames > 0) {
        Walk walk = walk_behind(file, earlier);
        walk.whole_before = whole_before;
        if (walk_new_pages(read_page_facts(tiff, file.size()), earlier.twice, walk)) return walk;
    }
    Walk walk{.file = file};
    walk.whole_before = whole_before;
    walk_from_first(tiff, walk);
    return walk;
}

bool is_same_place(const TiffIndex::Place& a, const TiffIndex::Place& b) {
    return a.data_offset == b.data_offset && (a.data_offset != 0 || a.directory_offset == b.directory_offset);
}

void remember(const Walk& walk, TiffProgress& earlier) {
    const auto& now = walk.index.places;
    const auto known = earlier.places.begin() + earlier.twice.frames;
    const bool is_as_it_was = earlier.twice.frames == 0 ||
                              (earlier.file == walk.file.id() && earlier.twice.frames <= std::int64_t(now.size()) &&
                               std::equal(earlier.places.begin(), known, now.begin(), is_same_place));
    earlier = {.file = walk.file.id(),
               .first = walk.first,
               .places = now,
               .twice = is_as_it_was ? walk.twice : TiffStand(),
               .unlike = walk.unlike,
               .changed = earlier.changed || !is_as_it_was};
}

// ImageJ writes one directory before all frames and, below 4 GiB, the others after them: a larger file or one
// that breaks off has only the first, and MetaMorph's stacks never have another. `images=N` or the tag UIC2, and the first
// frame's offset, then say where the others are.
bool is_stack_beyond_directories(const Walk& walk, std::int64_t images) {
    if (images <= walk.frames || walk.first.data_offset == 0 || !walk.unlike.empty()) return false;
    const auto& places = walk.index.places;
    for (std::size_t k = 0; k < places.size(); ++k)
        if (places[k].data_offset != walk.first.data_offset + k * walk.first.frame_bytes()) return false;
    return true;
}

/// Else its planes beyond the first would be lost.
void refuse_stk_in_pieces(const Walk& walk, const TiffMetadata& metadata) {
    if (metadata.is_stk && walk.frames == 1 && metadata.images > 1)
        throw InputError(fmt::format(
            "{}: is a MetaMorph stack of {} planes that are compressed or in pieces, which are not read: save "
            "it uncompressed, or as a TIFF with a page for each plane",
            walk.file.name(), metadata.images));
}

std::string usable(std::int64_t frames) {
    return frames == 1 ? "the first frame is usable" : fmt::format("the first {} frames are usable", frames);
}

std::string truncation(const std::string& name, std::int64_t page, std::int64_t pages, std::uint64_t expected,
                       std::uint64_t found) {
    return fmt::format("{}: page {}{} is truncated (expected {} bytes, found {})", name, page,
                       pages > 0 ? fmt::format(" of {}", pages) : "", expected, found);
}

void accept_or_refuse(TiffIndex& index, const std::string& problem) {
    MovieInfo& info = index.info;
    if (info.frames == 0) throw BrokenTiff(problem + "; no frame is usable");
    index.truncated = true;
    info.warnings.push_back(problem + "; " + usable(info.frames));
}

void finish_stack(Walk& walk, std::int64_t images) {
    const std::uint64_t frame_bytes = walk.first.frame_bytes();
    const std::uint64_t stored = walk.file.size() - std::min(walk.file.size(), walk.first.data_offset);
    MovieInfo& info = walk.index.info;
    info.frames = std::int64_t(std::min(stored / frame_bytes, std::uint64_t(images)));
    walk.index.places.assign(1, {walk.first.data_offset, 0});
    if (info.frames < images)
        accept_or_refuse(walk.index, truncation(info.name, info.frames + 1, images, frame_bytes,
                                                stored - std::uint64_t(info.frames) * frame_bytes));
}

void finish_pages(Walk& walk) {
    MovieInfo& info = walk.index.info;
    info.frames = std::int64_t(walk.index.places.size());
    const bool complete_chain = walk.complaint.empty();
    if (walk.broken_page)
        accept_or_refuse(walk.index, truncation(info.name, walk.broken_page, complete_chain ? walk.pages : 0,
                                                walk.broken.stored_bytes, walk.broken.found_bytes));
    else if (!complete_chain)
        accept_or_refuse(walk.index, fmt::format("{}: the file breaks off or is damaged after page {} ({})", info.name,
                                                 walk.pages, walk.complaint));
    else if (info.frames == 0)
        throw InputError(
            fmt::format("{}: has no frames ({} pages, all of them thumbnails or masks)", walk.file.name(), walk.pages));
}

}  // namespace

TiffIndex::Place TiffIndex::place(std::int64_t frame) const {
    if (places.size() > 1 || frame == 0) return places[std::size_t(frame)];
    const std::uint64_t frame_bytes = std::uint64_t(info.width) * info.height * bytes_of(info.type);
    return {places[0].data_offset + std::uint64_t(frame) * frame_bytes, 0};
}

TiffIndex index_tiff(const InputFile& file, TiffProgress* earlier) {
    file.expect_scattered_reads();  // from directory to directory: pixels between them are not needed yet
    TiffHandle tiff(file);
    TiffMetadata metadata = read_tiff_metadata(tiff, file.name());
    take_stk(tiff, file, metadata);
    take_micromanager(tiff, file, metadata);
    const TiffProgress nothing;
    Walk walk = walk_pages(tiff, file, earlier ? *earlier : nothing);
    if (!earlier && !walk.unlike.empty()) throw InputError(walk.unlike);
    if (earlier) remember(walk, *earlier);
    walk.index.truncated = !walk.unlike.empty();
    MovieInfo& info = walk.index.info;
    info.name = std::filesystem::path(file.name()).filename().string();
    info.width = int(walk.first.width);
    info.height = int(walk.first.height);
    info.pixel_size_nm = metadata.pixel_size_nm;
    info.exposure_ms = metadata.exposure_ms;
    info.camera = metadata.camera;
    walk.index.ome = std::move(metadata.ome);
    walk.index.axes = std::move(metadata.axes);
    for (const auto& warning : metadata.warnings) info.warnings.push_back(info.name + ": " + warning);
    if (is_stack_beyond_directories(walk, metadata.images))
        finish_stack(walk, metadata.images);
    else
        refuse_stk_in_pieces(walk, metadata), finish_pages(walk);
    if (info.frames < metadata.images && !walk.index.truncated)
        info.warnings.push_back(fmt::format("{}: {} says {} images, {} are there", info.name,
                                            metadata.is_stk ? "MetaMorph's tag UIC2" : "the ImageJ description",
                                            metadata.images, info.frames));
    walk.index.swapped = TIFFIsBigEndian(tiff.get()) == host_is_little_endian;
    return std::move(walk.index);
}

}  // namespace glint
