// `glint localize`: turns movies into localizations.
// SPDX-License-Identifier: MIT
#include "cli/commands/localize.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "cli/command.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/info_json.hpp"
#include "cli/print.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "cli/spelling.hpp"
#include "detect/detect_setup.hpp"
#include "fit/fit_setup.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/movie_formats.hpp"
#include "glint/movie_io.hpp"
#include "io/movie_files.hpp"
#include "psf/psf_text.hpp"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* localize_footer = R"(
Examples:
  glint localize movie.tif -o locs.hdf5 --sigma 130nm --pixel-size 100nm --offset 100 --gain 0.5
  glint localize movie.tif -o spots.png --preview 0 --sigma 130nm --camera camera.toml
  glint localize day1/*.tif -o results --sigma 130nm --camera camera.toml --resume
  glint localize movie.tif -o locs.csv --calibration cal.toml --camera camera.toml
  glint localize movie.tif -o locs.hdf5 --sigma 130nm --camera camera.toml --follow

Movies: {}

The name of the output decides its format: {written}.

Ctrl-C keeps what is finished: NAME.partial.EXT is a valid file. --resume continues, and writes the
same bytes as a run without a stop.

The default ROI is 2 ceil(2.3 sigma) + 1 px, and at least 7. With --calibration it is the window of
the calibration, since z is wrong in any other window. In crowded frames a smaller ROI, such as 5,
finds more molecules. Lone spots with free widths need 11 or more.

Exit codes: 0 done, 1 internal error, 2 wrong options, 3 bad input, 4 output failed, 5 no usable GPU
(with --backend gpu), 7 not enough memory, 130 interrupted.)";

/// Returns the names of all formats, with line breaks.
std::string formats_in_lines() {
    constexpr std::size_t columns = 92;
    std::string lines, names = names_of_movie_formats() + ".";
    for (std::size_t at = 0; at < names.size();) {
        std::size_t end = names.size();
        if (end - at > columns) end = names.rfind(", ", at + columns) + 2;
        lines += (at == 0 ? "" : "\n") + names.substr(at, end - at - (end < names.size() ? 1 : 0));
        at = end;
    }
    return lines;
}

bool names_a_file(const fs::path& out) {
    const std::vector<std::string>& endings = table_endings();
    return std::find(endings.begin(), endings.end(), lower_extension(out)) != endings.end();
}

fs::path output_in(const fs::path& folder, const std::string& movie) {
    const fs::path path = movie.ends_with('/') ? fs::path(movie).parent_path() : fs::path(movie);
    std::error_code ignored;
    std::string stem = fs::is_directory(path, ignored) ? path.filename() : path.stem();
    if (stem.ends_with(".ome")) stem.resize(stem.size() - 4);
    return folder / (stem + ".hdf5");
}

void make_folder(const fs::path& folder) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed)
        throw OutputError(
            fmt::format("cannot create the folder {}: {}; choose another with -o", folder.string(), failed.message()));
}

std::vector<LocalizeTask> tasks_in_folder(const LocalizeFlags& flags) {
    std::map<fs::path, std::string> taken;
    std::vector<LocalizeTask> tasks;
    for (const fs::path& first : without_continuations({flags.movies.begin(), flags.movies.end()})) {
        const std::string movie = first.string();
        const fs::path out = output_in(flags.out, movie);
        const auto [entry, is_new] = taken.emplace(out, movie);
        if (!is_new)
            throw OptionError(fmt::format("{} and {} would both be written to {}: localize them into different folders",
                                          entry->second, movie, out.string()));
        tasks.push_back({{movie}, out});
    }
    make_folder(flags.out);
    return tasks;
}

std::vector<LocalizeTask> plan(const LocalizeFlags& flags) {
    std::error_code ignored;
    const bool folder = fs::is_directory(flags.out, ignored) || !fs::path(flags.out).has_extension();
    const bool several = flags.movies.size() > 1 && !flags.concat;
    if (several && !folder && names_a_file(flags.out))
        throw OptionError(
            fmt::format("{} movies cannot be written to one file {}: give a folder with -o, or --concat if they are "
                        "one movie in several files",
                        flags.movies.size(), flags.out));
    if (several || (folder && !flags.concat)) return tasks_in_folder(flags);
    if (folder) make_folder(flags.out);
    return {{flags.movies, folder ? output_in(flags.out, flags.movies.front()) : fs::path(flags.out)}};
}

/// Checks all outputs before the first frame of the first movie.
void check_outputs_of(const std::vector<LocalizeTask>& tasks, const LocalizeFlags& flags) {
    const Paths movies(flags.movies.begin(), flags.movies.end());  // also those of other tasks
    // With --resume, some outputs may be complete: each task checks later whether its output may exist.
    const bool may_exist = flags.options.overwrite || flags.options.resume;
    for (const LocalizeTask& task : tasks) {
        check_localizations_output(task.out, if_exists(may_exist), movies);
        check_localizations_output(partial_path(task.out), IfExists::replace, movies);
    }
    check_summary_table(flags, tasks);
}

void tell_of_continuations(const LocalizeFlags& flags, const std::vector<LocalizeTask>& tasks, Console& console) {
    std::set<std::string> firsts;
    for (const LocalizeTask& task : tasks) firsts.insert(task.movies.begin(), task.movies.end());
    for (const std::string& movie : flags.movies)
        if (!firsts.contains(movie))
            console.notice(fmt::format("{} continues another of the movies, and is localized with it", movie));
}

nlohmann::ordered_json as_json(const LocalizeResult& result, const LocalizeTask& task, const LocalizeOptions& options,
                               const CameraFacts& facts) {
    const double computed = double(result.frames - result.resumed_frames);
    nlohmann::ordered_json json{{"movies", task.movies},
                                {"output", result.written.string()},
                                {"complete", result.complete},
                                {"frames", result.frames},
                                {"resumed_frames", result.resumed_frames}};
    json.update(counts_json(result, options));
    json.update({{"hidden_rows", result.hidden_rows},
                 {"seconds", result.seconds},
                 {"frames_per_s", result.seconds > 0 ? computed / result.seconds : 0},
                 {"pixel_size_nm", options.pixel_size_nm},
                 {"psf", std::string(to_name(options.psf.model))},
                 {"psf_values", psf_json(options.psf)},
                 {"camera", camera_json(facts)},
                 {"estimated", options.estimated},
                 {"threshold", threshold_of(facts.camera.excess_noise(), {.threshold = options.threshold})},
                 {"roi_size", options.roi_size},
                 {"fit", fit_json(result.fit)}});
    return json;
}

void print_summary(const LocalizeResult& result, const LocalizeTask& task, const LocalizeOptions& options) {
    const std::int64_t computed = result.frames - result.resumed_frames;
    Summary summary;
    summary.add("movie", task.movies.front() +
                             (task.movies.size() > 1 ? fmt::format(" and {} more", task.movies.size() - 1) : ""));
    summary.add("frames", with_commas(result.frames) +
                              (result.resumed_frames > 0
                                   ? fmt::format(" ({} from the journal)", with_commas(result.resumed_frames))
                                   : ""));
    add_counts(summary, result, options);
    summary.add("noise check", noise_check_text(result.noise_check, result.noise_check_error));
    if (!options.estimated.empty()) summary.add("estimated", options.estimated);
    add_lone_spots(summary, result.lone, options);
    const std::string device = result.fit.device.empty() ? "" : ", " + result.fit.device;  // if anything was fitted
    summary.add("time", fmt::format("{:.1f} s, {} frames/s, {} threads{}", result.seconds,
                                    with_commas(std::int64_t(double(computed) / std::max(result.seconds, 1e-9))),
                                    result.fit.threads, device));
    add_gpu_lines(summary, result.fit);
    add_hidden_rows(summary, result.hidden_rows);
    if (!result.written.empty()) summary.add(result.complete ? "written" : "partial", result.written.string());
    summary.print();
}

/// Returns the first flag that cannot be combined with a movie that is still being written; empty if there is none.
std::string unsuited_to_growing(const LocalizeFlags& flags) {
    const bool pipe = !flags.follow.stdin_frames.empty();
    if (flags.preview_frame) return "--preview";
    if (!flags.frames.empty()) return "--frames";
    if (pipe && flags.options.resume) return "--resume";
    if (!pipe && flags.movies.size() > 1 && !flags.concat) return fmt::format("{}, a second movie,", flags.movies[1]);
    return "";
}

std::string frames_text(const MovieInfo& info) {
    return info.frames == unknown_frames ? "being written" : with_commas(info.frames) + " frames";
}

/// Runs a task. Returns its fields for --json. `complete` is false after a stop.
nlohmann::ordered_json run_task(const LocalizeTask& task, const LocalizeFlags& flags,
                                const LocalizeTaskBy& localize_task, Console& console, bool& complete) {
    OpenedTask opened = open_task(task, flags, console);
    const MovieInfo& info = opened.movie->info();
    if (is_already_localized(*opened.movie, opened.facts.camera, task.out, opened.options)) {
        console.notice(fmt::format("{} is already finished: nothing to resume", task.out.string()));
        return {{"movies", task.movies}, {"output", task.out.string()}, {"complete", true}, {"skipped", true}};
    }
    opened.options.stop = &stop_on_signals();
    console.notice(fmt::format("{}: {}x{} px, {}{}; {}; ROI {} px", info.name, info.width, info.height,
                               info.planes.empty() ? "" : info.planes + ", ", frames_text(info), opened.facts.sources,
                               opened.options.roi_size));
    opened.options.progress =
        console.progress(info.name, "frames");  // for a growing movie, when it is localized once more
    nlohmann::ordered_json more;
    const LocalizeResult result = localize_task(task, opened, console, more);
    tell_backend(flags.backend, result.fit, console);
    nlohmann::ordered_json json = as_json(result, task, opened.options, opened.facts);
    const bool pipe = !flags.follow.stdin_frames.empty();  // its frames cannot be read again
    json["likeliest_mistake"] =
        pipe ? "" : in_flags(mistake_of(*opened.movie, opened.facts.camera, result, &stop_on_signals()));
    if (const std::string mistake = json["likeliest_mistake"]; !mistake.empty())
        console.warn(fmt::format("{}: by its own noise, {}", info.name, mistake));
    if (!more.is_null()) json.update(more);
    if (!flags.console.json && !flags.follow.growing()) print_summary(result, task, opened.options);
    complete = result.complete;
    return json;
}

/// Returns the fields of a task that failed. Its failure does not stop the other tasks.
nlohmann::ordered_json failed_task(const LocalizeTask& task, const Failure& failure) {
    return {{"movies", task.movies}, {"output", task.out.string()}, {"complete", false}, {"error", as_json(failure)}};
}

/// Lists the failed movies again at the end: their errors were printed earlier, perhaps far above.
void tell_failures(const std::vector<nlohmann::ordered_json>& results) {
    std::size_t failed = 0;
    std::string list;
    for (const nlohmann::ordered_json& result : results) {
        if (!result.contains("error")) continue;
        ++failed;
        list += line_of_failed(result["movies"][0], result["error"]["message"]);
    }
    if (failed > 0) tell("glint: {} of {} movies failed:\n{}", failed, results.size(), list);
}

/// Explains after a stop how to continue.
std::string stop_text(const std::vector<nlohmann::ordered_json>& results) {
    const nlohmann::ordered_json& last = results.back();
    const bool ended = last.value("once_more", false);
    const std::string again =
        ended ? "the same command without --follow and with --resume" : "the same command with --resume";
    if (last.value("frames", std::int64_t(0)) == 0)
        return fmt::format("glint: stopped before any frame of {} was finished: continue with {}\n",
                           last["movies"][0].get<std::string>(), again);
    return fmt::format("glint: stopped; finished frames are kept: continue with {}\n", again);
}

int finish(const std::vector<nlohmann::ordered_json>& results, bool several, int code, const LocalizeFlags& flags) {
    if (flags.follow.growing())  // the last of its lines
        put("{}\n", results.front().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    else if (flags.console.json)
        print_json(several ? nlohmann::ordered_json(results) : results.front());
    tell_failures(results);
    if (code == exit_interrupted) tell("{}", stop_text(results));
    return code;
}

void add_run_flags(CLI::App& app, LocalizeFlags& flags) {
    LocalizeOptions& options = flags.options;
    app.add_option("--roi,--roi-size", options.roi_size,
                   "Edge of the fitted window, px, 3 to 31 (default: from the PSF, see below)")
        ->check(CLI::Range(min_roi_size, max_roi_size))
        ->group("Spots");
    app.add_option("--threshold", options.threshold,
                   "Detection threshold, standard deviations of the noise (default: 5; EMCCD 6)")
        ->check(CLI::Range(1.0, 1000.0))
        ->group("Spots");
    app.add_option(
           "--neighbors,--neighbor-rounds", options.neighbor_rounds,
           "With --emitters 1: number of rounds in which overlapping spots are fitted again, with their neighbours "
           "known; 0: none")
        ->capture_default_str()
        ->group("Fit");
    offer_words(
        app.add_option("--emitters", options.fit.emitters,
                       "auto: fit overlapping molecules together, and search for more between them; 1: one molecule "
                       "per window")
            ->transform([](const std::string& text) {
                if (text != "1" && text != "auto") throw CLI::ValidationError("give 1 or auto, not " + text);
                return text == "1" ? text : std::to_string(any_emitters);
            })
            ->default_str("auto")
            ->group("Fit"),
        {"auto", "1"});
    app.add_option(
           "--psf-misfit", options.fit.psf_misfit,
           "With --emitters auto: how much the PSF may differ from the model, as a fraction of its width, 0 to 1 "
           "(default: from lone spots of the movie)")
        ->check(CLI::Range(0.0, 1.0))
        ->group("Fit");
    app.add_flag("--keep-failed", options.keep_failed,
                 "Keep every fit, also if it did not converge (column status), left its spot, or is a duplicate")
        ->group("Fit");
    app.add_flag(
           "--keep-defective", options.keep_defective,
           "Use pixels that are defective by the movie itself, and keep hits of single pixels (default: left out)")
        ->group("Spots");
    app.add_option("--frames", flags.frames, "BEGIN:END, frames from 0, END excluded: 0:1000, 500:")->group("Run");
    app.add_option("--threads", options.threads, "Threads (default: GLINT_THREADS, or all that may be used)")
        ->check(CLI::Range(1, 4096))
        ->group("Run");
    offer_files(
        app.add_option(
               "--summary", flags.summary,
               "Also write a table (.csv) with a row for each movie: frames, spots, localizations, noise check, status")
            ->group("Run"),
        {".csv"});
    app.add_flag("--resume", options.resume, "Continue a stopped run with the same input and options")->group("Run");
    app.add_flag("--overwrite", options.overwrite,
                 "Replace existing output, and discard the journal of an unfinished run")
        ->group("Run");
    app.add_option(
           "--preview", flags.preview_frame,
           "Only draw this frame (from 0) into the PNG of -o: a circle around each spot and, with --emitters auto, "
           "a cross at each molecule")
        ->group("Run");
}

}  // namespace

OpenedTask open_task(const LocalizeTask& task, const LocalizeFlags& given, Console& console) {
    std::optional<RegionOfFrames> region;
    std::unique_ptr<Movie> movie = open_movies(task.movies, given, &region);
    try {
        complete_facts(given, movie->info());  // before estimates, which can take long
    } catch (const OptionError&) {
        for (const std::string& warning : movie->info().warnings)
            console.warn(warning);  // may explain why a value is missing
        throw;
    }
    LocalizeFlags flags = given;
    static_cast<LocalizeSetup&>(flags) = with_estimates(given, *movie, console.messages(), &stop_on_signals());
    CameraFacts facts = complete_facts(flags, movie->info());
    OpenedTask opened = completed(std::move(movie), flags, std::move(facts), {task.out, partial_path(task.out)});
    opened.options.region = region;
    opened.options.warn = console.warner();
    use_backend(flags.backend, opened.options, opened.options, console);
    // A few cores suffice for the frame rate of a camera: no GPU is held while waiting for frames, unless the user asks
    // for one.
    if (flags.follow.growing() && compares_backends(opened.options)) opened.options.backend = Backend::cpu;
    return opened;
}

CameraFacts complete_facts(const LocalizeFlags& flags, const MovieInfo& movie) {
    MissingOptions missing;
    const bool preview = flags.preview_frame.has_value();
    if (flags.movies.empty()) missing.add("a movie", "", "");
    if (flags.out.empty() && !preview) missing.add("output (-o)", "", "");
    // The preview is in pixels. With a sigma in pixels it needs no pixel size.
    CameraFacts facts = complete_facts(flags, movie, missing, !(preview && flags.psf.sigma.ends_with("px")));
    const std::string advice =
        flags.follow.growing() ? "" : advice_on(missing, flags.movies.empty() ? "movie.tif" : flags.movies.front());
    missing.require(movie.name.empty() ? "glint " + flags.command : movie.name, make_example(flags), advice);
    return facts;
}

void require_used_flags(const LocalizeFlags& flags) {
    require_used(flags.options);
    const auto refuse = [](bool changes_nothing, const char* flag) {
        if (changes_nothing)
            throw OptionError(fmt::format("{} changes nothing with --preview: leave one of them out", flag));
    };
    refuse(flags.preview_frame && !flags.summary.empty(), "--summary");
    refuse(flags.preview_frame && flags.options.resume, "--resume");
}

int localize_all(const LocalizeFlags& flags, const LocalizeTaskBy& localize_task) {
    stop_on_signals();  // before movies are opened, which can take long
    require_used_flags(flags);
    if (flags.follow.growing()) require_suited(flags.follow, unsuited_to_growing(flags));
    if (flags.preview_frame && !flags.movies.empty()) return preview(flags);
    if (flags.movies.empty() || flags.out.empty())  // throws an error that names everything that is missing
        complete_facts(flags, flags.movies.empty() || flags.follow.growing()
                                  ? MovieInfo()
                                  : open_movies({flags.movies.front()}, flags)->info());
    const std::vector<LocalizeTask> tasks = plan(flags);
    check_outputs_of(tasks, flags);
    Console console(flags.console);
    tell_of_continuations(flags, tasks, console);
    std::vector<nlohmann::ordered_json> results;
    int code = exit_ok;
    for (const LocalizeTask& task : tasks) {
        bool complete = true;
        try {
            results.push_back(run_task(task, flags, localize_task, console, complete));
        } catch (const Cancelled&) {
            write_summary_table(flags, tasks, results);
            throw;
        } catch (const std::exception&) {
            const Failure failure = failure_of(std::current_exception());
            results.push_back(failed_task(task, failure));
            if (tasks.size() == 1) {
                write_summary_table(flags, tasks, results);
                throw;
            }
            console.say("glint: " + failure.message);
            if (code == exit_ok) code = failure.exit_code;
        }
        if (!complete) code = exit_interrupted;
        if (!complete) break;
    }
    write_summary_table(flags, tasks, results);
    return finish(results, tasks.size() > 1, code, flags);
}

std::unique_ptr<Movie> open_movies(const std::vector<std::string>& paths, const LocalizeFlags& flags,
                                   std::optional<RegionOfFrames>* region) {
    auto movie = flags.follow.growing() ? open_growing(flags.follow, paths, flags.choice)
                                        : open_joined_movie({paths.begin(), paths.end()}, flags.choice);
    if (flags.camera.region.empty()) return movie;
    const PixelRegion part = parse_pixel_region(flags.camera.region);
    if (region) *region = {part, movie->info().width, movie->info().height};
    return crop_movie(std::move(movie), part);
}

std::string make_example(const LocalizeFlags& flags) {
    std::string text = "glint " + flags.command;
    text += as_given(flags.follow);
    if (flags.follow.stdin_frames.empty())
        for (const std::string& movie : flags.movies) text += " " + shell_file(movie);
    if (flags.movies.empty()) text += " movie.tif";
    if (!flags.out.empty() || !flags.preview_frame)
        text += " -o " + (flags.out.empty() ? "locs.hdf5" : shell_file(flags.out));
    if (flags.preview_frame) text += fmt::format(" --preview {}", *flags.preview_frame);
    if (flags.concat) text += " --concat";
    return text + as_given(flags.choice) + as_given(flags.psf) + as_given(flags.camera);
}

CLI::App* add_localize_flags(CLI::App& program, LocalizeFlags& flags) {
    CLI::App* app = program.add_subcommand("localize", "Turns movies into localizations");
    offer_files(app->add_option("movies", flags.movies, "Movies, at least one"), offered_movie_endings());
    offer_files(
        app->add_option("-o,--output", flags.out,
                        fmt::format("Output file ({}), or a folder: a name without an extension", written_tables())),
        table_endings());
    app->add_flag("--concat", flags.concat, "Treat the movies as one movie in several files");
    add_movie_flags(*app, flags.choice);
    add_region_flag(*app, flags.camera.region);
    add_psf_flags(*app, flags.psf);
    add_camera_flags(*app, flags.camera);
    allow_auto(*app);
    add_fit_flags(*app, flags.options.fit);
    add_backend_flags(*app, flags.backend);
    add_run_flags(*app, flags);
    add_console_flags(*app, flags.console);
    return app;
}

Command add_localize(CLI::App& program) {
    const auto flags = std::make_shared<LocalizeFlags>();
    CLI::App* app = add_localize_flags(program, *flags);
    std::string footer = localize_footer;
    footer.replace(footer.find("{}"), 2, formats_in_lines());
    app->footer(with_table_names(std::move(footer)));
    add_follow_flags(*app, flags->follow);
    return {app, [flags] {
                take_stdin_as_movie(flags->follow, flags->movies);
                return localize_all(
                    *flags, [flags](const LocalizeTask& task, OpenedTask& opened, Console& console, auto& more) {
                        const auto growing = dynamic_cast<GrowingMovie*>(opened.movie.get());
                        const Camera& camera = opened.facts.camera;
                        // Later files may contradict the metadata of the first file, as in a finished movie.
                        const auto check_ended = [&] { complete_facts(*flags, opened.movie->info()); };
                        return growing ? follow_and_report(*growing, camera, task.out, opened.options, flags->follow,
                                                           console, more, check_ended)
                                       : localize(*opened.movie, camera, task.out, opened.options);
                    });
            }};
}

}  // namespace glint::cli
