// `glint localize --preview FRAME`: a picture of the detected spots and, with --emitters auto, of the molecules.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/command.hpp"
#include "cli/commands/localize.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/stop.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "glint/picture_io.hpp"
#include "glint/render.hpp"

namespace glint::cli {
namespace {

constexpr double dark_share = 0.01, bright_share = 0.998;  // shown as black and as white
constexpr int wanted_edge_px = 1000;
constexpr std::uint8_t spot_rgb[3] = {255, 200, 0}, group_rgb[3] = {0, 220, 255};

float quantile(std::vector<float> values, double share) {
    const auto at = values.begin() + std::ptrdiff_t(share * double(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

/// Gray, each pixel as a square of `scale` pixels.
RgbPicture gray_picture(const std::vector<float>& values, int width, int height, int scale) {
    const float dark = quantile(values, dark_share);
    const float range = std::max(quantile(values, bright_share) - dark, 1e-6f);
    RgbPicture picture{width * scale, height * scale, 0, {}};
    picture.rgb.resize(std::size_t(picture.width) * picture.height * 3);
    for (int y = 0; y < picture.height; ++y)
        for (int x = 0; x < picture.width; ++x) {
            const float value = values[std::size_t(y / scale) * width + x / scale];
            std::fill_n(picture.at(x, y), 3, std::uint8_t(255 * std::clamp((value - dark) / range, 0.0f, 1.0f)));
        }
    return picture;
}

/// Where a position of the frame, px, lies in the picture.
double drawn_at(double position, int scale) { return (position + 0.5) * scale - 0.5; }

void circle_spots(const Spots& spots, double radius_px, int scale, RgbPicture& picture) {
    for (std::size_t k = 0; k < spots.count(); ++k)
        draw_circle(picture, drawn_at(spots.x[k], scale), drawn_at(spots.y[k], scale), radius_px * scale, spot_rgb);
}

/// A cross at each molecule; those that were fitted together in another colour.
void cross_molecules(const Localizations& found, int scale, RgbPicture& picture) {
    for (std::size_t k = 0; k < found.size(); ++k)
        draw_cross(picture, drawn_at(found.x_px[k], scale), drawn_at(found.y_px[k], scale), 0.5 * scale,
                   found.emitters[k] > 0 ? group_rgb : spot_rgb);
}

std::filesystem::path picture_path(const LocalizeFlags& flags) {
    if (flags.out.empty())
        return fmt::format("{}_frame{}.png", std::filesystem::path(flags.movies.front()).stem().string(),
                           *flags.preview_frame);
    if (std::filesystem::path(flags.out).extension() != ".png")
        throw OptionError(fmt::format("--preview draws a PNG: -o {} should end in .png", flags.out));
    return flags.out;
}

}  // namespace

int preview(const LocalizeFlags& flags) {
    const std::filesystem::path out = picture_path(flags);
    const std::unique_ptr<Movie> movie = open_movies(flags.movies);
    const MovieInfo& info = movie->info();
    const std::int64_t frame = *flags.preview_frame;
    if (frame < 0 || frame >= info.frames)
        throw OptionError(fmt::format("--preview {}: {} has frames 0 to {}", frame, info.name, info.frames - 1));
    const CameraFacts facts = complete_facts(flags, info);
    Paths inputs = info.files;
    inputs.insert(inputs.end(), facts.files.begin(), facts.files.end());
    if (!flags.psf.calibration.empty()) inputs.push_back(flags.psf.calibration);
    check_outputs({out}, if_exists(flags.options.overwrite), inputs);
    // A sigma in pixels does not depend on the pixel size: any value will do for the conversion.
    const double pixel_size_nm = facts.pixel_size_nm > 0 ? facts.pixel_size_nm : 100;
    const Psf psf = psf_of(flags.psf, pixel_size_nm);
    const double sigma_px = psf.detection_sigma_um() * 1000 / pixel_size_nm;

    FrameBlock block;
    movie->read(frame, 1, block);
    const CameraView camera(facts.camera, info.width, info.height);
    std::vector<float> photoelectrons(std::size_t(info.width) * info.height);
    camera.to_photoelectrons(block.frame(0), block.type, photoelectrons);
    Spots spots;
    Detector(camera, {.sigma_px = sigma_px, .threshold = flags.options.threshold}).find(photoelectrons, spots);

    const int scale = std::clamp(wanted_edge_px / std::max(info.width, info.height), 1, 16);
    RgbPicture picture = gray_picture(photoelectrons, info.width, info.height, scale);
    circle_spots(spots, std::max(2.5 * sigma_px, 2.0), scale, picture);
    nlohmann::ordered_json json{{"output", out.string()}, {"frame", frame}, {"spots", spots.count()}};
    Summary summary;
    summary.add("spots", with_commas(std::int64_t(spots.count())));
    if (flags.options.emitters == any_emitters) {
        LocalizeOptions options = flags.options;
        options.psf = psf, options.pixel_size_nm = pixel_size_nm, options.frames = {frame, frame + 1};
        if (options.psf_misfit == learn_misfit) options.psf_misfit = usual_misfit;  // one frame says too little
        options.stop = &stop_on_signals();
        const Localizations found = localize_frames(*movie, facts.camera, options);
        const auto together =
            std::count_if(found.emitters.begin(), found.emitters.end(), [](float n) { return n > 0; });
        cross_molecules(found, scale, picture);
        json["molecules"] = found.size(), json["fitted_together"] = together;
        summary.add("molecules", fmt::format("{} ({} fitted together)", with_commas(std::int64_t(found.size())),
                                             with_commas(together)));
    }
    write_png(out, picture, if_exists(flags.options.overwrite));
    if (flags.console.json)
        print_json(json);
    else
        summary.add("written", out.string()).print();
    return exit_ok;
}

}  // namespace glint::cli
