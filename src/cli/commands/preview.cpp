// `glint localize --preview FRAME`: draws the detected spots, and the molecules that a run would write.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "cli/command.hpp"
#include "cli/commands/localize.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/process.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "glint/picture_io.hpp"
#include "glint/render.hpp"
#include "io/movie_files.hpp"
#include "pipeline/lone_spots.hpp"
#include "run/run.hpp"

namespace glint::cli {
namespace {

constexpr double dark_share = 0.01, bright_share = 0.998;  // shown as black and as white
constexpr int wanted_edge_px = 1000;
constexpr std::uint8_t spot_rgb[3] = {255, 200, 0}, group_rgb[3] = {0, 220, 255}, text_rgb[3] = {255, 255, 255};
constexpr int line_px = 12;  // of the legend, before it is scaled

float quantile(std::vector<float> values, double share) {
    const auto at = values.begin() + std::ptrdiff_t(share * double(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

/// Returns the frame in gray, each pixel as a square of `scale` pixels. Missing pixels (NaN) are black.
RgbPicture gray_picture(const std::vector<float>& values, int width, int height, int scale) {
    std::vector<float> known;
    std::copy_if(values.begin(), values.end(), std::back_inserter(known),
                 [](float value) { return !std::isnan(value); });
    const float dark = known.empty() ? 0 : quantile(known, dark_share);
    const float range = known.empty() ? 1 : std::max(quantile(known, bright_share) - dark, 1e-6f);
    RgbPicture picture{width * scale, height * scale, 0, {}};
    picture.rgb.resize(std::size_t(picture.width) * picture.height * 3);
    for (int y = 0; y < picture.height; ++y)
        for (int x = 0; x < picture.width; ++x) {
            const float value = values[std::size_t(y / scale) * width + x / scale];
            const float shown = std::isnan(value) ? 0 : std::clamp((value - dark) / range, 0.0f, 1.0f);
            std::fill_n(picture.at(x, y), 3, std::uint8_t(255 * shown));
        }
    return picture;
}

/// Converts a position in the frame, px, to a position in the picture.
double drawn_at(double position, int scale) { return (position + 0.5) * scale - 0.5; }

void circle_spots(const Spots& spots, double radius_px, int scale, RgbPicture& picture) {
    for (std::size_t k = 0; k < spots.count(); ++k)
        draw_circle(picture, drawn_at(spots.x[k], scale), drawn_at(spots.y[k], scale), radius_px * scale, spot_rgb);
}

bool is_of_group(const Localizations& found, std::size_t row) {
    return !found.emitters.empty() && found.emitters[row] > 0;
}

/// Draws a cross at each molecule. Molecules that were fitted together have another colour.
void cross_molecules(const Localizations& found, int scale, RgbPicture& picture) {
    for (std::size_t k = 0; k < found.size(); ++k)
        draw_cross(picture, drawn_at(found.x_px[k], scale), drawn_at(found.y_px[k], scale), 0.5 * scale,
                   is_of_group(found, k) ? group_rgb : spot_rgb);
}

/// Adds a line below the frame for each kind of mark.
void add_legend(std::size_t spots, std::size_t alone, std::size_t together, RgbPicture& picture) {
    const int scale = picture.width < 600 ? 1 : 2, line = line_px * scale, below = picture.height;
    picture.height += 3 * line;
    picture.rgb.resize(std::size_t(picture.width) * picture.height * 3, 0);
    const auto middle = [&](int row) { return below + row * line + line / 2; };
    const auto write = [&](int row, const std::string& text) {
        draw_text(picture, 2 * line, middle(row) - 7 * scale / 2, text, scale, text_rgb);
    };
    draw_circle(picture, line, middle(0), 0.4 * line, spot_rgb);
    write(0, fmt::format("spot found ({})", spots));
    draw_cross(picture, line, middle(1), 0.4 * line, spot_rgb);
    write(1, fmt::format("molecule, fitted alone ({})", alone));
    draw_cross(picture, line, middle(2), 0.4 * line, group_rgb);
    write(2, fmt::format("molecule, fitted with its neighbours ({})", together));
}

std::size_t count_of_groups(const Localizations& found) {
    std::size_t count = 0;
    for (std::size_t k = 0; k < found.size(); ++k) count += is_of_group(found, k);
    return count;
}

/// Draws the one frame of the job, with its spots and molecules.
RgbPicture draw(Movie& movie, const LocalizeJob& job, const Localizations& found) {
    const int width = job.camera.width(), height = job.camera.height();
    FrameBlock block;
    movie.read(job.frames.begin, 1, block);
    std::vector<float> photoelectrons(std::size_t(width) * height);
    job.camera.to_photoelectrons(block.frame(0), block.type, photoelectrons);
    Spots spots;
    const DetectOptions detect = detect_options(job);
    Detector(job.camera, detect).find(photoelectrons, spots);
    const int scale = std::clamp(wanted_edge_px / std::max(width, height), 1, 16);
    RgbPicture picture = gray_picture(photoelectrons, width, height, scale);
    circle_spots(spots, std::max(2.5 * detect.filter.width_px, 2.0), scale, picture);
    cross_molecules(found, scale, picture);
    const std::size_t together = count_of_groups(found);
    add_legend(spots.count(), found.size() - together, together, picture);
    return picture;
}

std::filesystem::path picture_path(const LocalizeFlags& flags) {
    if (flags.out.empty())
        return fmt::format("{}_frame{}.png", std::filesystem::path(flags.movies.front()).stem().string(),
                           *flags.preview_frame);
    if (lower_extension(flags.out) != ".png")
        throw OptionError(fmt::format("-o {}: --preview draws a PNG, to a name that ends in .png", flags.out));
    return flags.out;
}

/// Returns the movie to preview. Several movies are localized one by one, with estimates of their own: shows the first.
std::vector<std::string> movies_of(const LocalizeFlags& flags, Console& console) {
    if (flags.concat || flags.movies.size() == 1) return flags.movies;
    const std::vector<std::filesystem::path> movies = without_continuations({flags.movies.begin(), flags.movies.end()});
    if (movies.size() > 1)
        console.notice(
            fmt::format("--preview shows {}, the first of {} movies", movies.front().string(), movies.size()));
    return {movies.front().string()};
}

void require_frame(std::int64_t frame, const LocalizeFlags& flags, const FrameRange& range, const std::string& movie) {
    if (frame >= range.begin && frame < range.end) return;
    throw OptionError(flags.frames.empty()
                          ? fmt::format("--preview {}: {} has frames 0 to {}", frame, movie, range.end - 1)
                          : fmt::format("--preview {}: --frames {} selects the frames {} to {} of {}", frame,
                                        flags.frames, range.begin, range.end - 1, movie));
}

}  // namespace

int preview(const LocalizeFlags& given) {
    const std::filesystem::path out = picture_path(given);
    Console console(given.console);
    const std::unique_ptr<Movie> movie = open_movies(movies_of(given, console), given);
    complete_facts(given, movie->info());
    LocalizeFlags flags = given;
    static_cast<LocalizeSetup&>(flags) = with_estimates(given, *movie, console.messages(), &stop_on_signals());
    const MovieInfo& info = movie->info();
    const std::int64_t frame = *flags.preview_frame;
    const FrameRange range = parse_frame_range(flags.frames, info.frames);
    require_frame(frame, flags, range, info.name);
    const CameraFacts facts = complete_facts(flags, info);
    Paths inputs = info.files;
    inputs.insert(inputs.end(), facts.files.begin(), facts.files.end());
    for (const std::filesystem::path& file : files_of(flags.psf)) inputs.push_back(file);
    check_outputs({out}, if_exists(flags.options.overwrite), inputs);
    LocalizeOptions options = flags.options;
    // A sigma in pixels does not depend on the pixel size: any value suits the conversion.
    options.pixel_size_nm = facts.pixel_size_nm > 0 ? facts.pixel_size_nm : 100;
    options.psf = psf_of(flags.psf, options.pixel_size_nm);
    options.frames = range;
    options.warn = console.warner(), options.stop = &stop_on_signals();
    use_backend(flags.backend, options, options, console);

    // As in a run: the estimates are from all frames.
    LocalizeJob job = prepare_job(*movie, facts.camera, options);
    job.frames = {frame, frame + 1};
    LocalizeResult result;
    const Localizations found = localize_frames(*movie, facts.camera, job, &result);

    const std::size_t together = count_of_groups(found);
    write_png(out, draw(*movie, job, found), if_exists(flags.options.overwrite));
    if (flags.console.json) {
        nlohmann::ordered_json json{{"output", out.string()}, {"frame", frame}};
        json.update(counts_json(result, options));
        json["fitted_together"] = together;
        print_json(json);
        return exit_ok;
    }
    Summary summary;
    summary.add("frame", fmt::format("{} of {}", frame, info.name));
    add_counts(summary, result, options);
    summary.add("  fitted together", with_commas(std::int64_t(together)));
    summary.add("noise check", noise_check_text(result.noise_check, 0, " in this frame"));
    add_lone_spots(summary, job.lone, options);
    summary.add("marks",
                "circle: spot found; cross: molecule, yellow if fitted alone, cyan if fitted with its neighbours");
    summary.add("written", out.string()).print();
    return exit_ok;
}

}  // namespace glint::cli
