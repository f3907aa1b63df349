// Localizes movies that are still being written, from files or a pipe.
// SPDX-License-Identifier: MIT
#include "cli/commands/follow.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/print.hpp"
#include "cli/process.hpp"
#include "glint/error.hpp"
#include "glint/movie_io.hpp"
#include "io/metadata_values.hpp"

namespace glint::cli {
namespace {

PixelType pixel_type(const std::string& word) {
    if (word == "uint8") return PixelType::uint8;
    if (word == "uint16") return PixelType::uint16;
    if (word == "float32") return PixelType::float32;
    throw OptionError(fmt::format("--stdin: {} is no pixel type: give uint8, uint16 or float32", word));
}

int edge(const std::string& size, std::size_t begin, std::size_t end) {
    int px = 0;
    const auto [rest, error] = std::from_chars(size.data() + begin, size.data() + end, px);
    if (error != std::errc() || rest != size.data() + end || px < 1 || px > largest_edge_px)
        throw OptionError(
            fmt::format("--stdin {}: give width x height in px, 1 to {} each, as in --stdin 512x512 uint16", size,
                        largest_edge_px));
    return px;
}

std::unique_ptr<Movie> open_pipe(const std::vector<std::string>& frames) {
    if (::isatty(STDIN_FILENO))
        throw OptionError(
            "--stdin: stdin is a terminal: send frames through a pipe, as in PROGRAM | glint localize --stdin ...");
    const std::string& size = frames.at(0);
    const std::size_t by = std::min(size.find('x'), size.size());
    const int width = edge(size, 0, by), height = edge(size, std::min(by + 1, size.size()), size.size());
    return pipe_movie(STDIN_FILENO, width, height, pixel_type(frames.at(1)));
}

/// Returns the status as JSON. NaN becomes null, since JSON has no NaN.
nlohmann::ordered_json line_of(const FollowStatus& status) {
    const auto number = [](double value) { return std::isfinite(value) ? nlohmann::ordered_json(value) : nullptr; };
    return {{"frame", status.frames},
            {"frames_there", status.complete_frames},
            {"lag_s", status.lag_s},
            {"localizations", status.localizations},
            {"spots_per_frame", number(status.spots_per_frame)},
            {"density_per_um2", number(status.density_per_um2)},
            {"precision_nm", number(status.precision_nm)},
            {"photons", number(status.photons)},
            {"background", number(status.background)},
            {"noise_check", number(status.noise_check)}};
}

}  // namespace

void add_follow_flags(CLI::App& app, FollowFlags& flags) {
    app.add_flag("--follow", flags.follow, "Localize the movie while it is written; prints a line of JSON each second")
        ->group("Movie");
    app.add_option("--follow-timeout", flags.timeout_s, "Seconds without a new frame after which a followed movie ends")
        ->check(CLI::Range(1.0, 1e6))
        ->needs("--follow")
        ->capture_default_str()
        ->group("Movie");
    app.add_option("--stdin", flags.stdin_frames,
                   "Frames from a pipe, without a header: their size and type, as in --stdin 512x512 uint16")
        ->expected(2)
        ->type_name("WIDTHxHEIGHT TYPE")
        ->group("Movie");
}

void require_suited(const FollowFlags& flags, const std::string& unsuited) {
    if (flags.follow && !flags.stdin_frames.empty())
        throw OptionError("--stdin reads until the pipe is closed: leave out --follow");
    if (unsuited.empty()) return;
    throw OptionError(
        fmt::format("{} cannot be combined with {}: leave one out", unsuited, flags.follow ? "--follow" : "--stdin"));
}

void take_stdin_as_movie(const FollowFlags& flags, std::vector<std::string>& movies) {
    if (flags.stdin_frames.empty() && std::find(movies.begin(), movies.end(), "-") != movies.end())
        throw OptionError(
            "-: frames from a pipe have no header: instead of -, give their size and type, as in --stdin 512x512 "
            "uint16");
    if (flags.stdin_frames.empty()) return;
    if (!movies.empty())
        throw OptionError(fmt::format("--stdin reads its frames from a pipe: leave out {}", movies.front()));
    movies = {"stdin"};
}

std::string as_given(const FollowFlags& flags) {
    if (!flags.stdin_frames.empty())
        return fmt::format(" --stdin {} {}", flags.stdin_frames.at(0), flags.stdin_frames.at(1));
    return flags.follow ? " --follow" : "";
}

std::unique_ptr<Movie> open_growing(const FollowFlags& flags, const std::vector<std::string>& movies,
                                    const MovieChoice& choice) {
    if (!flags.stdin_frames.empty()) return open_pipe(flags.stdin_frames);
    return open_growing_movie({movies.begin(), movies.end()}, choice, flags.timeout_s, &stop_on_signals());
}

LocalizeResult follow_and_report(GrowingMovie& movie, const Camera& camera, const std::filesystem::path& out,
                                 const LocalizeOptions& options, const FollowFlags& flags, Console& console,
                                 nlohmann::ordered_json& more, std::function<void()> check_ended) {
    FollowOptions follow_options;
    follow_options.check_ended = std::move(check_ended);
    more["once_more"] = false;
    // A pipe ends when it is closed, however long its writer takes.
    follow_options.timeout_s = flags.stdin_frames.empty() ? flags.timeout_s : std::numeric_limits<double>::infinity();
    follow_options.report = [](const FollowStatus& status) { put("{}\n", line_of(status).dump()); };
    follow_options.before_rerun = [&] {
        more["once_more"] = true;
        console.notice(
            fmt::format("{}: has ended; its frames are localized once more, with the PSF estimated from the whole "
                        "movie (docs: \"Movies that are still being written\")",
                        movie.info().name));
    };
    const bool pipe = !flags.stdin_frames.empty();
    if (pipe && options.fit.emitters == any_emitters && options.fit.psf_misfit == learn_misfit)
        console.notice(fmt::format(
            "stdin: the PSF misfit has its default value {}, since a pipe cannot be read twice; --psf-misfit sets it",
            default_misfit));
    return follow(movie, camera, out, options, follow_options);
}

}  // namespace glint::cli
