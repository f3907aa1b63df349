// Indexes a TIFF: one pass over its directories, which stops where the file is truncated.
// SPDX-License-Identifier: MIT
#include "io/tiff/index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/tiff/alike_pages.hpp"
#include "io/tiff/dialects.hpp"
#include "io/tiff/metadata.hpp"
#include "io/tiff/page.hpp"
#include "io/tiff/raw_directory.hpp"

namespace glint {
namespace {

/// The state of a walk, and its results.
struct Walk {
    const InputFile& file;
    TiffIndex index = {};
    TiffPage first = {};      ///< the first frame's page
    std::int64_t pages = 0;   ///< pages seen, including thumbnails
    std::int64_t frames = 0;  ///< pages seen that are frames, usable or not
    TiffPage broken = {};     ///< the first page that is not whole, with its number
    std::int64_t broken_page = 0;
    std::string unlike = {};        ///< why a page is not a frame like the first; the walk ends before it
    std::string complaint = {};     ///< libtiff's error, if the chain of directories is broken
    std::uint64_t index_bytes = 0;  ///< of all directories and their lists of strips
    std::int64_t whole_before = 0;  ///< frames that were complete in the previous scan
    TiffStand twice = {};           ///< the last of these frames that is still complete
};

std::string page_name(const Walk& walk, std::int64_t page) {
    return fmt::format("{}: page {}", walk.file.name(), page);
}

/// Returns why a page cannot follow the first; empty if it can.
std::string why_unlike_first(const Walk& walk, const TiffPage& page) try {
    const StoredPixel stored = check_page(page, page_name(walk, walk.pages));
    if (page.width == walk.first.width && page.height == walk.first.height && stored == walk.index.stored) return {};
    return fmt::format(
        "{} is {}x{} pixels of {} bits, the first {}x{} of {} bits: frames of a movie have one size and type; split "
        "the file",
        page_name(walk, walk.pages), page.width, page.height, page.bits, walk.first.width, walk.first.height,
        walk.first.bits);
} catch (const InputError& error) {
    return error.what();
}

void take_frame(Walk& walk, const TiffPage& page) {
    if (walk.frames == 0) {
        walk.index.stored = check_page(page, page_name(walk, walk.pages));
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

// Limits the total: pages that share a long directory or list of strips could take time quadratic in the file's size.
void count_index(std::uint64_t bytes, Walk& walk) {
    walk.index_bytes += bytes;
    if (walk.index_bytes > walk.file.size())
        throw InputError(fmt::format("{} claims a longer list of strips than the file holds: the file is damaged",
                                     page_name(walk, walk.pages)));
}

/// Returns the value of a directory's predictor tag, 1 if it has none. libtiff drops the tag if it uses no
/// predictor with the compression, so it is read here.
int predictor_in(const RawDirectory& directory) {
    for (std::size_t k = 0; k < directory.count(); ++k)
        if (directory.tag(k) == TIFFTAG_PREDICTOR && directory.type(k) == TIFF_SHORT)
            return directory.number<std::uint16_t>(directory.value(k));
    return PREDICTOR_NONE;
}

/// Throws for such a page: libtiff would decode it without adding up the differences, but other programs add them up.
void refuse_unused_predictor(const RawDirectory& directory, const TiffPage& page, const Walk& walk) {
    for (const int with_predictor : {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE, COMPRESSION_ZSTD,
                                     COMPRESSION_LZMA, COMPRESSION_PIXARLOG})
        if (page.compression == with_predictor) return;
    const int predictor = predictor_in(directory);
    if (predictor == PREDICTOR_NONE) return;
    throw InputError(
        fmt::format("{} has a predictor ({}), and its compression is {}, which has none: programs differ in what its "
                    "pixels are. Save it without compression, or with Deflate or LZW",
                    page_name(walk, walk.pages), predictor, compression_name(page.compression)));
}

TiffPage take_page(TiffHandle& tiff, Walk& walk) {
    const TiffPage page = read_page_facts(tiff, walk.file.size());
    RawDirectory directory(tiff);
    ++walk.pages;
    if (!directory.read(page.directory_offset))
        throw BrokenTiff(fmt::format(
            "{}: its directory was changed while it was read: open the file when it is complete, or with `follow`",
            page_name(walk, walk.pages)));
    count_index(page.index_bytes + directory.count() * directory.entry_bytes(), walk);
    (void)tiff.take_complaint();  // about a tag that glint does not need; a broken chain is reported at its end
    if (!page.reduced) refuse_unused_predictor(directory, page, walk);
    if (!page.reduced) take_frame(walk, page);
    return page;
}

void end_of_chain(TiffHandle& tiff, Walk& walk) {
    if (!walk.unlike.empty()) return;
    walk.complaint = tiff.take_complaint();
    if (walk.complaint.empty() && !TIFFLastDirectory(tiff.get())) walk.complaint = "its directories run in a circle";
}

/// Continues after `page`, the position of `first`. libtiff reads only the pages that differ from the previous one.
/// Returns false if this would not find all pages, because a directory is before the one that refers to it.
bool walk_on(TiffHandle& first, TiffPage page, Walk& walk) try {
    std::optional<TiffHandle> jumped;
    TiffHandle* tiff = &first;
    while (walk.unlike.empty()) {
        AlikePages alike(*tiff, page, walk.file.size());
        while (walk.unlike.empty() && alike.next()) {
            ++walk.pages;
            count_index(alike.directory_bytes(), walk);
            take_frame(walk, alike.last());
        }
        if (!walk.unlike.empty() || alike.at_end()) return true;
        const std::uint64_t before = alike.last().directory_offset;
        if (before != page.directory_offset) tiff = &jumped.emplace(walk.file, before);
        (void)tiff->take_complaint();
        if (!TIFFReadDirectory(tiff->get())) break;
        if (TIFFCurrentDirOffset(tiff->get()) <= before) return false;
        page = take_page(*tiff, walk);
    }
    end_of_chain(*tiff, walk);
    return true;
} catch (const BrokenTiff&) {
    return false;
}

/// Walks through the pages with libtiff, from its position.
void walk_all(TiffHandle& tiff, Walk& walk) {
    do take_page(tiff, walk);
    while (walk.unlike.empty() && TIFFReadDirectory(tiff.get()));
    end_of_chain(tiff, walk);
}

/// Returns a walk at the position up to which two earlier scans agreed.
Walk walk_behind(const InputFile& file, const TiffProgress& earlier) {
    const TiffStand& known = earlier.twice;
    Walk walk{.file = file};
    walk.first = earlier.first;
    walk.index.stored = check_page(walk.first, page_name(walk, 1));
    walk.pages = known.pages, walk.frames = known.frames, walk.index_bytes = known.index_bytes;
    walk.index.places.assign(earlier.places.begin(), earlier.places.begin() + known.frames);
    walk.twice = known;
    return walk;
}

/// Walks the new pages. Returns false if this would not find all pages.
bool walk_new_pages(const TiffPage& first, const TiffStand& known, Walk& walk) try {
    if (first != walk.first) return false;
    TiffHandle tiff(walk.file, known.page.directory_offset);
    if (read_page_facts(tiff, walk.file.size()) != known.page) return false;
    (void)tiff.take_complaint();
    return walk_on(tiff, known.page, walk);
} catch (const BrokenTiff&) {
    return false;
}

/// `tiff` must be at the first page.
Walk walk_pages(TiffHandle& tiff, const InputFile& file, const TiffProgress& earlier) {
    const std::int64_t whole_before = earlier.file == file.id() ? std::int64_t(earlier.places.size()) : 0;
    if (!earlier.from_first && whole_before > 0 && earlier.twice.frames > 0) {
        Walk walk = walk_behind(file, earlier);
        walk.whole_before = whole_before;
        if (walk_new_pages(read_page_facts(tiff, file.size()), earlier.twice, walk)) return walk;
    }
    Walk walk{.file = file};
    walk.whole_before = whole_before;
    if (const TiffPage first = take_page(tiff, walk); walk_on(tiff, first, walk)) return walk;
    Walk all{.file = file};
    all.whole_before = whole_before;
    TiffHandle from_first(file);
    walk_all(from_first, all);
    return all;
}

bool is_same_place(const TiffIndex::PagePosition& a, const TiffIndex::PagePosition& b) {
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

// ImageJ writes one directory before all frames. Files below 4 GiB have the other directories after the frames; a
// larger or truncated file has only the first one. MetaMorph's stacks never have another directory. In these cases,
// `images=N` or the tag UIC2 and the first frame's offset define where the other frames are. If several directories
// form a chain with a valid end, there are no other frames, whatever is stated.
bool is_stack_beyond_directories(const Walk& walk, const TiffMetadata& metadata) {
    const std::int64_t images = metadata.images;
    if (images <= walk.frames || walk.first.data_offset == 0 || !walk.unlike.empty()) return false;
    if (metadata.in_one_directory) return true;
    if (walk.complaint.empty() && walk.pages > 1) return false;
    const auto& places = walk.index.places;
    for (std::size_t k = 0; k < places.size(); ++k)
        if (places[k].data_offset != walk.first.data_offset + k * walk.first.frame_bytes()) return false;
    return true;
}

/// Throws for a stack in pieces or compressed, whose planes beyond the first would be lost.
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

/// Returns the maximum end of the pixels that begin at the first frame: the position of the next directory, or of data
/// to which a directory refers.
std::uint64_t end_of_pixels(TiffHandle& tiff, const Walk& walk) {
    const std::uint64_t behind = walk.first.data_offset + walk.first.frame_bytes();
    std::uint64_t end = walk.file.size();
    const auto ends_at = [&](std::uint64_t place) {
        if (place >= behind) end = std::min(end, place);
    };
    for (const TiffIndex::PagePosition& place : walk.index.places) ends_at(place.directory_offset);
    RawDirectory directory(tiff);
    if (!directory.read(walk.first.directory_offset)) return end;
    for (std::size_t k = 0; k < directory.count(); ++k) ends_at(directory.place(k));
    return end;
}

void finish_stack(TiffHandle& tiff, Walk& walk, std::int64_t images) {
    const std::uint64_t frame_bytes = walk.first.frame_bytes();
    const std::uint64_t end = end_of_pixels(tiff, walk);
    const std::uint64_t stored = end - std::min(end, walk.first.data_offset);
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

TiffIndex::PagePosition TiffIndex::place(std::int64_t frame) const {
    if (places.size() > 1 || frame == 0) return places[std::size_t(frame)];
    const std::uint64_t frame_bytes = std::uint64_t(info.width) * info.height * std::uint64_t(num_bytes(stored));
    return {places[0].data_offset + std::uint64_t(frame) * frame_bytes, 0};
}

TiffIndex index_tiff(const InputFile& file, TiffProgress* earlier) {
    file.expect_scattered_reads();  // only directories are read; the pixels between them are not needed yet
    TiffHandle tiff(file);
    TiffMetadata metadata = read_tiff_metadata(tiff, file.name());
    take_stk(tiff, file, metadata);
    take_dialect(tiff, file, metadata);
    take_micromanager(tiff, file, metadata);
    const TiffProgress nothing;
    Walk walk = walk_pages(tiff, file, earlier ? *earlier : nothing);
    if (!earlier && !walk.unlike.empty()) throw InputError(walk.unlike);
    if (earlier) remember(walk, *earlier);
    walk.index.truncated = !walk.unlike.empty();
    MovieInfo& info = walk.index.info;
    info.name = std::filesystem::path(file.name()).filename().string();
    info.type = movie_type(walk.index.stored);
    info.width = int(walk.first.width);
    info.height = int(walk.first.height);
    info.pixel_size_nm = metadata.pixel_size_nm;
    info.exposure_ms = metadata.exposure_ms;
    info.camera = metadata.camera;
    walk.index.ome = std::move(metadata.ome);
    walk.index.axes = std::move(metadata.axes);
    for (const auto& warning : metadata.warnings) info.warnings.push_back(info.name + ": " + warning);
    if (is_stack_beyond_directories(walk, metadata)) {
        if (metadata.in_one_directory && walk.pages > 1)
            info.warnings.push_back(fmt::format("{}: the {} pages behind the first are other series, and left out",
                                                info.name, walk.pages - 1));
        finish_stack(tiff, walk, metadata.images);
    } else
        refuse_stk_in_pieces(walk, metadata), finish_pages(walk);
    if (info.frames < metadata.images && !walk.index.truncated)
        info.warnings.push_back(fmt::format("{}: {} says {} images, {} are there", info.name, metadata.stated_by,
                                            metadata.images, info.frames));
    walk.index.swapped = TIFFIsBigEndian(tiff.get()) == host_is_little_endian;
    return std::move(walk.index);
}

}  // namespace glint
