// `glint localize --preview FRAME`: a picture of the detected spots.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/commands/localize.hpp"
#include "cli/flags/output_flags.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"
#include "glint/picture_io.hpp"
#include "glint/render.hpp"

namespace glint::cli {
namespace {

constexpr double dark_share = 0.01, bright_share = 0.998;  // shown as black and as white
constexpr int wanted_edge_px = 1000;
constexpr std::uint8_t circle_rgb[3] = {255, 200, 0};

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

void circle_spots(const Spots& spots, double radius_px, int scale, RgbPicture& picture) {
    const auto center = [&](int pixel) { return (pixel + 0.5) * scale - 0.5; };
    for (std::size_t k = 0; k < spots.count(); ++k)
        draw_circle(picture, center(spots.x[k]), center(spots.y[k]), radius_px * scale, circle_rgb);
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
    const bool sigma_in_px = flags.psf.sigma.ends_with("px");
    const CameraFacts facts = camera_facts(flags.camera, info, example_of(flags), !sigma_in_px);
    Paths inputs = info.files;
    inputs.insert(inputs.end(), facts.files.begin(), facts.files.end());
    if (!flags.psf.calibration.empty()) inputs.push_back(flags.psf.calibration);
    check_outputs({out}, if_exists(flags.options.overwrite), inputs);
    // A sigma in pixels does not depend on the pixel size: any value will do for the conversion.
    const double pixel_size_nm = facts.pixel_size_nm > 0 ? facts.pixel_size_nm : 100;
    const double sigma_px = psf_of(flags.psf, pixel_size_nm).detection_sigma_um() * 1000 / pixel_size_nm;

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
    write_png(out, picture, if_exists(flags.options.overwrite));
    if (flags.console.json)
        print_json({{"output", out.string()}, {"frame", frame}, {"spots", spots.count()}});
    else
        Summary().add("spots", with_commas(std::int64_t(spots.count()))).add("written", out.string()).print();
    return 0;
}

}  // namespace glint::cli
