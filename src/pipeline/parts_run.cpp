// Beginning, filling and finishing a run in parts.
// SPDX-License-Identifier: MIT
#include "pipeline/parts_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "glint/error.hpp"
#include "glint/gpu/error.hpp"
#include "io/files/atomic_file.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

bool holds_records(const fs::path& path, const TableLayout& layout) {
    RecordFile file(path, layout);
    Fingerprint ignored;
    file.open(O_RDONLY);
    return file.read_header(ignored) && file.holds_records();
}

void make_folder(const fs::path& folder) {
    std::error_code failed;
    fs::create_directory(folder, failed);
    if (failed) throw_output_error(folder, failed.value());
}

void remove_file(const fs::path& path) {
    std::error_code failed;
    fs::remove(path, failed);
    if (failed) throw_output_error(path, failed.value());
}

/// The same kind of error, with more to say.
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

PartDone run_part(Movie& movie, const Job& job, std::int64_t frames, const NextFrames& next, PartJournal& journal,
                  const std::function<void(std::int64_t, std::int64_t)>& on_block) {
    PartDone done;
    const auto sink = [&](BlockResult block) {
        journal.append(block);
        done.frames += block.frames();
        done.rows += std::int64_t(block.rows.size());
        on_block(block.frames(), std::int64_t(block.rows.size()));
    };
    const auto next_after_sync = [&] {
        if (journal.holds_records()) journal.sync();
        return next();
    };
    try {
        const BlocksDone blocks = run_blocks(movie, job, frames, next_after_sync, sink);
        done.fit = blocks.fit;
        done.error = blocks.read_error;
        if (journal.holds_records()) journal.sync();
    } catch (...) {
        done.error = std::current_exception();
    }
    return done;
}

PartsRun::PartsRun(Movie& movie, const Camera& camera, fs::path out, const Job& job)
    : movie_(movie.info()),
      job_(job),
      out_(without_link(out)),
      fingerprint_(fingerprint_of(movie, camera, job)),
      journal_(journal_path(out_), TableLayout(job.like)),
      parts_(fingerprint_, TableLayout(job.like), job.frames) {
    // What a run left that was killed after the output had its name, is no reason to refuse: take_up looks once more.
    if (!job.options.resume) check_output(out_, job.options, movie_);
    warn_before(movie_, camera, job.options.warn);
    journal_.open_locked();
    try {
        remove_remains_of_parts(out_);
        make_folder(parts_path(out_));
        owner_ = std::make_unique<RunOwner>(parts_path(out_), name_, job.options.warn, job.options.stop);
        take_up();
    } catch (...) {
        owner_.reset();
        remove_if_empty();
        throw;
    }
}

PartsRun::~PartsRun() {
    owner_.reset();
    remove_if_empty();
}

void PartsRun::remove_if_empty() const {
    std::error_code not_empty;
    fs::remove(parts_path(out_), not_empty);
    if (journal_.is_open() && journal_.file_size() == 0) fs::remove(journal_.path(), not_empty);
}

void PartsRun::take_up() {
    const JournalStart start = start_of(job_.options);
    std::vector<fs::path> earlier = part_files(parts_path(out_));
    if (journal_.file_size() > 0) earlier.push_back(journal_.path());
    for (const fs::path& path : earlier)
        if (start == JournalStart::resume)
            parts_.add(path, [this](const BlockResult& block) { totals_.add(block); });
        else if (start == JournalStart::overwrite || !holds_records(path, TableLayout(job_.like)))
            path == journal_.path() ? journal_.end_at(0) : remove_file(path);
        else
            throw OptionError(
                fmt::format("{} holds finished frames of a stopped run: continue it with --resume, or start over with "
                            "--overwrite",
                            path.string()));
    resumed_frames_ = totals_.frames;
    check_partial(out_, job_.options, movie_);
    if (start == JournalStart::resume && !parts_.gaps().empty()) check_output(out_, job_.options, movie_);
}

LocalizeResult PartsRun::finish(const std::vector<fs::path>& written, std::exception_ptr error) {
    LocalizeResult result;
    const auto kept = [&] {
        return fmt::format("; the {} frames finished are kept in {}: go on with --resume", totals_.frames,
                           parts_path(out_).string());
    };
    try {
        owner_->check();
        for (const fs::path& path : written) parts_.add(path, [this](const BlockResult& block) { totals_.add(block); });
        write(result);
    } catch (const Error&) {
        rethrow_with(error ? error : std::current_exception(), totals_.frames > 0 ? kept() : "");
    }
    warn_about(totals_, movie_, job_.options.warn);
    if (result.complete)
        remove_parts();
    else if (error)
        rethrow_with(error,
                     totals_.frames > 0 ? kept() + fmt::format("; {} has them too", result.written.string()) : "");
    result.resumed_frames = resumed_frames_;
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    return result;
}

void PartsRun::write(LocalizeResult& result) {
    fill_result(result, totals_);
    result.complete = parts_.gaps().empty();
    if (!result.complete && totals_.frames == 0) return;
    result.written = result.complete ? out_ : partial_path(out_);
    write_rows(
        result, [&](const auto& visit) { parts_.for_each(visit); }, job_, fingerprint_);
}

/// First under another name, at once: a run that is killed among thousands of files leaves nothing that looks unfinished.
void PartsRun::remove_parts() {
    const Warn& warn = job_.options.warn;
    remove_partial(out_, job_.options);
    owner_.reset();
    std::error_code failed;
    const fs::path folder = parts_path(out_);
    const fs::path done = fs::path(folder).replace_filename(fmt::format(".{}-{}", folder.filename().string(), name_));
    fs::rename(folder, done, failed);
    const fs::path& left = failed ? folder : done;
    fs::remove_all(left, failed);
    if (failed && warn)
        warn(fmt::format("{} is no longer needed and cannot be removed ({}): remove it by hand", left.string(),
                         failed.message()));
    remove_or_warn(journal_.path(), warn);
    journal_.close();
}

LocalizeResult localize_rest(Movie& movie, const Camera& camera, const fs::path& out, const LocalizeOptions& options) {
    const Job job = make_job(movie.info(), camera, options);
    PartsRun run(movie, camera, out, job);
    const fs::path part = part_path(out, run.name(), 0);
    const std::int64_t all = job.frames.end - job.frames.begin;
    std::int64_t frames = run.finished_frames(), rows = run.finished_rows();
    const auto report = [&](std::int64_t more_frames, std::int64_t more_rows) {
        frames += more_frames, rows += more_rows;
        if (options.progress) options.progress(frames, all, rows);
    };
    report(0, 0);
    std::vector<FrameRange> gaps = run.to_do();
    std::reverse(gaps.begin(), gaps.end());
    const auto next = [&] {
        if (gaps.empty()) return FrameRange{};
        const FrameRange first = gaps.back();
        gaps.pop_back();
        return first;
    };
    PartDone done;
    std::vector<fs::path> written;
    {
        PartJournal journal(part, run.fingerprint(), TableLayout(job.like));
        done = run_part(movie, job, all - frames, next, journal, report);
        if (journal.holds_records()) written.push_back(part);
    }
    LocalizeResult result = run.finish(written, done.error);
    result.fit = done.fit;
    return result;
}

}  // namespace glint
