// Runs all steps for a movie. Each step reads a file of an earlier step and writes its own file.
// SPDX-License-Identifier: MIT
#include "workflow/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "glint/drift.hpp"
#include "glint/drift_io.hpp"
#include "glint/error.hpp"
#include "glint/filter.hpp"
#include "glint/isa.hpp"
#include "glint/link.hpp"
#include "glint/localization_io.hpp"
#include "glint/movie_io.hpp"
#include "glint/picture_io.hpp"
#include "glint/render.hpp"
#include "glint/units.hpp"
#include "glint/version.hpp"
#include "pipeline/lone_spots.hpp"
#include "psf/psf_text.hpp"
#include "run/settings.hpp"
#include "workflow/check_recipe.hpp"
#include "workflow/step.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using Json = RunRecord::Json;

constexpr const char *localized = "1_localized.hdf5", *frames_of_localize = "localize frames";

std::string sections(const Recipe& recipe, std::initializer_list<std::string_view> names) {
    std::string text;
    for (const std::string_view name : names) text += section_text(recipe, name);
    return text;
}

/// Returns everything on which the localizations depend: sampled frames of the movie, and the bytes of files.
std::string localize_depends_on(const Recipe& recipe, const LocalizeSetup& setup, const CameraFacts& facts,
                                Movie& movie) {
    const MovieInfo& info = movie.info();
    std::string text = sections(recipe, {"movie", "camera", "psf", "localize"});
    text += fmt::format("movie: {}x{} px, {} frames, {}, content {}\n", info.width, info.height, info.frames,
                        info.planes, movie_content(movie));
    std::vector<fs::path> files = facts.files;
    for (const fs::path& file : files_of(setup.psf)) files.push_back(file);
    for (const fs::path& file : files) text += fmt::format("{}: {}\n", file.filename().string(), file_hash(file));
    return text;
}

Json localize_results(const LocalizeResult& result, const OpenedTask& opened) {
    Json json{{"frames", result.frames}};
    json.update(counts_json(result, opened.options));
    json["camera"] = camera_json(opened.facts), json["psf"] = psf_json(opened.options.psf);
    json["estimated"] = opened.options.estimated, json["roi_size"] = opened.options.roi_size;
    return json;
}

/// Returns the files that a stopped localization leaves beside the table.
std::vector<std::string> unfinished_files() {
    std::vector<std::string> files = table_files(partial_path(localized).string());
    files.push_back(journal_path(localized).string());
    return files;
}

/// Returns the results of a table that was complete when its run was killed.
Json results_of_finished(const StepContext& context, const OpenedTask& opened) {
    LocalizationReader table(context.record.path(localized), context.warner());
    return {{"frames", opened.movie->info().frames}, {"localizations", with_columns(table, {}).size()}};
}

OpenedTask open_task(const StepContext& context, const RunTask& task, const LocalizeSetup& given, const fs::path& out) {
    std::unique_ptr<Movie> movie = open_movie_of(task, given);
    RunMessages messages = context.options.messages;
    messages.warn = [&context](const std::string& warning) { context.warn(warning); };  // also into the record
    const LocalizeSetup setup = with_estimates(given, *movie, messages, &context.stop);
    CameraFacts facts = complete_facts(setup, movie->info(), task, context.options);
    OpenedTask opened = completed(std::move(movie), setup, std::move(facts), {out, partial_path(out)});
    opened.options.stop = &context.stop;
    opened.options.warn = [&context](const std::string& warning) { context.warn(warning); };
    return opened;
}

/// Throws if a different movie with the same name would replace the results of the first one. The same file may, even
/// if its content has changed.
void refuse_another_movie(const RunRecord& record, const Json& files, const std::string& content) {
    const Json before = record.json().value("movie", Json::object());
    if (before.empty() || before.value("content", "") == content || before.value("files", Json()) == files) return;
    throw OptionError(
        fmt::format("{} has the results of another movie of this name, {}: choose another folder, "
                    "or remove this one",
                    record.folder().string(), before["files"].at(0).get<std::string>()));
}

StepTable localize_step(const StepContext& context, const LocalizeSetup& given, const RunTask& task) {
    std::unique_ptr<Movie> movie = open_movie_of(task, given);
    const MovieInfo& info = movie->info();
    const CameraFacts known = complete_facts(given, info, task, context.options);
    check_recipe(context.recipe, given, info);
    Json files = Json::array();
    for (const fs::path& file : info.files) files.push_back(file.string());
    const std::string content = movie_content(*movie);
    refuse_another_movie(context.record, files, content);
    context.record.set("movie", {{"files", files},
                                 {"width", info.width},
                                 {"height", info.height},
                                 {"frames", info.frames},
                                 {"content", content}});
    const std::string depends_on = localize_depends_on(context.recipe, given, known, *movie);
    context.record.set("recipe", hash_text(recipe_text(context.recipe)));
    movie.reset();  // the step opens it again, if it runs
    const std::string same_bytes = hash_text(depends_on + version() + active_isa());
    const std::string key = do_step(context, "localize", depends_on, table_files(localized), [&] {
        const fs::path out = context.record.path(localized);
        LocalizeSetup setup = given;
        setup.options.resume = context.record.was_begun(frames_of_localize, same_bytes);
        // a table of an earlier recipe; the step's begin has checked that it belongs to a run
        setup.options.overwrite = true;
        if (!setup.options.resume) context.record.forget_begun(frames_of_localize);  // a journal of another recipe
        context.record.begin(frames_of_localize, same_bytes, unfinished_files(), {});
        OpenedTask opened = open_task(context, task, setup, out);
        if (is_already_localized(*opened.movie, opened.facts.camera, out, opened.options)) {
            for (const std::string& warning : opened.movie->info().warnings) context.warn(warning);
            return results_of_finished(context, opened);
        }
        opened.options.progress = context.progress("localize", "frames");
        const LocalizeResult result = localize(*opened.movie, opened.facts.camera, out, opened.options);
        if (context.options.messages.fitted) context.options.messages.fitted(result.fit);
        if (!result.complete) throw Cancelled("stopped while localizing");
        if (const std::string mistake = mistake_of(*opened.movie, opened.facts.camera, result, &context.stop);
            !mistake.empty())
            context.warn(fmt::format("{}: by its own noise, {}", context.name, mistake));
        return localize_results(result, opened);
    });
    context.record.forget_begun(
        frames_of_localize);  // may also belong to another recipe, whose table was already there
    return {localized, key};
}

/// Returns the filtered table; the same table if there are no conditions.
StepTable filter_step(const StepContext& context, const char* step, const std::vector<std::string>& conditions,
                      const std::string& file, const StepTable& from) {
    if (conditions.empty()) {
        leave_out_step(context, step);
        return from;
    }
    const std::string key =
        do_step(context, step, section_text(context.recipe, step) + from.key, table_files(file), [&] {
            const auto table = open_step_table(context, from);
            FilteredTable filtered(*table, conditions, &context.stop);
            write_step_table(context, file, filtered);
            const std::size_t before = filtered.rows_before(), left = filtered.rows();
            if (2 * left < before)
                context.warn(fmt::format("{}: the conditions of [{}] in the recipe leave {} of {} rows", context.name,
                                         step, with_commas(std::int64_t(left)), with_commas(std::int64_t(before))));
            Json clauses = Json::array();
            for (const FilterClause& clause : filtered.clauses())
                clauses.push_back({{"condition", clause.text}, {"fulfilled", clause.fulfilled}, {"left", clause.left}});
            return Json{{"rows_before", before}, {"rows", left}, {"clauses", clauses}};
        });
    return {file, key};
}

/// Returns the columns frame,x_nm,x_error_nm,y_nm,y_error_nm and, in 3D, z_nm,z_error_nm.
std::string drift_text(const Drift& drift) {
    const std::pair<const char*, const AxisDrift*> axes[] = {{"x", &drift.x}, {"y", &drift.y}, {"z", &drift.z}};
    std::string text = "frame";
    for (const auto& [name, axis] : axes)
        if (!axis->nm.empty()) text += fmt::format(",{0}_nm,{0}_error_nm", name);
    text += "\n";
    for (std::size_t frame = 0; frame < drift.x.nm.size(); ++frame) {
        text += fmt::format("{}", frame);
        for (const auto& [name, axis] : axes)
            if (!axis->nm.empty())
                text += fmt::format(",{:.4f},{}", axis->nm[frame],
                                    axis->error_nm.empty() ? "nan" : fmt::format("{:.4f}", axis->error_nm[frame]));
        text += "\n";
    }
    return text;
}

Json drift_results(const Drift& drift) {
    if (drift.refused) return {{"refused", drift.why}};
    const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
    const auto along_an_axis = [](const std::array<double, 3>& nm) {
        return std::sqrt(0.5 * (nm[0] * nm[0] + nm[1] * nm[1]));
    };
    return {{"drift_rms_nm", number(along_an_axis(drift.rms_100_nm))},
            {"drift_error_nm", number(along_an_axis(drift.error_100_nm))},
            {"drift_error_z_nm", drift.z.nm.empty() ? Json(nullptr) : number(drift.error_100_nm[2])},
            {"wrong_match", number(drift.wrong_match)},
            {"jumps", drift.jumps.size()},
            {"blinks", drift.blinks},
            {"beads", drift.used_beads()}};
}

/// Returns the table without drift; the same table if the drift is not to be estimated, or cannot be.
StepTable drift_step(const StepContext& context, const StepTable& from) {
    const std::string file = "3_corrected.hdf5", picasso = "3_drift.txt", curve = "figures/drift.csv";
    if (!context.recipe.drift.on) {
        leave_out_step(context, "drift");
        return from;
    }
    std::vector<std::string> files = table_files(file);
    files.insert(files.end(), {picasso, curve});
    const std::string key = do_step(context, "drift", section_text(context.recipe, "drift") + from.key, files, [&] {
        const auto table = open_step_table(context, from);
        DriftOptions options;
        options.beads = context.recipe.drift.beads ? Beads::find : Beads::none;
        options.stop = &context.stop;
        options.warn = [&](const std::string& warning) {
            context.warn(fmt::format("{}: drift: {}", context.name, warning));
        };
        options.progress = context.progress("drift", "steps");
        const Drift drift = estimate_drift(with_columns(*table, columns_of_positions), options);
        context.end_progress();
        const Json results = drift_results(drift);
        if (drift.refused) {
            context.warn(fmt::format("{}: drift is not corrected: {}", context.name, drift.why));
            std::error_code none;
            for (const std::string& name : files) fs::remove(context.record.path(name), none);
            return results;
        }
        const std::string history =
            fmt::format("Generated by: glint {} run, drift\n", version()) + drift_history(drift);
        ChangedTable corrected(*table, [&](const Localizations& piece, std::size_t) {
            Localizations out = piece;
            apply_drift(out, drift);
            out.history.push_back(history);
            return out;
        });
        write_step_text(context, curve, drift_text(drift));
        write_drift(context.record.path(picasso), drift, table->like().pixel_size_nm);
        write_step_table(context, file, corrected);
        return results;
    });
    return context.record.results("drift").contains("refused") ? from : StepTable{file, key};
}

/// Merges the rows of each blink.
StepTable link_step(const StepContext& context, const StepTable& from) {
    constexpr const char* file = "4_linked.hdf5";
    if (!context.recipe.link.on) {
        leave_out_step(context, "link");
        return from;
    }
    const std::string key =
        do_step(context, "link", section_text(context.recipe, "link") + from.key, table_files(file), [&] {
            const auto table = open_step_table(context, from);
            LinkOptions options;
            options.radius_sigma = context.recipe.link.radius_sigma.value_or(0);
            options.gap = int(context.recipe.link.gap.value_or(LinkOptions::auto_gap));
            options.stop = &context.stop;
            options.progress = context.progress("link", "frames");
            const Links links = link(with_columns(*table, columns_of_positions), options);
            context.end_progress();
            if (const std::string warning = chance_warning(links); !warning.empty())
                context.warn(fmt::format("{}: {}: give a smaller radius_sigma or gap of [link] in the recipe",
                                         context.name, warning));
            write_step_table(context, file, *merged_pieces(*table, links));
            const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
            return Json{{"rows_before", links.track.size()},
                        {"rows", links.tracks},
                        {"radius_nm", number(links.radius_nm)},
                        {"radius_sigma", links.radius_sigma},
                        {"gap", links.gap},
                        {"uses_z", links.uses_z},
                        {"links", links.links},
                        {"false_links", number(links.false_links)},
                        {"in_track_a_nm2", number(links.lateral.a_nm2)},
                        {"in_track_b", number(links.lateral.b)},
                        {"in_track_b_error", number(links.lateral.b_error)}};
        });
    return {file, key};
}

/// Returns the ratio of the precision measured by NeNA to the precision stated in the rows; 1 if they agree.
double blur_factor(const StepContext& context) {
    const Json results = context.record.results("resolution");
    if (!context.recipe.render.blur.empty() || !results.is_object() || !results.contains("nena_of_stated")) return 1;
    return results["nena_of_stated"].get<double>();
}

void render_step(const StepContext& context, const StepTable& first, const StepTable& last,
                 const std::string& measured) {
    const std::string depends_on = section_text(context.recipe, "render") + first.key + last.key + measured;
    do_step(context, "render", depends_on, {"picture.png", "picture.tif", "picture_before.png"}, [&] {
        const auto before = open_step_table(context, first);
        RenderOptions options = render_options(context.recipe.render, before->like());
        options.blur_factor = blur_factor(context);
        if (options.blur_factor != 1)
            context.notice(
                fmt::format("{}: the pictures draw molecules {:.2g} times as wide as their rows state, since NeNA "
                            "measures such a precision ([render] "
                            "blur sets one width)",
                            context.name, options.blur_factor));
        write_png(context.record.path("picture_before.png"), render_rgb(*before, options));
        const auto table = open_step_table(context, last);
        write_png(context.record.path("picture.png"), render_rgb(*table, options));
        const Picture density = render(*table, options);
        write_float_tiff(context.record.path("picture.tif"), density);
        return Json{{"rows", table->rows()},
                    {"width", density.width},
                    {"height", density.height},
                    {"picture_pixel_nm", density.pixel_size_nm},
                    {"blur_factor", options.blur_factor}};
    });
}

}  // namespace

RenderOptions render_options(const Recipe::Render& from, const Localizations& table) {
    constexpr double default_nm = 10, min_px = 1000, max_px = 10000;
    const double edge_nm = std::max(table.width, table.height) * table.pixel_size_nm;
    RenderOptions options;
    options.colormap = from.colormap, options.saturate_percent = from.saturate,
    options.color = from.color_z ? RenderColor::z : RenderColor::density;
    if (!from.picture_pixel.empty())
        options.picture_pixel_nm = to_nm(parse_length(from.picture_pixel, "picture_pixel"), table.pixel_size_nm);
    else if (edge_nm > default_nm * max_px)
        options.picture_pixel_nm = std::ceil(edge_nm / max_px);
    else
        options.picture_pixel_nm = std::min(default_nm, edge_nm / min_px);
    if (!from.blur.empty()) options.blur_nm = to_nm(parse_length(from.blur, "blur"), table.pixel_size_nm);
    return options;
}

LocalizeSetup localize_setup(const Recipe& recipe, const RunOptions& of_run) {
    LocalizeSetup setup{recipe.movie, recipe.frames, recipe.camera, recipe.psf, {}};
    LocalizeOptions& options = setup.options;
    static_cast<Placement&>(options) = of_run;
    static_cast<Callbacks&>(options) = of_run;
    options.progress = {};  // the progress callback counts movies
    options.roi_size = int(recipe.localize.roi_size.value_or(0));
    options.threshold = recipe.localize.threshold.value_or(0);
    options.fit.psf_misfit = recipe.localize.psf_misfit.value_or(learn_misfit);
    options.fit.emitters = recipe.localize.emitters == "1" ? 1 : any_emitters;
    options.neighbor_rounds = int(recipe.localize.neighbor_rounds);
    options.fit.max_iterations = int(recipe.localize.max_iterations);
    options.fit.tolerance = decltype(options.fit.tolerance)(recipe.localize.tolerance);
    return setup;
}

std::unique_ptr<Movie> open_movie_of(const RunTask& task, const LocalizeSetup& setup) {
    return open_joined_movie({task.movies.begin(), task.movies.end()}, setup.choice);
}

CameraFacts complete_facts(const LocalizeSetup& setup, const MovieInfo& movie, const RunTask& task,
                           const RunOptions& options) {
    MissingOptions missing;
    CameraFacts facts = complete_facts(setup, movie, missing);
    try {
        missing.require(movie.name, options.command, advice_on(missing, task.movies.front()));
    } catch (const OptionError&) {
        if (options.messages.warn)
            for (const std::string& warning : movie.warnings) options.messages.warn(warning);  // perhaps why
        throw;
    }
    return facts;
}

void run_steps(const RunTask& task, const Recipe& recipe, const RunOptions& options, RunRecord& record) {
    const StopFlag never{false};
    std::vector<std::string> warnings;
    const StepContext context{
        recipe, record, options, options.stop ? *options.stop : never, task.folder.filename().string(), warnings};
    const StepTable first = localize_step(context, localize_setup(recipe, options), task);
    StepTable table = filter_step(context, "filter", recipe.filter, "2_filtered.hdf5", first);
    const StepTable corrected = drift_step(context, table);
    table = corrected;
    const std::string measured = measure(context, table);
    table = link_step(context, table);
    table = filter_step(context, "molecules", recipe.filter_molecules, "5_molecules.hdf5", table);
    render_step(context, first, table, measured);
    draw_figures(context, corrected.key + measured);
}

}  // namespace glint
