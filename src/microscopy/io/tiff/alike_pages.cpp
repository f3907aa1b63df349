// Compares directories byte by byte.
// SPDX-License-Identifier: MIT
#include "io/tiff/alike_pages.hpp"

#include <algorithm>
#include <utility>

#include "glint/error.hpp"

namespace glint {
namespace {

/// Tags that may differ between pages without changing their pixels: times, comments, a program's notes.
bool is_note(std::uint16_t tag) {
    constexpr std::uint16_t first_of_programs = 50000;
    constexpr std::uint16_t notes[] = {TIFFTAG_IMAGEDESCRIPTION, TIFFTAG_XRESOLUTION, TIFFTAG_YRESOLUTION,
                                       TIFFTAG_SOFTWARE,         TIFFTAG_DATETIME,    TIFFTAG_ARTIST};
    return tag >= first_of_programs || std::find(std::begin(notes), std::end(notes), tag) != std::end(notes);
}

/// Returns the file offset that an entry contains.
std::uint64_t place_in(const RawDirectory& directory, std::size_t k) {
    const auto value = directory.value(k);
    return directory.type(k) == TIFF_LONG8 ? directory.number<std::uint64_t>(value)
                                           : directory.number<std::uint32_t>(value);
}

bool states_place(const RawDirectory& directory, std::size_t k) {
    const std::size_t bytes = directory.type(k) == TIFF_LONG8 ? 8 : directory.type(k) == TIFF_LONG ? 4 : 0;
    return bytes > 0 && bytes <= directory.value(k).size() && directory.values(k) == 1;
}

}  // namespace

AlikePages::AlikePages(TiffHandle& tiff, const TiffPage& page, std::uint64_t file_bytes)
    : page_(page), directory_(tiff), other_(tiff), file_bytes_(file_bytes) {
    if (page.data_offset == 0 || page.reduced || !directory_.read(page.directory_offset)) return;
    std::size_t found = 0;
    for (std::size_t k = 0; k < directory_.count(); ++k)
        if (directory_.tag(k) == TIFFTAG_STRIPOFFSETS) pixels_ = k, ++found;
    whole_ = found == 1 && states_place(directory_, pixels_) && place_in(directory_, pixels_) == page.data_offset;
}

/// Returns the position of the pixels, if everything else that determines them equals this page.
std::optional<std::uint64_t> AlikePages::pixels_of(const RawDirectory& other) const {
    if (other.count() != directory_.count()) return {};
    for (std::size_t k = 0; k < other.count(); ++k) {
        const auto ours = directory_.entry(k), theirs = other.entry(k);
        if (std::ranges::equal(ours, theirs) || (is_note(other.tag(k)) && other.tag(k) == directory_.tag(k))) continue;
        const std::size_t said = ours.size() - directory_.value(k).size();  // before the value: tag, type, number
        if (k != pixels_ || !std::ranges::equal(ours.first(said), theirs.first(said))) return {};
    }
    return place_in(other, pixels_);
}

std::optional<TiffPage> AlikePages::next() try {
    const std::uint64_t at = whole_ ? directory_.next() : 0;
    if (at <= page_.directory_offset || !other_.read(at)) return {};
    const std::optional<std::uint64_t> pixels = pixels_of(other_);
    if (!pixels) return {};
    TiffPage page = page_;
    page.directory_offset = at;
    place_pixels(*pixels, file_bytes_, page);
    if (page.data_offset == 0) return {};
    page_ = page;
    std::swap(directory_, other_);
    return page_;
} catch (const InputError&) {
    return {};  // an unreadable page ends the chain: libtiff reports the reason
}

}  // namespace glint
