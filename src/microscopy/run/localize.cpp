// Localizes a movie into a file, or into memory, in a single process.
// SPDX-License-Identifier: MIT
#include "glint/localize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "io/files/atomic_file.hpp"
#include "io/localization_formats.hpp"
#include "run/run.hpp"
#include "run/run_files.hpp"
#include "run/settings.hpp"

namespace glint {

namespace fs = std::filesystem;

bool is_already_localized(Movie& movie, const Camera& camera, const fs::path& path, const LocalizeOptions& options) {
    const fs::path out = without_link(path);
    std::error_code none;
    if (!options.resume || !fs::exists(out, none) || fs::exists(parts_path(out), none)) return false;
    if (fs::exists(journal_path(out), none)) {
        RecordFile journal(journal_path(out), TableLayout(Localizations()));
        journal.open_locked();
        if (journal.file_size() > 0) return false;
        remove_or_warn(journal.path(), options.warn);  // left by a run in parts that was killed after removing them
    }
    remove_finished_parts(out);
    const std::vector<fs::path> files = files_of_localizations(out);
    if (files.size() == 2) repair_pair(files[1], files[0]);  // left by a run that was killed while it replaced them
    std::optional<Fingerprint> then;
    try {
        then = settings_of(out);
    } catch (const Error&) {
        if (!options.overwrite) throw;
        return false;  // the existing output may not be a table
    }
    for (const fs::path& file : files)
        if (!fs::exists(file, none)) return false;
    if (!then && options.overwrite) return false;
    if (!then && options.warn)
        options.warn(fmt::format(
            "{} is finished, but does not record its settings{}: they were not compared", out.string(),
            written_format(out).history ? std::string()
                                        : fmt::format(", since a {} has no place for them", localization_ending(out))));
    if (!then) return true;
    LocalizeOptions quiet = options;
    quiet.warn = {};
    Fingerprint now = fingerprint_of(movie, camera, prepare_job(movie, camera, quiet));
    std::erase_if(now, [&](const auto& setting) {  // ignore settings that a file of another version lacks
        return std::none_of(then->begin(), then->end(), [&](const auto& told) { return told.first == setting.first; });
    });
    const std::string changes = differences(*then, now);
    if (changes.empty() || options.overwrite) return changes.empty();
    throw OptionError(
        fmt::format("`resume`: {} is finished, and was made with something else: {}. Give the same again, "
                    "another output, or `overwrite` to replace it",
                    out.string(), changes));
}

LocalizeResult localize(Movie& movie, const Camera& camera, const fs::path& out, const LocalizeOptions& options) {
    LocalizeJob job = prepare_job(movie, camera, options);
    Run run(movie, camera, out, job, Writers::this_process);
    const std::int64_t all = job.frames.end - job.frames.begin;
    const auto report = [&] {
        if (options.progress) options.progress(run.finished_frames(), all, run.finished_rows());
    };
    report();
    const std::vector<FrameRange> gaps = run.to_do();
    const auto next = [&, gap = gaps.begin()]() mutable { return gap == gaps.end() ? FrameRange{} : *gap++; };
    const auto sink = [&](const BlockResult& block) {
        run.append(block);
        report();
    };
    const PartDone done = run_part(movie, job, all - run.finished_frames(), next, sink);
    LocalizeResult result = run.finish({}, done.error);
    result.fit = done.fit;
    return result;
}

Localizations localize_frames(Movie& movie, const Camera& camera, const LocalizeOptions& options,
                              LocalizeResult* result) {
    const auto start = std::chrono::steady_clock::now();
    Localizations rows = localize_frames(movie, camera, prepare_job(movie, camera, options), result);
    if (result) result->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return rows;
}

Localizations localize_frames(Movie& movie, const Camera& camera, const LocalizeJob& job, LocalizeResult* result) {
    const LocalizeOptions& options = job.options;
    warn_before(movie.info(), camera, options.warn);
    Localizations rows;
    Totals totals(job);
    const std::int64_t all = job.frames.end - job.frames.begin;
    FrameRange left = job.frames;
    const auto next = [&] { return std::exchange(left, {}); };
    const BlocksDone done = run_blocks(movie, job, all, next, [&](BlockResult block) {
        totals.add(block);
        if (block.rows.size() > 0) append(rows, block.rows);
        if (options.progress) options.progress(totals.frames, all, totals.rows);
    });
    if (done.read_error) std::rethrow_exception(done.read_error);
    if (options.stop && options.stop->load()) throw Cancelled("localizing was stopped");
    warn_about(totals, movie, camera, job);
    rows.width = job.like.width, rows.height = job.like.height, rows.frames = job.like.frames;
    rows.pixel_size_nm = job.like.pixel_size_nm, rows.history = job.like.history;
    if (result) {
        fill_result(*result, totals, job);
        result->fit = done.fit, result->complete = true;
    }
    return rows;
}

}  // namespace glint
