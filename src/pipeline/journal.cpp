// The journal of a run of one process: who may write it, and what a resumed run takes over.
// SPDX-License-Identifier: MIT
#include "pipeline/journal.hpp"

#include <fmt/format.h>
#include "glint/error.hpp"

namespace glint {

Journal::Journal(std::filesystem::path path, const Fingerprint& fingerprint, const TableLayout& layout,
                 std::int64_t first_frame, JournalStart start, const Visit& recovered)
    : file_(std::move(path), layout), first_frame_(first_frame), next_frame_(first_frame) {
    file_.open_locked();
    Fingerprint found;
    const bool holds_frames = file_.read_header(found) && file_.holds_records();
    if (!holds_frames || start == JournalStart::overwrite) {
        try {
            file_.start_anew(fingerprint);
        } catch (const OutputError&) {
            if (file_.file_size() == 0) file_.remove();
            throw;
        }
        return;
    }
    if (start == JournalStart::fresh)
        throw OptionError(
            fmt::format("{} holds finished frames of a stopped run: continue it with --resume, or start "
                        "over with --overwrite",
                        file_.path().string()));
    const std::string changes = differences(found, fingerprint);
    if (!changes.empty())
        throw OptionError(
            fmt::format("--resume: {} was begun with something else: {}. Give the same again, or start "
                        "over with --overwrite",
                        file_.path().string(), changes));
    recover(recovered);
}

Journal::~Journal() {
    if (file_.is_open() && file_.end() <= file_.records_begin()) file_.remove();
}

void Journal::recover(const Visit& recovered) {
    const std::uint64_t size = file_.file_size();
    std::uint64_t end = file_.records_begin();
    BlockResult block;
    while (const std::uint64_t bytes = file_.read(end, size, block)) {
        if (block.first_frame != next_frame_) break;
        end += bytes;
        next_frame_ = block.end_frame();
        recovered(std::move(block));
    }
    file_.end_at(end);
}

void Journal::append(const BlockResult& block) {
    file_.append(block);
    next_frame_ = block.end_frame();
}

void Journal::for_each(const Visit& visit) const {
    BlockResult block;
    for (std::uint64_t at = file_.records_begin(); const std::uint64_t bytes = file_.read(at, file_.end(), block);
         at += bytes)
        visit(std::move(block));
}

void Journal::remove(const Warn& warn) {
    if (!file_.remove() && warn)
        warn(fmt::format("{} is no longer needed and cannot be removed: remove it by hand", file_.path().string()));
}

}  // namespace glint
