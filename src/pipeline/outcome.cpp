// Totals, warnings, the file.
// SPDX-License-Identifier: MIT
#include "pipeline/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"

namespace glint {

namespace fs = std::filesystem;

namespace {

double median(std::vector<double> values) {
    std::erase(values, 0.0);  // frames that hold no information
    if (values.empty()) return 0;
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

void fill_result(LocalizeResult& result, const Totals& totals) {
    result.frames = totals.frames;
    result.localizations = totals.rows;
    result.spots = totals.counts.spots;
    result.not_converged = totals.counts.not_converged;
    result.wandered = totals.counts.wandered;
    result.duplicates = totals.counts.duplicates;
    result.bad_pixels = totals.counts.bad_pixels;
    result.empty_score_spread = median(totals.spreads);
}

void check_output(const fs::path& out, const LocalizeOptions& options) {
    localization_format(out);
    std::error_code failed;
    if (options.overwrite || !fs::exists(out, failed)) return;
    throw OptionError(fmt::format("{} exists: give another output, or --overwrite to replace it", out.string()));
}

JournalStart start_of(const LocalizeOptions& options) {
    return options.resume ? JournalStart::resume : options.overwrite ? JournalStart::overwrite : JournalStart::fresh;
}

void write_rows(const fs::path& path, const EachBlock& each, const Job& job, std::int64_t rows) {
    LocalizationWriter writer(path, job.like, std::size_t(rows), job.options.warn);
    each([&](BlockResult block) {
        if (block.rows.size() > 0) writer.append(block.rows);
    });
    writer.close();
}

void remove_partial(const fs::path& out) {
    std::error_code ignored;
    fs::remove(partial_path(out), ignored);
    if (localization_format(out) == LocalizationFormat::picasso_hdf5)
        fs::remove(partial_path(out).replace_extension(".yaml"), ignored);
}

void warn_about(const Totals& totals, const MovieInfo& movie, const Warn& warn) {
    if (!warn) return;
    const std::string contradiction = camera_contradiction(totals.spreads);
    if (!contradiction.empty()) warn(contradiction);
    if (totals.counts.bad_pixels > 0)
        warn(fmt::format("{}: {} pixels were not a number or infinite; they were taken as no light", movie.name,
                         totals.counts.bad_pixels));
}

void warn_before(const MovieInfo& movie, const Camera& camera, const Warn& warn) {
    if (!warn) return;
    for (const std::string& text : movie.warnings) warn(text);
    for (const std::string& text : camera_warnings(camera)) warn(text);
}

}  // namespace glint
