// Begins, fills and finishes a run.
// SPDX-License-Identifier: MIT
#include "run/run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "glint/error.hpp"
#include "glint/gpu/error.hpp"
#include "io/files/atomic_file.hpp"
#include "run/run_files.hpp"
#include "run/settings.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// Throws InputError if `path` is not a record file: such a file must not be overwritten.
bool holds_records(const fs::path& path, const TableLayout& layout, Fingerprint& begun_with) {
    RecordFile file(path, layout);
    file.open(O_RDONLY);
    return file.read_header(begun_with) && file.holds_records();
}

void make_folder(const fs::path& folder) {
    std::error_code failed;
    const fs::file_status status = fs::symlink_status(folder, failed);
    if (fs::exists(status) && !fs::is_directory(status))
        throw OutputError(
            fmt::format("{} is in the way: a folder of that name is needed, and it is {}. Move it away, or give "
                        "another output",
                        folder.string(), fs::is_symlink(status) ? "a link" : "a file"));
    fs::create_directory(folder, failed);
    if (failed) throw_output_error(folder, failed.value());
}

void remove_file(const fs::path& path) {
    std::error_code failed;
    fs::remove(path, failed);
    if (failed) throw_output_error(path, failed.value());
}

/// Removes the tables that killed runs left. Called first, because the records may need the space. Two files that
/// belong together are left to their writer, which repairs them.
void remove_killed_tables(const fs::path& out) {
    for (const fs::path& table : {out, partial_path(out)})
        if (const auto files = files_of_localizations(table); files.size() == 1) remove_leftovers(files.front());
}

/// Rethrows with `more` appended to the message; the error keeps its type.
[[noreturn]] void rethrow_with(std::exception_ptr error, const std::string& more) {
    try {
        std::rethrow_exception(error);
    } catch (const gpu::GpuError& cause) {
        throw gpu::GpuError(cause.code, cause.what() + more);
    } catch (const OptionError& cause) {
        throw OptionError(cause.what() + more);
    } catch (const InputError& cause) {
        throw InputError(cause.what() + more);
    } catch (const OutputError& cause) {
        throw OutputError(cause.what() + more);
    }
}

}  // namespace

PartDone run_part(Movie& movie, const LocalizeJob& job, std::int64_t frames, const NextFrames& next,
                  const std::function<void(BlockResult)>& sink) {
    PartDone done;
    try {
        BlocksDone blocks = run_blocks(movie, job, frames, next, sink);
        done.fit = blocks.fit;
        done.error = blocks.read_error;
        done.gpus_closed = std::move(blocks.gpus_closed);
    } catch (...) {
        done.error = std::current_exception();
    }
    return done;
}

std::unique_ptr<RecordFile> new_part(const fs::path& path, const Fingerprint& fingerprint, const TableLayout& layout) {
    auto part = std::make_unique<RecordFile>(path, layout);
    part->open(O_RDWR | O_CREAT | O_EXCL);
    part->start(fingerprint);
    return part;
}

Run::Run(Movie& movie, const Camera& camera, fs::path out, LocalizeJob& job, Writers writers)
    : movie_(movie),
      camera_(camera),
      job_(job),
      out_(without_link(out)),
      name_(new_run_name()),
      fingerprint_(fingerprint_of(movie, camera, job)),
      journal_(journal_path(out_), TableLayout(job.like)),
      finished_(fingerprint_, TableLayout(job.like), job.frames),
      totals_(job) {
    // With --resume the output may exist: a run can be killed after its rename and before its records are removed.
    // take_up() checks this.
    if (!job.options.resume) check_output(out_, job.options, movie.info());
    warn_before(movie.info(), camera, job.options.warn);
    journal_.open_locked();
    remove_finished_parts(out_);
    remove_killed_tables(out_);
    std::error_code none;
    in_parts_ = writers == Writers::several || fs::exists(fs::symlink_status(parts_path(out_), none));
    try {
        if (in_parts_) {
            make_folder(parts_path(out_));
            owner_ = std::make_unique<RunOwner>(parts_path(out_), name_, job.options.warn, job.options.stop);
        }
        take_up();
        if (writers == Writers::this_process) open_records();
    } catch (...) {
        owner_.reset();
        if (in_parts_) ::rmdir(parts_path(out_).c_str());  // unless it is not empty
        throw;
    }
}

Run::~Run() {
    part_.reset();
    owner_.reset();
    if (in_parts_) ::rmdir(parts_path(out_).c_str());  // unless it is not empty
}

void Run::take_up() {
    const LocalizeOptions& options = job_.options;
    std::vector<fs::path> earlier = part_files(parts_path(out_));
    if (journal_.file_size() > 0) earlier.push_back(journal_.path());
    for (const fs::path& path : earlier) {
        Fingerprint then;
        const bool is_journal = path == journal_.path(), of_use = holds_records(path, TableLayout(job_.like), then);
        if (options.resume) {
            const std::uint64_t end = finished_.add(path, [this](const BlockResult& block) { totals_.add(block); });
            if (is_journal) journal_end_ = end;
        } else if (options.overwrite || !of_use) {
            is_journal ? journal_.end_at(0) : remove_file(path);
        } else {
            const std::string advice = advice_on_following(then, fingerprint_);
            throw OptionError(fmt::format(
                "{} holds finished frames of a stopped run: continue it with `resume`{}, or start over with "
                "`overwrite`",
                path.string(), advice.empty() ? "" : " (" + advice + ")"));
        }
    }
    resumed_frames_ = totals_.frames;
    // Replaces only the partial file of the resumed run.
    if_partial_exists_ = options.overwrite || resumed_frames_ > 0 ? IfExists::replace : IfExists::refuse;
    check_partial(out_, if_partial_exists_, movie_.info());
    // With all frames finished the output may exist already: the run was killed before its records were removed.
    // Then it has the same bytes as the output written now.
    if (options.resume && !finished_.gaps().empty()) try {
            check_output(out_, options, movie_.info());
        } catch (const OptionError& error) {
            if (resumed_frames_ == 0) throw;
            throw OptionError(
                fmt::format("{} ({} finished frames of a run that replaces it are kept in {}: `resume` and "
                            "`overwrite` continue it)",
                            error.what(), resumed_frames_, kept_in().string()));
        }
}

/// Opens the file to which this process appends: a new part, or the journal, truncated before an incomplete record.
void Run::open_records() {
    Fingerprint ours;
    if (in_parts_)
        part_ = new_part(part_path(out_, name_, 0), fingerprint_, TableLayout(job_.like));
    else if (journal_end_ > 0 && journal_.read_header(ours))
        journal_.end_at(journal_end_);
    else
        journal_.start(fingerprint_), begin_table();
}

/// Not used with a single thread, which has no time for it. Not used for a growing movie either, whose end may never
/// come.
void Run::begin_table() {
    if (job_.frames.end == unknown_end || job_.threads == 1 || !RunningTable::suits(out_)) return;
    table_ = std::make_unique<RunningTable>(out_, job_.like, if_output_exists(), job_.options.warn, job_.threads);
}

IfExists Run::if_output_exists() const { return job_.options.overwrite ? IfExists::replace : IfExists::refuse; }

/// Records have precedence over the table: if the disk has no room for both, the table is dropped.
void Run::record(const BlockResult& block) {
    RecordFile& records = part_ ? *part_ : journal_;
    try {
        finished_.append_to(records, block);
    } catch (const OutputError&) {
        if (!table_) throw;
        table_.reset();
        finished_.append_to(records, block);
    }
}

void Run::append(const BlockResult& block) {
    record(block);
    totals_.add(block);
    if (table_) table_->append(block.rows);
}

void Run::end_at(std::int64_t frames) {
    set_end(job_, movie_.info(), frames);
    finished_.end_at(frames);
    fingerprint_ = fingerprint_of(movie_, camera_, job_);
}

fs::path Run::kept_in() const {
    return in_parts_ && !part_files(parts_path(out_)).empty() ? parts_path(out_) : journal_.path();
}

LocalizeResult Run::finish(const std::vector<fs::path>& written, std::exception_ptr error) {
    LocalizeResult result;
    const auto kept = [&] {
        std::error_code ignored;  // a removed folder has no journal to resume
        return totals_.frames == 0 || !fs::exists(kept_in(), ignored)
                   ? ""
                   : fmt::format("; the {} frames finished are kept in {}: continue with `resume`", totals_.frames,
                                 kept_in().string());
    };
    try {
        if (owner_) owner_->check();
        for (const fs::path& path : written)
            finished_.add(path, [this](const BlockResult& block) { totals_.add(block); });
        write(result);
        if (!result.complete) (part_ ? *part_ : journal_).sync();
    } catch (const Error&) {
        rethrow_with(error ? error : std::current_exception(), kept());
    }
    warn_about(totals_, movie_, camera_, job_);
    if (result.complete)
        remove_records();
    else if (error)
        rethrow_with(error,
                     result.written.empty() ? "" : kept() + fmt::format("; {} has them too", result.written.string()));
    result.resumed_frames = resumed_frames_;
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    return result;
}

void Run::write(LocalizeResult& result) {
    fill_result(result, totals_, job_);
    result.complete = job_.frames.end != unknown_end && finished_.gaps().empty();
    if (!result.complete && totals_.frames == 0) return;
    result.written = result.complete ? out_ : partial_path(out_);
    if (const auto table = std::move(table_); result.complete && table && table->finish()) return;
    if (job_.frames.end == unknown_end) job_.like.frames = finished_.gaps().back().begin;  // where the last record ends
    write_rows(
        result, [&](const auto& visit) { finished_.for_each(visit); }, job_, fingerprint_,
        result.complete ? if_output_exists() : if_partial_exists_);
}

/// Whenever the process is killed, the next --resume finds all records or none. A journal moves into the folder of
/// parts. One rename retires that folder before its files, perhaps thousands, are removed one by one.
void Run::remove_records() {
    const Warn& warn = job_.options.warn;
    if (if_partial_exists_ == IfExists::replace) remove_partial(out_, warn);  // else there was none when the run began
    std::error_code failed;
    if (in_parts_) {
        const fs::path folder = parts_path(out_), done = finished_parts_path(out_, name_);
        owner_.reset();
        if (journal_end_ > 0) fs::rename(journal_.path(), part_path(out_, name_, 99999), failed);
        const bool alone = holds_parts_alone(folder);
        if (alone) fs::rename(folder, done, failed);
        const fs::path& left = failed || !alone ? folder : done;
        part_.reset();
        if (!remove_parts_folder(left) && warn)
            warn(fmt::format("{} is no longer needed and cannot be removed{}: remove it by hand", left.string(),
                             alone ? "" : ", for it holds files that are not of a run"));
    }
    if (!journal_.remove() && warn)
        warn(fmt::format("{} is no longer needed and cannot be removed: remove it by hand", journal_.path().string()));
}

}  // namespace glint
