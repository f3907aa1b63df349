// `glint render`: renders localizations to a super-resolved picture.
// SPDX-License-Identifier: MIT
#include "glint/render.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/flags/camera_flags.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/output_flags.hpp"
#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "glint/picture_io.hpp"
#include "glint/units.hpp"

namespace glint::cli {
namespace {

constexpr const char* render_footer = R"(
Examples:
  glint render locs.hdf5 -o picture.png
  glint render locs.hdf5 -o picture.png --picture-pixel 10nm --colormap magma --scale-bar 1um
  glint render locs_3d.hdf5 -o picture.png --color-z --z-range -400:400
  glint render locs.hdf5 -o density.tif --mode histogram --zoom 8

LOCS: Picasso .hdf5, ThunderSTORM .csv, SMLMAnalysis .smlm.h5. A .png is for the eye: contrast by percentile, a
perceptual colormap, a scale bar. A .tif holds the density itself, 32-bit float, localizations a picture pixel.)";

struct RenderFlags {
    std::string locs, out, mode = "gaussian", picture_pixel, z_range, scale_bar, pixel_size;
    bool overwrite = false, no_scale_bar = false;
    RenderOptions options;
    ConsoleFlags console;
};

void set_z_range(const std::string& text, RenderOptions& options) {
    if (text.empty()) return;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%lf:%lf%c", &options.z_min_nm, &options.z_max_nm, &rest) != 2 ||
        !(options.z_min_nm < options.z_max_nm))
        throw OptionError(fmt::format("--z-range {}: expected MIN:MAX in nm, as in -400:400", text));
}

void set_options(RenderFlags& flags, double pixel_size_nm) {
    RenderOptions& options = flags.options;
    options.mode = flags.mode == "histogram" ? RenderMode::histogram : RenderMode::gaussian;
    if (!flags.picture_pixel.empty())
        options.picture_pixel_nm = to_nm(parse_length(flags.picture_pixel, "--picture-pixel"), pixel_size_nm);
    if (!flags.scale_bar.empty())
        options.scale_bar_nm = to_nm(parse_length(flags.scale_bar, "--scale-bar"), pixel_size_nm);
    if (flags.no_scale_bar) options.scale_bar_nm = 0;
    set_z_range(flags.z_range, options);
}

/// Returns width and height of the picture that was written.
std::pair<int, int> write_picture(const Localizations& locs, const RenderFlags& flags) {
    const std::string extension = lower_extension(flags.out);
    if (extension == ".png") {
        const RgbPicture picture = render_rgb(locs, flags.options);
        write_png(flags.out, picture, if_exists(flags.overwrite));
        return {picture.width, picture.height};
    }
    if (flags.options.color_z)
        throw OptionError("--color-z makes colours, which a float TIFF cannot hold: -o PICTURE.png");
    const Picture picture = render(locs, flags.options);
    write_float_tiff(flags.out, picture, if_exists(flags.overwrite));
    return {picture.width, picture.height};
}

int run(RenderFlags& flags) {
    const std::string extension = lower_extension(flags.out);
    if (extension != ".png" && extension != ".tif" && extension != ".tiff")
        throw OptionError(fmt::format("-o {}: a picture ends in .png (for the eye) or .tif (32-bit float)", flags.out));
    const std::filesystem::path locs_yaml = std::filesystem::path(flags.locs).replace_extension(".yaml");
    check_outputs({flags.out}, if_exists(flags.overwrite), {flags.locs, locs_yaml});
    Console console(flags.console);
    const Localizations locs = read_table(flags.locs, pixel_size_nm(flags.pixel_size), console);
    set_options(flags, locs.pixel_size_nm);
    const auto [width, height] = write_picture(locs, flags);
    if (flags.console.json)
        print_json({{"output", flags.out}, {"localizations", locs.size()}, {"width", width}, {"height", height}});
    else
        Summary()
            .add("localizations", with_commas(std::int64_t(locs.size())))
            .add("picture", fmt::format("{} x {} px", width, height))
            .add("written", flags.out)
            .print();
    return exit_ok;
}

}  // namespace

Command add_render(CLI::App& program) {
    const auto flags = std::make_shared<RenderFlags>();
    RenderOptions& options = flags->options;
    CLI::App* app = program.add_subcommand("render", "Localizations to a super-resolved picture");
    offer_files(app->add_option("localizations", flags->locs, "Localizations")->required(), table_endings);
    offer_files(app->add_option("-o,--output", flags->out, "Picture: .png (colours) or .tif (32-bit float density)")
                    ->required(),
                {".png", ".tif", ".tiff"});
    app->add_option("--mode", flags->mode, "gaussian (each by its own precision) or histogram")
        ->check(CLI::IsMember({"gaussian", "histogram"}))
        ->capture_default_str();
    app->add_option("--zoom", options.zoom, "Picture pixels per camera pixel")->capture_default_str();
    app->add_option("--picture-pixel", flags->picture_pixel,
                    "Edge of a picture pixel, with unit: 10nm; instead of --zoom")
        ->excludes("--zoom");
    app->add_option("--min-blur", options.min_blur_px, "Smallest Gaussian, picture pixels (default: 0.5)");
    app->add_flag("--color-z", options.color_z, "z as colour, density as brightness");
    app->add_option("--z-range", flags->z_range, "MIN:MAX of the colours, nm (default: 1st to 99th percentile)");
    offer_words(app->add_option("--colormap", options.colormap,
                                "inferno (default), viridis, magma, cividis, gray, turbo (default of z)"),
                {"inferno", "viridis", "magma", "cividis", "gray", "turbo"});
    app->add_option("--saturate", options.saturate_percent, "Share of the brightest pixels shown white, percent")
        ->capture_default_str();
    app->add_option("--scale-bar", flags->scale_bar, "Length of the scale bar, with unit: 1um (default: chosen)");
    app->add_flag("--no-scale-bar", flags->no_scale_bar, "No scale bar");
    add_pixel_size_flag(*app, flags->pixel_size);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(render_footer);
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
