// A queue of rows, and the thread that writes them.
// SPDX-License-Identifier: MIT
#include "run/running_table.hpp"

#include <system_error>
#include <utility>

#include "base/arena.hpp"
#include "data/table_facts.hpp"
#include "glint/error.hpp"
#include "io/localization_formats.hpp"
#include "io/row_blocks.hpp"

namespace glint {
namespace {

// Numbers of rows: enough for several threads to begin, and the maximum that may wait, some 20 MB.
constexpr std::size_t min_written = 4 * rows_of_block, max_waiting = std::size_t(1) << 18;

}  // namespace

bool RunningTable::suits(const std::filesystem::path& out) { return written_format(out).in_one_pass; }

RunningTable::RunningTable(std::filesystem::path out, const Localizations& like, IfExists if_exists, Warn warn,
                           int threads)
    : out_(std::move(out)), like_(like), if_exists_(if_exists), warn_(std::move(warn)), threads_(threads) {}

RunningTable::~RunningTable() { end_thread(true); }

void RunningTable::append(const Localizations& rows) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() < max_waiting || failed_; });
    if (failed_ || rows.size() == 0) return;
    glint::append(waiting_, rows);
    if (waiting_.size() < min_written) return;
    changed_.notify_all();
    if (!thread_.joinable()) try {
            thread_ = std::thread([this] { write_all(); });
        } catch (const std::system_error&) {
            failed_ = true;
        }
}

/// Writes rows until no more arrive. Rows that arrive during a write are written together.
void RunningTable::write_all() {
    Localizations rows;
    for (bool last = false; !last;) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_.size() >= min_written || ended_ || failed_; });
        if (failed_) return;
        std::swap(rows, waiting_);
        last = ended_;
        changed_.notify_all();
        lock.unlock();
        try {
            in_arena_of(threads_, [&] { write(rows); });
        } catch (...) {
            lock.lock();
            failed_ = true;
            file_.reset();
            changed_.notify_all();
            return;
        }
        clear_rows(rows);
    }
}

void RunningTable::write(const Localizations& rows) {
    if (!file_) file_ = written_format(out_).write(out_, like_, 0, {if_exists_, warn_});
    if (rows.size() > 0) file_->append(rows);
}

void RunningTable::end_thread(bool drop) {
    {
        const std::lock_guard lock(mutex_);
        ended_ = true, failed_ = failed_ || drop;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

bool RunningTable::finish() {
    const bool begun = thread_.joinable();
    end_thread(false);
    if (!begun || failed_) return false;
    try {
        file_->close();
    } catch (const Error&) {
        return false;
    }
    return true;
}

}  // namespace glint
