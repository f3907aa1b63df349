// The flags and tasks of `glint localize`, for its source files.
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
    std::string command = "localize";  ///< whose flags these are, for messages
    std::string out, summary;
    bool concat = false;
    FollowFlags follow;
    std::optional<std::int64_t> preview_frame;
    BackendFlags backend;
    ConsoleFlags console;
};

/// One output and the movies (more than one with --concat) that go into it.
struct LocalizeTask {
    std::vector<std::string> movies;
    std::filesystem::path out;
};

/// Complete, but for `stop` and `progress`.
OpenedTask open_task(const LocalizeTask& task, const LocalizeFlags& flags, Console& console);

/// Localizes an opened task into a file; the fields that it adds to `more` are printed with --json.
using LocalizeTaskBy = std::function<LocalizeResult(const LocalizeTask& task, OpenedTask& opened, Console& console,
                                                    nlohmann::ordered_json& more)>;

/// The subcommand, with all flags but no footer. `flags` must outlive it.
CLI::App* add_localize_flags(CLI::App& program, LocalizeFlags& flags);
/// Runs all tasks of the command line, one after the other. Returns the exit code.
int localize_all(const LocalizeFlags& flags, const LocalizeTaskBy& localize_task);

/// The camera of a movie. Throws OptionError that names all options that are missing, not the camera's alone.
CameraFacts complete_facts(const LocalizeFlags& flags, const MovieInfo& movie);
/// Throws OptionError for a flag that would be ignored beside the others.
void require_used_flags(const LocalizeFlags& flags);
/// The movies as one, with the channel and planes that the flags choose; and a command line that localizes them (completed in error messages).
std::unique_ptr<Movie> open_movies(const std::vector<std::string>& paths, const LocalizeFlags& flags,
                                   std::optional<RegionOfFrames>* region = nullptr);
std::string example_of(const LocalizeFlags& flags);

/// What was found, fitted, left out and kept, as lines of a summary.
void add_counts(Summary& summary, const LocalizeResult& result, const LocalizeOptions& options);
std::string noise_check_text(double spread, double error, std::string_view where = "");
/// Adds what lone spots say about the PSF, with --emitters auto. `options`: as asked for, before anything was learnt.
void add_lone_spots(Summary& summary, const LoneSpots& lone, const LocalizeOptions& options);

/// `--preview FRAME`: a picture of the frame with the spots that the detection finds circled, and a cross at each row that
/// localizing the movie would write for it.
int preview(const LocalizeFlags& flags);

/// `--summary TABLE.csv`, a row for each movie of a batch: before any work. Throws OptionError for a name that does not end in .csv, a file that is also read or written
/// otherwise, and one that exists: --overwrite replaces it, and --resume the table of an earlier run.
void check_summary_table(const LocalizeFlags& flags, const std::vector<LocalizeTask>& tasks);

/// `results`: the fields for --json of each task that was begun, in the order of `tasks`. Throws OutputError.
void write_summary_table(const LocalizeFlags& flags, const std::vector<LocalizeTask>& tasks,
                         const std::vector<nlohmann::ordered_json>& results);

}  // namespace glint::cli
