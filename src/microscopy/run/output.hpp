// The output of a run: totals, warnings, the file.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "glint/if_exists.hpp"
#include "glint/localize.hpp"
#include "pipeline/block_result.hpp"
#include "pipeline/localize_job.hpp"
#include "run/record_file.hpp"
#include "run/row_checks.hpp"

namespace glint {

/// Sums over the blocks of a run, resumed and new.
struct Totals {
    std::int64_t frames = 0, rows = 0;
    BlockCounts counts;
    std::vector<double> spreads;
    Crowding crowding;
    SmallPValues p_values;
    RepeatedRows repeated;
    ConstantPairs pairs;
    RowsOutsideField outside;

    explicit Totals(const LocalizeJob& job) : repeated(job.like.width, job.like.height), outside(job.options) {}

    void add(const BlockResult& block) {
        frames += block.frames();
        rows += std::int64_t(block.rows.size());
        counts.add(block.counts);
        crowding.add(block.rows);
        p_values.add(block.rows);
        repeated.add(block.rows);
        pairs.add(block.rows);
        outside.add(block.rows);
        spreads.insert(spreads.end(), block.noise_checks.begin(), block.noise_checks.end());
    }
};

void fill_result(LocalizeResult& result, const Totals& totals, const LocalizeJob& job);

/// Call it before any work. Throws OptionError for a name of unknown format, and for a file that exists or is the
/// movie's.
void check_output(const std::filesystem::path& out, const LocalizeOptions& options, const MovieInfo& movie);
/// Like check_output(), for the partial file, which a stop writes and a complete run removes. A partial file without a
/// journal may be all that is left of an earlier run. It is refused unless that run is resumed, or --overwrite was
/// given.
void check_partial(const std::filesystem::path& out, IfExists if_exists, const MovieInfo& movie);

/// Calls its argument with each finished block, in the order of frames.
using EachBlock = std::function<void(const std::function<void(BlockResult)>&)>;
/// Writes `result.written`, and with it the settings (`fingerprint`), and counts its hidden rows.
void write_rows(LocalizeResult& result, const EachBlock& each, const LocalizeJob& job, const Fingerprint& fingerprint,
                IfExists if_exists);
/// Removes the partial file of an earlier, stopped run, which the complete file replaces.
void remove_partial(const std::filesystem::path& out, const Warn& warn);
/// Warns if `path` cannot be removed: the output is complete nevertheless.
void remove_or_warn(const std::filesystem::path& path, const Warn& warn);

/// warn_before() warns about movie and camera before the work, warn_about() about noise, spots and PSF after it.
void warn_before(const MovieInfo& movie, const Camera& camera, const Warn& warn);
void warn_about(const Totals& totals, Movie& movie, const Camera& camera, const LocalizeJob& job);

}  // namespace glint
