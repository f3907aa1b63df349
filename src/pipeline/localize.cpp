// A movie into a file: journal, blocks, final file; and what a stop leaves.
// SPDX-License-Identifier: MIT
#include "glint/localize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "glint/error.hpp"
#include "glint/gpu/error.hpp"
#include "glint/localization_io.hpp"
#include "io/files/atomic_file.hpp"
#include "pipeline/outcome.hpp"
#include "pipeline/parts_run.hpp"
#include "pipeline/run_blocks.hpp"
#include "pipeline/settings.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

/// Runs the blocks that the journal lacks. Returns what the movie threw, if it did.
std::exception_ptr fill(Journal& journal, Movie& movie, const Job& job, Totals& totals, FitInfo& fit) {
    const std::int64_t all = job.frames.end - job.frames.begin;
    const auto report = [&] {
        if (job.options.progress) job.options.progress(totals.frames, all, totals.rows);
    };
    report();
    const BlocksDone done = run_blocks(movie, job, journal.next_frame(), [&](BlockResult block) {
        journal.append(block);
        totals.add(block);
        report();
    });
    fit = done.fit;
    return done.read_error;
}

[[noreturn]] void rethrow_with_partial(std::exception_ptr error, const LocalizeResult& result, const fs::path& out) {
    if (result.frames == 0) std::rethrow_exception(error);  // nothing was kept
    try {
        std::rethrow_exception(error);
    } catch (const Error& cause) {
        throw InputError(fmt::format("{}; the {} frames before are in {}, and kept in {}", cause.what(), result.frames,
                                     partial_path(out).string(), journal_path(out).string()));
    }
}

}  // namespace

fs::path journal_path(const fs::path& out) { return fs::path(out) += ".journal"; }

fs::path partial_path(const fs::path& out) {
    std::string name = out.filename().string();
    name.insert(name.size() - localization_ending(out).size(), ".partial");  // what tells the format stays whole
    return fs::path(out).replace_filename(name);
}

bool finished_before(Movie& movie, const Camera& camera, const fs::path& path, const LocalizeOptions& options) {
    const fs::path out = without_link(path);
    std::error_code none;
    if (!options.resume || options.overwrite || !fs::exists(out, none) || fs::exists(parts_path(out), none))
        return false;
    if (fs::exists(journal_path(out), none)) {
        RecordFile journal(journal_path(out), TableLayout(Localizations()));
        journal.open_locked();
        if (journal.file_size() > 0) return false;
        remove_or_warn(journal.path(), options.warn);  // of a run in parts that was killed when its parts were gone
    }
    remove_remains_of_parts(out);
    const std::optional<Fingerprint> then = settings_of(out);
    if (!then) return true;
    LocalizeOptions quiet = options;
    quiet.warn = {};
    Fingerprint now = fingerprint_of(movie, camera, make_job(movie.info(), camera, quiet));
    std::erase_if(now, [&](const auto& setting) {  // what a file of another version does not tell
        return std::none_of(then->begin(), then->end(), [&](const auto& told) { return told.first == setting.first; });
    });
    const std::string changes = differences(*then, now);
    if (changes.empty()) return true;
    throw OptionError(
        fmt::format("--resume: {} is finished, and was made with something else: {}. Give the same again, "
                    "another output, or --overwrite to replace it",
                    out.string(), changes));
}

LocalizeResult localize(Movie& movie, const Camera& camera, const fs::path& path, const LocalizeOptions& options) {
    const fs::path out = without_link(path);
    std::error_code none;
    if (fs::exists(parts_path(out), none)) return localize_rest(movie, camera, out, options);
    const auto start = std::chrono::steady_clock::now();
    if (!options.resume) check_output(out, options, movie.info());
    const Job job = make_job(movie.info(), camera, options);
    warn_before(movie.info(), camera, options.warn);

    LocalizeResult result;
    Totals totals;
    const Fingerprint fingerprint = fingerprint_of(movie, camera, job);
    Journal journal(journal_path(out), fingerprint, TableLayout(job.like), job.frames.begin, start_of(options),
                    [&](const BlockResult& block) { totals.add(block); });
    check_partial(out, options, movie.info());
    remove_remains_of_parts(out);
    result.resumed_frames = totals.frames;
    // With a complete journal the output may stand there already: the run was killed before the journal was gone. Then it
    // has the very bytes that are written now.
    if (options.resume && journal.next_frame() < job.frames.end) check_output(out, options, movie.info());
    std::exception_ptr read_error;
    try {
        read_error = fill(journal, movie, job, totals, result.fit);
        fill_result(result, totals);
        result.complete = journal.next_frame() >= job.frames.end;
        result.written = result.complete ? out : partial_path(out);
        if (result.complete || totals.frames > 0)
            write_rows(
                result, [&](const auto& visit) { journal.for_each(visit); }, job, fingerprint);
    } catch (const gpu::GpuError& error) {
        if (totals.frames == 0) throw;
        throw gpu::GpuError(error.code, fmt::format("{}; the {} frames finished are kept in {}: go on with --resume",
                                                    error.what(), totals.frames, journal_path(out).string()));
    } catch (const OutputError& error) {
        if (totals.frames == 0) throw;
        throw OutputError(fmt::format("{}; the {} frames finished are kept in {}: mend this and go on with --resume",
                                      error.what(), totals.frames, journal_path(out).string()));
    }
    warn_about(totals, movie.info(), options.warn);
    if (result.complete) {
        remove_partial(out, options);
        journal.remove(options.warn);
    } else {
        journal.sync();
        if (totals.frames == 0) result.written.clear();
    }
    if (read_error) rethrow_with_partial(read_error, result, out);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

Localizations localize_frames(Movie& movie, const Camera& camera, const LocalizeOptions& options,
                              LocalizeResult* result) {
    const auto start = std::chrono::steady_clock::now();
    const Job job = make_job(movie.info(), camera, options);
    warn_before(movie.info(), camera, options.warn);
    Localizations rows;
    Totals totals;
    const BlocksDone done = run_blocks(movie, job, job.frames.begin, [&](BlockResult block) {
        totals.add(block);
        if (block.rows.size() > 0) append(rows, block.rows);
        if (options.progress) options.progress(totals.frames, job.frames.end - job.frames.begin, totals.rows);
    });
    if (done.read_error) std::rethrow_exception(done.read_error);
    if (options.stop && options.stop->load()) throw Cancelled("localizing was stopped");
    warn_about(totals, movie.info(), options.warn);
    rows.width = job.like.width, rows.height = job.like.height, rows.frames = job.like.frames;
    rows.pixel_size_nm = job.like.pixel_size_nm, rows.history = job.like.history;
    if (result) {
        fill_result(*result, totals);
        result->fit = done.fit, result->complete = true;
        result->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    return rows;
}

}  // namespace glint
