// What the ways of localizing a movie into a file have in common: totals, warnings, the file itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "glint/localize.hpp"
#include "pipeline/block_result.hpp"
#include "pipeline/job.hpp"

namespace glint {

/// Counts of a run as its blocks come, whether from the journal or fresh.
struct Totals {
    std::int64_t frames = 0, rows = 0;
    BlockCounts counts;
    std::vector<double> spreads;

    void add(const BlockResult& block) {
        frames += block.frames();
        rows += std::int64_t(block.rows.size());
        counts.add(block.counts);
        spreads.insert(spreads.end(), block.empty_score_spreads.begin(), block.empty_score_spreads.end());
    }
};

void fill_result(LocalizeResult& result, const Totals& totals);

/// Before any work: throws OptionError for a name that tells no format, and for a file that exists.
void check_output(const std::filesystem::path& out, const LocalizeOptions& options);
JournalStart start_of(const LocalizeOptions& options);

/// Hands each finished block on, in the order of frames.
using EachBlock = std::function<void(const std::function<void(BlockResult)>&)>;
void write_rows(const std::filesystem::path& path, const EachBlock& each, const Job& job, std::int64_t rows);
/// The partial file of an earlier, stopped run: the complete one replaces it.
void remove_partial(const std::filesystem::path& out);

/// What there is to say of movie and camera before, and of the noise after.
void warn_before(const MovieInfo& movie, const Camera& camera, const Warn& warn);
void warn_about(const Totals& totals, const MovieInfo& movie, const Warn& warn);

}  // namespace glint
