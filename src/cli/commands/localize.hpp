// The flags and tasks of `glint localize`, shared by its source files.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/follow.hpp"
#include "cli/console.hpp"
#include "cli/flags/backend_flags.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/psf_flags.hpp"
#include "glint/localize.hpp"
#include "workflow/localize_setup.hpp"

namespace glint::cli {

struct LocalizeFlags : LocalizeSetup {  // options: roi_size, threshold, fit, threads, keep_failed, resume, overwrite
    std::vector<std::string> movies;
    std::string command = "localize";  ///< the command of these flags, for messages
    std::string out, summary;
    bool concat = false;
    FollowFlags follow;
    std::optional<std::int64_t> preview_frame;
    BackendFlags backend;
    ConsoleFlags console;
};

/// One output and its movies, more than one with --concat.
struct LocalizeTask {
    std::vector<std::string> movies;
    std::filesystem::path out;
};

/// Opens the movie of a task. All options are set except `stop` and `progress`.
OpenedTask open_task(const LocalizeTask& task, const LocalizeFlags& flags, Console& console);

/// Localizes an opened task into a file; the fields that it adds to `more` are printed with --json.
using LocalizeTaskBy = std::function<LocalizeResult(const LocalizeTask& task, OpenedTask& opened, Console& console,
                                                    nlohmann::ordered_json& more)>;

/// Adds the subcommand, with all flags but without a footer. `flags` must outlive it.
CLI::App* add_localize_flags(CLI::App& program, LocalizeFlags& flags);
/// Runs all tasks of the command line, one after the other. Returns the exit code.
int localize_all(const LocalizeFlags& flags, const LocalizeTaskBy& localize_task);

/// Returns the camera of a movie. Throws OptionError if options are missing, also those of the PSF: it names all.
CameraFacts complete_facts(const LocalizeFlags& flags, const MovieInfo& movie);
/// Throws OptionError for a flag that would be ignored because of the other flags.
void require_used_flags(const LocalizeFlags& flags);
/// Opens the movies as one, with the channel and planes that the flags choose.
std::unique_ptr<Movie> open_movies(const std::vector<std::string>& paths, const LocalizeFlags& flags,
                                   std::optional<RegionOfFrames>* region = nullptr);
std::string make_example(const LocalizeFlags& flags);

/// Adds lines on spots that were found, fitted, left out and kept.
void add_counts(Summary& summary, const LocalizeResult& result, const LocalizeOptions& options);
std::string noise_check_text(double spread, double error, std::string_view where = "");
/// With --emitters auto, adds the estimates of the PSF from lone spots. `options` are those of the user, before
/// anything was estimated.
void add_lone_spots(Summary& summary, const LoneSpots& lone, const LocalizeOptions& options);

/// `--preview FRAME`: draws the frame with a circle around each detected spot, and a cross at each row that localizing
/// the movie would write for the frame. Returns the exit code.
int preview(const LocalizeFlags& flags);

/// Checks `--summary TABLE.csv`, a table with a row for each movie of a batch, before any work. Throws OptionError if:
/// - the name does not end in .csv;
/// - the file is also an input or another output;
/// - the file exists. --overwrite replaces it, and --resume replaces the table of an earlier run.
void check_summary_table(const LocalizeFlags& flags, const std::vector<LocalizeTask>& tasks);

/// Writes the table. `results` are the fields for --json of each task that was begun, in the order of `tasks`. Throws
/// OutputError.
void write_summary_table(const LocalizeFlags& flags, const std::vector<LocalizeTask>& tasks,
                         const std::vector<nlohmann::ordered_json>& results);

}  // namespace glint::cli
