// `glint render`: renders localizations to a super-resolved picture.
// SPDX-License-Identifier: MIT
#include "glint/render.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/flags/choices.hpp"
#include "cli/flags/movie_flags.hpp"
#include "cli/flags/output_flags.hpp"
#include "cli/flags/table_flags.hpp"
#include "cli/process.hpp"
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
  glint render locs.hdf5 -o detail.png --region 10:20um,5:12um --picture-pixel 5nm
  glint render tubulin.hdf5 clathrin.hdf5 -o both.png --colors magenta,green

Reads: {readable}.

A .png is for the eye: contrast by percentile, a perceptual colormap and a scale bar. Several tables
are drawn in one picture, each in its own colour. A .tif contains the density itself, in
localizations per picture pixel, as 32-bit float.)";

struct RenderFlags {
    std::vector<std::string> locs;
    std::string out, mode = "gaussian", picture_pixel, z_range, region, colors, scale_bar, pixel_size, blur;
    bool overwrite = false, no_scale_bar = false, color_z = false, color_frame = false;
    RenderOptions options;
    TextTableFlags text;
    ConsoleFlags console;
};

void set_z_range(const std::string& text, RenderOptions& options) {
    if (text.empty()) return;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%lf:%lf%c", &options.z_min_nm, &options.z_max_nm, &rest) != 2 ||
        !(options.z_min_nm < options.z_max_nm))
        throw OptionError(fmt::format("--z-range {}: expected MIN:MAX in nm, as in -400:400", text));
}

struct Span {
    double begin_px = 0, end_px = 0;
};

/// Parses "10:20um" as two positions in camera pixels. The unit follows the second number, or both numbers.
Span parse_span(const std::string& text, double pixel_size_nm, const std::string& all) {
    const auto refuse = [&] {
        throw OptionError(
            fmt::format("--region {}: expected X:X,Y:Y with units (nm, um, px), as in 10:20um,5:12um", all));
    };
    const std::size_t colon = text.find(':');
    if (colon == text.npos) refuse();
    const std::string last = text.substr(colon + 1);
    const std::size_t unit_at = last.find_first_not_of("0123456789.eE+-");
    if (unit_at == last.npos) refuse();
    const std::string unit = last.substr(unit_at);
    const auto position_px = [&](std::string number) {
        if (number.size() > unit.size() && number.ends_with(unit)) number.resize(number.size() - unit.size());
        double value = 0;
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
        if (error != std::errc() || end != number.data() + number.size()) refuse();
        return value == 0 ? 0
                          : std::copysign(to_px(parse_length(fmt::format("{}{}", std::abs(value), unit), "--region"),
                                                pixel_size_nm),
                                          value);
    };
    return {position_px(text.substr(0, colon)), position_px(last)};
}

RenderRegion parse_region(const std::string& text, double pixel_size_nm) {
    const std::size_t comma = text.find(',');
    const Span x = parse_span(text.substr(0, comma), pixel_size_nm, text);
    const Span y = parse_span(comma == text.npos ? "" : text.substr(comma + 1), pixel_size_nm, text);
    if (!(x.begin_px < x.end_px && y.begin_px < y.end_px))
        throw OptionError(
            fmt::format("--region {}: the first value must be smaller than the second, along x and along y", text));
    return {x.begin_px, x.end_px, y.begin_px, y.end_px};
}

/// Splits "magenta,green" into words. Empty for "auto".
std::vector<std::string> parse_colors(const std::string& text) {
    std::vector<std::string> colors;
    if (text.empty() || text == "auto") return colors;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        colors.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return colors;
}

void set_options(RenderFlags& flags, double pixel_size_nm) {
    RenderOptions& options = flags.options;
    options.mode = flags.mode == "histogram" ? RenderMode::histogram : RenderMode::gaussian;
    if (!flags.picture_pixel.empty())
        options.picture_pixel_nm = to_nm(parse_length(flags.picture_pixel, "--picture-pixel"), pixel_size_nm);
    if (!flags.scale_bar.empty())
        options.scale_bar_nm = to_nm(parse_length(flags.scale_bar, "--scale-bar"), pixel_size_nm);
    if (flags.no_scale_bar) options.scale_bar_nm = 0;
    if (!flags.blur.empty()) options.blur_nm = to_nm(parse_length(flags.blur, "--blur"), pixel_size_nm);
    set_z_range(flags.z_range, options);
    if (!flags.region.empty()) options.region = parse_region(flags.region, pixel_size_nm);
    if (flags.color_z) options.color = RenderColor::z;
    if (flags.color_frame) options.color = RenderColor::frame;
    options.channel_colors = parse_colors(flags.colors);
}

/// Writes the picture. Returns its width and height.
std::pair<int, int> write_picture(std::span<TablePieces* const> tables, const RenderFlags& flags,
                                  const StopFlag& stop) {
    const auto stop_here = [&] {
        if (stop) throw Cancelled("stopped: no picture was written");
    };
    if (lower_extension(flags.out) == ".png") {
        const bool is_one = tables.size() == 1 && flags.colors.empty();
        const RgbPicture picture =
            is_one ? render_rgb(*tables.front(), flags.options) : render_channels(tables, flags.options);
        stop_here();
        write_png(flags.out, picture, if_exists(flags.overwrite));
        return {picture.width, picture.height};
    }
    const Picture picture = render(*tables.front(), flags.options);
    stop_here();
    write_float_tiff(flags.out, picture, if_exists(flags.overwrite));
    return {picture.width, picture.height};
}

/// Throws OptionError for a flag that changes nothing.
void require_used(const RenderFlags& flags, bool is_png) {
    const RenderOptions& options = flags.options;
    const auto refuse = [](const char* flag, const char* why) {
        throw OptionError(fmt::format("{} changes nothing {}: leave it out", flag, why));
    };
    const char* in_tif = "in a .tif, which contains the density itself";
    if (!is_png && !options.colormap.empty()) refuse("--colormap", in_tif);
    if (!is_png && !flags.scale_bar.empty()) refuse("--scale-bar", in_tif);
    if (!is_png && options.saturate_percent != RenderOptions().saturate_percent) refuse("--saturate", in_tif);
    if (!options.colormap.empty() && (flags.locs.size() > 1 || !flags.colors.empty()))
        refuse("--colormap", "if each table has its own colour");
    if (options.min_blur_px > 0 && flags.mode == "histogram") refuse("--min-blur", "in a histogram");
    if (!flags.blur.empty() && flags.mode == "histogram") refuse("--blur", "in a histogram");
}

/// Throws OptionError if the output is no picture, or if its format does not suit the flags.
void require_suited_output(const RenderFlags& flags) {
    const std::string extension = lower_extension(flags.out);
    if (extension != ".png" && extension != ".tif" && extension != ".tiff")
        throw OptionError(fmt::format("-o {}: a picture ends in .png (for the eye) or .tif (32-bit float)", flags.out));
    const bool is_colored = flags.color_z || flags.color_frame || !flags.colors.empty() || flags.locs.size() > 1;
    if (extension != ".png" && is_colored)
        throw OptionError(
            "several tables, --colors, --color-z and --color-frame need colours, which a 32-bit float TIFF does not "
            "have: "
            "give -o PICTURE.png");
    require_used(flags, extension == ".png");
    Paths inputs;
    for (const std::string& table : flags.locs)
        for (std::filesystem::path& file : files_of_table(table)) inputs.push_back(std::move(file));
    check_outputs({flags.out}, if_exists(flags.overwrite), inputs);
}

struct OpenTables {
    std::vector<std::unique_ptr<LocalizationReader>> readers;
    std::vector<TablePieces*> pieces;  ///< views of the readers
    double pixel_nm = 0;               ///< of the first table that contains it

    std::size_t rows() const {
        return std::accumulate(readers.begin(), readers.end(), std::size_t(0),
                               [](std::size_t sum, const auto& reader) { return sum + reader->rows(); });
    }
};

OpenTables open_tables(const RenderFlags& flags, Console& console, const StopFlag& stop) {
    OpenTables tables;
    for (const std::string& table : flags.locs) {
        tables.readers.push_back(open_table(table, pixel_size_nm(flags.pixel_size), flags.text, console, stop));
        tables.pieces.push_back(tables.readers.back().get());
        if (!(tables.pixel_nm > 0)) tables.pixel_nm = tables.pieces.back()->like().pixel_size_nm;
    }
    return tables;
}

struct Drawn {
    std::optional<std::size_t> rows_in_region;             ///< with --region
    std::optional<std::pair<double, double>> color_range;  ///< of z or frames, with --color-z and --color-frame
    int width = 0, height = 0;
    std::vector<std::string> colors;  ///< of each table, if tables have colours
};

/// Draws the tables and writes the picture.
Drawn draw(RenderFlags& flags, std::span<TablePieces* const> tables, const StopFlag& stop) {
    Drawn drawn;
    if (!flags.options.region.is_everything()) drawn.rows_in_region = rows_in_region(tables, flags.options.region);
    if (flags.options.color != RenderColor::density && tables.size() == 1)
        drawn.color_range = color_range(*tables.front(), flags.options);
    if (drawn.color_range && flags.color_z)  // so that the table is not read again for the range
        std::tie(flags.options.z_min_nm, flags.options.z_max_nm) = *drawn.color_range;
    std::tie(drawn.width, drawn.height) = write_picture(tables, flags, stop);
    if (tables.size() > 1 || !flags.colors.empty()) drawn.colors = channel_color_names(tables.size(), flags.options);
    return drawn;
}

void print_drawn_json(const RenderFlags& flags, const Drawn& drawn, std::size_t rows) {
    nlohmann::ordered_json json{
        {"output", flags.out}, {"localizations", rows}, {"width", drawn.width}, {"height", drawn.height}};
    if (drawn.rows_in_region) json["localizations_in_region"] = *drawn.rows_in_region;
    if (drawn.color_range) json["color_range"] = {drawn.color_range->first, drawn.color_range->second};
    if (!drawn.colors.empty()) json["colors"] = drawn.colors;
    print_json(json);
}

void print_drawn(const RenderFlags& flags, const Drawn& drawn, std::size_t rows) {
    Summary summary;
    summary.add("localizations", with_commas(std::int64_t(rows)));
    if (drawn.rows_in_region) summary.add("in the region", with_commas(std::int64_t(*drawn.rows_in_region)));
    if (const auto& range = drawn.color_range)
        summary.add("colours", flags.color_z
                                   ? fmt::format("z from {:.4g} to {:.4g} nm", range->first, range->second)
                                   : fmt::format("frames from {} to {}", with_commas(std::int64_t(range->first)),
                                                 with_commas(std::int64_t(range->second))));
    for (std::size_t k = 0; k < drawn.colors.size(); ++k) summary.add(drawn.colors[k], flags.locs[k]);
    summary.add("picture", fmt::format("{} x {} px", drawn.width, drawn.height)).add("written", flags.out).print();
}

int run(RenderFlags& flags) {
    require_suited_output(flags);
    Console console(flags.console);
    const StopFlag& stop = stop_on_signals();
    const OpenTables tables = open_tables(flags, console, stop);
    set_options(flags, tables.pixel_nm);
    const Drawn drawn = draw(flags, tables.pieces, stop);
    const std::size_t rows = tables.rows();
    if (rows == 0)
        console.warn(fmt::format("{}: the picture is empty, since there are no localizations to draw", flags.out));
    if (flags.console.json)
        print_drawn_json(flags, drawn, rows);
    else
        print_drawn(flags, drawn, rows);
    return exit_ok;
}

}  // namespace

Command add_render(CLI::App& program) {
    const auto flags = std::make_shared<RenderFlags>();
    RenderOptions& options = flags->options;
    CLI::App* app = program.add_subcommand("render", "Renders localizations to a super-resolved picture");
    offer_files(
        app->add_option("localizations", flags->locs, "Localizations. Several tables are drawn in different colours")
            ->required(),
        table_endings());
    offer_files(app->add_option("-o,--output", flags->out, "Picture: .png (colours) or .tif (32-bit float density)")
                    ->required(),
                {".png", ".tif", ".tiff"});
    app->add_option("--mode", flags->mode, "gaussian (width: the precision of each localization) or histogram")
        ->check(CLI::IsMember({"gaussian", "histogram"}))
        ->capture_default_str();
    app->add_option("--zoom", options.zoom,
                    "Picture pixels per camera pixel (default: 10, or more to reach 1,000 along the longer edge)")
        ->check(CLI::Range(0.001, 1e6));  // the error of PositiveNumber would be "0 or more"
    app->add_option("--picture-pixel", flags->picture_pixel,
                    "Edge of a picture pixel, with unit: 10nm; instead of --zoom")
        ->excludes("--zoom");
    app->add_option("--min-blur", options.min_blur_px,
                    "Minimum standard deviation of a Gaussian, picture pixels (default: 0.5)");
    app->add_option("--blur", flags->blur,
                    "Standard deviation of every Gaussian, with unit: 15nm (default: the precision of each)");
    app->add_option("--region", flags->region,
                    "Part to draw, X:X,Y:Y with units, as in 10:20um,5:12um; 0 is the centre of the first pixel");
    app->add_flag("--color-z", flags->color_z, "Show z as colour, and density as brightness");
    app->add_flag("--color-frame", flags->color_frame, "Show the frame as colour, and density as brightness")
        ->excludes("--color-z");
    app->add_option(
        "--colors", flags->colors,
        "Colours of the tables, as in --colors magenta,green: magenta, green, cyan, yellow, red, blue, gray "
        "(default, or auto: in this order)");
    app->add_option("--z-range", flags->z_range, "MIN:MAX of the colours, nm (default: 1st to 99th percentile)")
        ->needs("--color-z");
    offer_words(app->add_option("--colormap", options.colormap,
                                "inferno (default), viridis, magma, cividis, gray, turbo (default of z and frames)"),
                {"inferno", "viridis", "magma", "cividis", "gray", "turbo"});
    app->add_option("--saturate", options.saturate_percent, "Percentage of the brightest pixels that are shown white")
        ->capture_default_str();
    app->add_option("--scale-bar", flags->scale_bar, "Length of the scale bar, with unit: 1um (default: chosen)");
    app->add_flag("--no-scale-bar", flags->no_scale_bar, "No scale bar")->excludes("--scale-bar");
    add_pixel_size_flag(*app, flags->pixel_size);
    add_text_table_flags(*app, flags->text);
    add_overwrite_flag(*app, flags->overwrite);
    add_console_flags(*app, flags->console);
    app->footer(with_table_names(render_footer));
    return {app, [flags] { return run(*flags); }};
}

}  // namespace glint::cli
