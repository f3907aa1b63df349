// Writing one part, and finding out what all together cover.
// SPDX-License-Identifier: MIT
#include "pipeline/parts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "glint/error.hpp"

namespace glint {

namespace fs = std::filesystem;

fs::path parts_path(const fs::path& out) { return fs::path(out) += ".journal.parts"; }

fs::path part_path(const fs::path& out, const std::string& run, int rank) {
    return parts_path(out) / fmt::format("{}-{:05}.part", run, rank);
}

std::string new_run_name() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

void remove_remains_of_parts(const fs::path& out) {
    const std::string start = fmt::format(".{}-", parts_path(out).filename().string());
    const fs::path folder = out.parent_path().empty() ? fs::path(".") : out.parent_path();
    std::error_code none;
    for (fs::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none))
        if (entry->path().filename().string().starts_with(start)) fs::remove_all(entry->path(), none);
}

std::vector<fs::path> part_files(const fs::path& folder) {
    std::vector<fs::path> paths;
    std::error_code none;
    for (fs::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none))
        if (entry->path().extension() == ".part") paths.push_back(entry->path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

PartJournal::PartJournal(const fs::path& path, const Fingerprint& fingerprint, const TableLayout& layout)
    : file_(path, layout) {
    file_.open(O_RDWR | O_CREAT | O_EXCL);
    file_.start_anew(fingerprint);
}

PartJournal::~PartJournal() {
    if (!holds_records()) ::unlink(file_.path().c_str());
}

void Parts::add(const fs::path& path, const RecordFile::Visit& taken) {
    auto file = std::make_unique<RecordFile>(path, layout_);
    file->open(O_RDONLY);
    Fingerprint found;
    if (!file->read_header(found) || !file->holds_records()) return;  // killed before its first record
    const std::string changes = differences(found, fingerprint_);
    if (!changes.empty())
        throw OptionError(fmt::format(
            "--resume: {} was begun with something else: {}. Give the same again, or start over with --overwrite",
            path.string(), changes));
    const std::uint64_t size = file->file_size();
    BlockResult block;
    for (std::uint64_t at = file->records_begin(); const std::uint64_t bytes = file->read(at, size, block);
         at += bytes) {
        if (!is_free(block)) continue;
        records_[block.first_frame] = {file.get(), at, at + bytes, block.end_frame()};
        taken(std::move(block));
    }
    files_.push_back(std::move(file));
}

bool Parts::is_free(const BlockResult& block) const {
    if (block.first_frame < frames_.begin || block.end_frame() > frames_.end) return false;
    const auto after = records_.lower_bound(block.first_frame);
    if (after != records_.end() && after->first < block.end_frame()) return false;
    return after == records_.begin() || std::prev(after)->second.end_frame <= block.first_frame;
}

std::vector<FrameRange> Parts::gaps() const {
    std::vector<FrameRange> gaps;
    std::int64_t next = frames_.begin;
    for (const auto& [first, place] : records_) {
        if (first > next) gaps.push_back({next, first});
        next = place.end_frame;
    }
    if (next < frames_.end) gaps.push_back({next, frames_.end});
    return gaps;
}

void Parts::for_each(const RecordFile::Visit& visit) const {
    BlockResult block;
    for (const auto& [first, place] : records_) {
        if (place.file->read(place.offset, place.end, block) == 0)
            throw InputError(
                fmt::format("{}: the record of frame {} was changed while it was in use: another run may "
                            "have started over; --resume does those frames again",
                            place.file->path().string(), first));
        visit(std::move(block));
    }
}

}  // namespace glint
