// A movie into a file: journal, blocks, final file; and what a stop leaves.
// SPDX-License-Identifier: MIT
#include "glint/localize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "glint/error.hpp"
#include "glint/gpu/error.hpp"
#include "pipeline/outcome.hpp"
#include "pipeline/parts_run.hpp"
#include "pipeline/run_blocks.hpp"

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
    const bool two = name.ends_with(".smlm.h5");  // an extension that tells the format has to stay whole
    const std::size_t dot = two ? name.size() - 8 : name.rfind('.');
    name.insert(std::min(dot, name.size()), ".partial");
    return fs::path(out).replace_filename(name);
}

LocalizeResult localize(Movie& movie, const Camera& camera, const fs::path& out, const LocalizeOptions& options) {
    std::error_code none;
    if (fs::exists(parts_path(out), none)) return localize_rest(movie, camera, out, options);
    const auto start = std::chrono::steady_clock::now();
    check_output(out, options);
    const Job job = make_job(movie.info(), camera, options);
    warn_before(movie.info(), camera, options.warn);

    LocalizeResult result;
    Totals totals;
    Journal journal(journal_path(out), fingerprint_of(movie, camera, job), TableLayout(job.like), job.frames.begin,
                    start_of(options), [&](const BlockResult& block) { totals.add(block); });
    result.resumed_frames = totals.frames;
    std::exception_ptr read_error;
    try {
        read_error = fill(journal, movie, job, totals, result.fit);
        fill_result(result, totals);
        result.complete = journal.next_frame() >= job.frames.end;
        result.written = result.complete ? out : partial_path(out);
        if (result.complete || totals.frames > 0)
            write_rows(
                result.written, [&](const auto& visit) { journal.for_each(visit); }, job, totals.rows);
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
        remove_partial(out);
        journal.remove();
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
