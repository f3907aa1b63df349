// Runs a step, or finds that it is finished.
// SPDX-License-Identifier: MIT
#include "workflow/step.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "io/files/atomic_file.hpp"
#include "workflow/check_recipe.hpp"

namespace glint {
namespace {

/// Returns the steps that depend on this one.
std::vector<std::string> later_steps(std::string_view step) {
    const std::vector<std::string> ways[] = {{"localize", "filter", "drift", "link", "molecules", "render"},
                                             {"localize", "filter", "drift", "resolution", "figures"},
                                             {"resolution", "render"}};
    std::vector<std::string> later;
    for (const std::vector<std::string>& way : ways) {
        const auto found = std::find(way.begin(), way.end(), step);
        if (found != way.end()) later.insert(later.end(), found + 1, way.end());
    }
    return later;
}

}  // namespace

void StepContext::warn(const std::string& message) const {
    if (options.messages.warn) options.messages.warn(message);
    warnings.push_back(options.words(message));
}

void StepContext::notice(const std::string& message) const {
    if (options.messages.notice) options.messages.notice(message);
}

Progress StepContext::progress(const std::string& part, const std::string& unit) const {
    return options.messages.progress ? options.messages.progress(name + ": " + part, unit) : Progress();
}

void StepContext::end_progress() const {
    if (options.messages.end_progress) options.messages.end_progress();
}

Warn StepContext::warner() const { return options.messages.warn; }

std::string do_step(const StepContext& context, const char* step, const std::string& depends_on,
                    const std::vector<std::string>& files, const std::function<RunRecord::Json()>& work) {
    const std::string key = hash_text(fmt::format("{}\n{}", step, depends_on));
    if (context.record.is_finished(step, key)) {
        context.notice(fmt::format("{}: {} is already finished", context.name, step));
        context.record.forget_begun(step);
        return key;
    }
    context.record.begin(step, key, files, later_steps(step));
    if (context.stop.load()) throw Cancelled("stopped before the step " + std::string(step));
    const auto begun = std::chrono::steady_clock::now();
    context.warnings.clear();
    RunRecord::Json results = work();
    if (!context.warnings.empty()) results["warnings"] = context.warnings;
    context.end_progress();
    context.record.finish(step, results.contains("failed") ? "" : key, files, depends_on, results);
    context.notice(fmt::format("{}: {} took {:.1f} s", context.name, step,
                               std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()));
    return key;
}

void leave_out_step(const StepContext& context, const char* step) {
    if (!context.record.has(step)) return;
    std::vector<std::string> steps = later_steps(step);
    steps.emplace_back(step);
    context.record.drop(steps);
}

std::unique_ptr<LocalizationReader> open_step_table(const StepContext& context, const StepTable& table) {
    auto rows = std::make_unique<LocalizationReader>(context.record.path(table.file), context.warner(),
                                                     PieceOptions{.stop = &context.stop});
    if (rows->like().size() == 0)
        throw InputError(
            fmt::format("{} has no rows, so the run cannot continue: check camera, PSF and conditions in "
                        "recipe.toml, and at `preview`",
                        context.record.path(table.file).string()));
    return rows;
}

std::vector<std::string> table_files(const std::string& file) {
    std::vector<std::string> names;
    for (const std::filesystem::path& path : files_of_localizations(file)) names.push_back(path.string());
    return names;
}

void write_step_table(const StepContext& context, const std::string& file, TablePieces& table) {
    write_localizations(context.record.path(file), table);
}

void write_step_text(const StepContext& context, const std::string& file, const std::string& text) {
    std::error_code ignored;  // opening the file reports more detail
    std::filesystem::create_directories(context.record.path(file).parent_path(), ignored);
    AtomicFile out(context.record.path(file));
    out.write(text);
    out.commit();
}

}  // namespace glint
