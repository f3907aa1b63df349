// The journal of a run of one process: who may write it, and what a resumed run takes over.
// SPDX-License-Identifier: MIT
#include "pipeline/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "glint/error.hpp"

namespace glint {

Journal::Journal(std::filesystem::path path, const Fingerprint& fingerprint, const TableLayout& layout,
                 std::int64_t first_frame, JournalStart start, const Visit& recovered)
    : file_(std::move(path), layout), first_frame_(first_frame), next_frame_(first_frame) {
    open_locked();
    Fingerprint found;
    const bool holds_frames = file_.read_header(found) && file_.holds_records();
    if (!holds_frames || start == JournalStart::overwrite) {
        file_.start_anew(fingerprint);
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
    if (file_.is_open() && file_.end() <= file_.records_begin()) ::unlink(file_.path().c_str());
}

void Journal::open_locked() {
    // Another process may finish, and remove the file, between our open and our lock: then try again.
    for (int attempt = 0; attempt < 100; ++attempt)
        if (lock()) return;
    throw OutputError(fmt::format("{}: other processes make and remove it all the time", file_.path().string()));
}

bool Journal::lock() {
    file_.open(O_RDWR | O_CREAT);
    // A file system that knows no locks must not keep anybody from working.
    if (::flock(file_.descriptor(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        throw OutputError(
            fmt::format("{} is in use: another glint writes this output now; wait for it, or give "
                        "another output",
                        file_.path().string()));
    }
    struct stat opened {
    }, named{};
    return ::fstat(file_.descriptor(), &opened) == 0 && ::stat(file_.path().c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
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

void Journal::remove() {
    ::unlink(file_.path().c_str());
    file_.close();
}

}  // namespace glint
