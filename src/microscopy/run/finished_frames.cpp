// Indexes records, and reads them in order.
// SPDX-License-Identifier: MIT
#include "run/finished_frames.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/in_order.hpp"
#include "glint/error.hpp"
#include "run/settings.hpp"

namespace glint {

std::uint64_t FinishedFrames::add(const std::filesystem::path& path, const RecordFile::Visit& taken) {
    auto file = std::make_unique<RecordFile>(path, layout_);
    file->open(O_RDONLY);
    Fingerprint found;
    if (!file->read_header(found) || !file->holds_records()) return 0;  // killed before its first record
    if (const std::string advice = advice_on_following(found, fingerprint_); !advice.empty())
        throw OptionError(fmt::format("`resume`: {}: {}, or start over with `overwrite`", path.string(), advice));
    const std::string changes = differences(found, fingerprint_);
    if (!changes.empty())
        throw OptionError(fmt::format(
            "`resume`: {} was begun with something else: {}. Give the same again, or start over with `overwrite`",
            path.string(), changes));
    const std::uint64_t size = file->file_size();
    std::uint64_t at = file->records_begin();
    BlockResult block;
    std::uint64_t checksum = 0;
    while (const std::uint64_t bytes = file->read(at, size, block, &checksum)) {
        if (is_free(block)) {
            records_[block.first_frame] = {file.get(), at, at + bytes, block.first_frame, block.end_frame(), checksum};
            taken(std::move(block));
        }
        at += bytes;
    }
    const bool whole = at > file->records_begin();
    files_.push_back(std::move(file));
    return whole ? at : 0;
}

void FinishedFrames::append_to(RecordFile& file, const BlockResult& block) {
    const std::uint64_t offset = file.end(), checksum = file.append(block);
    records_[block.first_frame] = {&file, offset, file.end(), block.first_frame, block.end_frame(), checksum};
}

bool FinishedFrames::is_free(const BlockResult& block) const {
    if (block.first_frame < frames_.begin || block.end_frame() > frames_.end) return false;
    const auto after = records_.lower_bound(block.first_frame);
    if (after != records_.end() && after->first < block.end_frame()) return false;
    return after == records_.begin() || std::prev(after)->second.end_frame <= block.first_frame;
}

std::vector<FrameRange> FinishedFrames::gaps() const {
    std::vector<FrameRange> gaps;
    std::int64_t next = frames_.begin;
    for (const auto& [first, place] : records_) {
        if (first > next) gaps.push_back({next, first});
        next = place.end_frame;
    }
    if (next < frames_.end) gaps.push_back({next, frames_.end});
    return gaps;
}

void FinishedFrames::for_each(const RecordFile::Visit& visit) const {
    std::vector<const RecordPosition*> places;
    for (const auto& [first, place] : records_) places.push_back(&place);
    made_in_order<BlockResult>(
        places.size(), [&](std::size_t k, BlockResult& block) { read(*places[k], block); },
        [&](std::size_t, BlockResult& block) { visit(std::move(block)); });
}

void FinishedFrames::read(const RecordPosition& place, BlockResult& block) {
    std::uint64_t checksum = 0;
    // If locks do not work (another host), another run may have written a complete record to the same position.
    if (place.file->read(place.offset, place.end, block, &checksum) == 0 || checksum != place.checksum)
        throw InputError(
            fmt::format("{}: the record of frame {} was changed while it was in use: another run may "
                        "have started over; `resume` does those frames again",
                        place.file->path().string(), place.first_frame));
}

}  // namespace glint
