// One step of `glint run`: runs if its record, its inputs or its part of the recipe differ.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/localization_reader.hpp"
#include "glint/progress.hpp"
#include "glint/render.hpp"
#include "workflow/recipe.hpp"
#include "workflow/record.hpp"

namespace glint {

/// The data that all steps of a movie share.
struct StepContext {
    const Recipe& recipe;
    RunRecord& record;
    const RunOptions& options;
    const StopFlag& stop;
    std::string name;                    ///< of the movie, for messages
    std::vector<std::string>& warnings;  ///< of the running step, for its results

    /// Warns, and stores the warning with the step's results.
    void warn(const std::string& message) const;
    void notice(const std::string& message) const;
    Progress progress(const std::string& part, const std::string& unit) const;
    void end_progress() const;
    Warn warner() const;
};

/// A file of the movie's folder, and the key of the step that wrote it, which identifies its content.
struct StepTable {
    std::string file, key;
};

/// Calls `work`, which writes `files` and returns the results, unless the step was finished with the same key. Before
/// that, removes the results of all steps that depend on this step. Warnings join the results, as "warnings". Returns
/// the key, a hash of `depends_on`. If the results contain the field "failed", the next run repeats the step. Throws
/// Cancelled before work after a stop.
std::string do_step(const StepContext& context, const char* step, const std::string& depends_on,
                    const std::vector<std::string>& files, const std::function<RunRecord::Json()>& work);

/// For a disabled step: removes its earlier files, and the results of the steps that depend on it.
void leave_out_step(const StepContext& context, const char* step);

/// Throws InputError if the table has no rows.
std::unique_ptr<LocalizationReader> open_step_table(const StepContext& context, const StepTable& table);
/// Returns the table's file and its description.
std::vector<std::string> table_files(const std::string& file);
void write_step_table(const StepContext& context, const std::string& file, TablePieces& table);
void write_step_text(const StepContext& context, const std::string& file, const std::string& text);

/// Returns the options for drawing the table. Throws OptionError.
RenderOptions render_options(const Recipe::Render& from, const Localizations& table);

/// Writes statistics of a table before linking: `figures/photons.csv`, `precision.csv`, `counts.csv`; NeNA and FRC.
std::string measure(const StepContext& context, const StepTable& table);
/// Draws the tables in figures/. `keys`: keys of the steps that wrote them.
void draw_figures(const StepContext& context, const std::string& keys);

}  // namespace glint
