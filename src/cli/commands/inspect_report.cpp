// The report of `glint inspect`, as lines and as JSON, and a `glint localize` command with its values.
// SPDX-License-Identifier: MIT
#include "cli/commands/inspect_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/commands/localize.hpp"
#include "cli/spelling.hpp"

namespace glint::cli {
namespace {

std::string to_name(PixelType type) {
    return type == PixelType::uint8 ? "uint8" : type == PixelType::uint16 ? "uint16" : "float32";
}

/// Returns "1.83 +- 0.03", with as many decimals as two digits of the error need.
std::string text_of(const Estimate& estimate) {
    const double digits = estimate.error > 0 ? std::ceil(-std::log10(estimate.error)) : 2;
    const int decimals = int(std::clamp(digits, 0.0, 6.0)) + (digits > 0 ? 1 : 0);
    return fmt::format("{:.{}f} +- {:.{}f}", estimate.value, decimals, estimate.error, decimals);
}

/// Names the source of a value that the movie does not give, or not with certainty.
std::string from_elsewhere(const std::string& source, const std::optional<Estimate>& estimate) {
    const std::string why = estimate ? fmt::format("; the movie's {} is {}", text_of(*estimate),
                                                   is_below_zero(*estimate) ? "below 0" : "too uncertain")
                                     : "";
    return fmt::format(" (from {}{})", source, why);
}

/// The next command. Unknown values are placeholders in capitals, and are listed.
struct NextCommand {
    std::string line = "glint localize", placeholders;

    void value(const std::string& flag, bool known, const std::string& value, const std::string& placeholder,
               const std::string& meaning) {
        line += fmt::format(" {} {}", flag, known ? value : placeholder);
        if (!known) placeholders += fmt::format("{}{}: {}", placeholders.empty() ? "" : "; ", placeholder, meaning);
    }
};

std::string sigma_value(const Inspected& found) {
    if (!found.result.spots.sigma_px || !is_sure(*found.result.spots.sigma_px)) return "";
    const double px = found.result.spots.sigma_px->value;
    return found.pixel_size_nm > 0 ? fmt::format("{:.0f}nm", px * found.pixel_size_nm) : fmt::format("{:.2f}px", px);
}

NextCommand next_command(const InspectFlags& flags, const MovieInfo& movie, const Inspected& found) {
    const MovieNoise& noise = found.result.noise;
    NextCommand next;
    next.line += fmt::format(" {} -o locs.hdf5{}", shell_file(flags.movie), as_given(flags.choice));
    if (found.result.spots.psf != Psf{}.model) next.line += fmt::format(" --psf {}", to_name(found.result.spots.psf));
    const bool given = !flags.sigma.empty();
    const std::string sigma = given ? shell_word(flags.sigma) : sigma_value(found);
    next.value("--sigma", !sigma.empty(), sigma, "SIGMA",
               "the standard deviation of the PSF, about 0.21 wavelength / NA, as in 130nm");
    const CameraSetup& camera = flags.camera;
    const bool from_file = !camera.camera_file.empty() || !camera.preset.empty();
    if (from_file) next.line += as_given(camera);
    if (!from_file && !camera.region.empty()) next.line += " --region " + camera.region;
    if (!from_file || found.pixel_size_nm == 0)
        next.value("--pixel-size", found.pixel_size_nm > 0, fmt::format("{:g}nm", found.pixel_size_nm), "PIXEL_SIZE",
                   "edge of a camera pixel in the sample, as in 100nm");
    if (!from_file && found.options.offset_adu)
        next.value("--offset", true, fmt::format("{:g}", *found.options.offset_adu), "", "");
    else if (!from_file || !found.options.offset_adu)
        next.value("--offset",
                   noise.offset_adu && is_sure_offset(*noise.offset_adu, noise.gain_e_per_adu->value) &&
                       !(movie.type != PixelType::float32 && is_below_zero(*noise.offset_adu)),
                   noise.offset_adu ? fmt::format("{:.1f}", noise.offset_adu->value) : "", "OFFSET",
                   "counts of a dark pixel, ADU" + from_elsewhere("dark frames", noise.offset_adu));
    if (!from_file || !found.options.gain_e_per_adu)
        next.value("--gain", noise.gain_e_per_adu && is_sure(*noise.gain_e_per_adu),
                   noise.gain_e_per_adu ? fmt::format("{:.3g}", noise.gain_e_per_adu->value) : "", "GAIN",
                   "photoelectrons per ADU" +
                       from_elsewhere("the camera's data sheet, or `glint calibrate camera`", noise.gain_e_per_adu));
    if (from_file) return next;
    if (found.options.readnoise_e > 0) next.line += fmt::format(" --readnoise {:g}", found.options.readnoise_e);
    if (found.options.em_gain != 1 && !movie.em_gain)
        next.line += fmt::format(" --em-gain {:g}", found.options.em_gain);
    return next;
}

std::string metadata_text(const MovieInfo& movie) {
    std::string text;
    const auto add = [&](const char* name, const std::optional<double>& value, const char* unit) {
        if (value) text += fmt::format("{}{} {:g}{}", text.empty() ? "" : ", ", name, *value, unit);
    };
    add("pixel size", movie.pixel_size_nm, " nm"), add("offset", movie.offset_adu, " ADU");
    add("gain", movie.gain_e_per_adu, " e-/ADU"), add("EM gain", movie.em_gain, "");
    return text.empty() ? "no pixel size, offset or gain" : text;
}

std::string counts_text(const MovieCounts& counts) {
    if (!counts.min_adu) return "no pixel has a finite count";
    return fmt::format("{:g} to {:g} ADU", *counts.min_adu, *counts.max_adu);
}

std::string saturation_text(const MovieCounts& counts) {
    if (!counts.why_no_saturation.empty()) return "unknown: " + counts.why_no_saturation;
    if (counts.saturation_adu == 0) return "no pixels";
    return fmt::format("{:.3g} % of the pixels, at {:g} ADU (left out of the estimates)", 100 * counts.saturated_share,
                       counts.saturation_adu);
}

std::string background_text(const MovieCounts& counts) {
    if (!counts.background_adu) return "unknown: no pixel has a finite count";
    const std::string text = fmt::format("{:.1f} ADU (mean of the frames' medians)", counts.background_adu->value);
    const auto& [drift, error] = counts.background_drift;
    if (error == 0) return text;
    constexpr double errors = 3;
    return text + fmt::format(", changes by {:+.1f} +- {:.1f} ADU over the movie{}", drift, error,
                              std::abs(drift) > errors * error ? "" : ", which may be chance");
}

const char* given_as(const SensorField Camera::*field, const InspectOptions& options) {
    return options.camera && ((*options.camera).*field).is_map() ? "given; median of a map" : "given";
}

std::string gain_text(const Inspected& found) {
    const MovieNoise& noise = found.result.noise;
    if (found.options.gain_e_per_adu)
        return fmt::format("{:g} e-/ADU ({})", *found.options.gain_e_per_adu,
                           given_as(&Camera::gain_e_per_adu, found.options));
    if (noise.gain_e_per_adu) {
        const std::string text = text_of(*noise.gain_e_per_adu) + " e-/ADU";
        const bool no_readnoise = found.options.offset_adu && found.options.readnoise_e == 0;
        return no_readnoise ? text + " if the read noise is 0 (higher with more: give --readnoise)" : text;
    }
    return "cannot be estimated: " + noise.why_not;
}

/// Returns the offset, and how it depends on the read noise: both move the zero of the line.
std::string offset_text(const Inspected& found, bool is_integer) {
    const MovieNoise& noise = found.result.noise;
    if (found.options.offset_adu)
        return fmt::format("{:g} ADU ({})", *found.options.offset_adu, given_as(&Camera::offset_adu, found.options));
    if (!noise.offset_adu) return "cannot be estimated: " + noise.why_not;
    const std::string text = text_of(*noise.offset_adu) + " ADU if the read noise is ";
    if (found.options.readnoise_e > 0) return text + fmt::format("{:g} e-", found.options.readnoise_e);
    const double excess = found.options.em_gain > 1 ? 2 * found.options.em_gain : 1;
    const double per_e2 = 1 / (noise.gain_e_per_adu->value * excess);
    const std::string below_zero =
        is_integer && is_below_zero(*noise.offset_adu)
            ? fmt::format(
                  "; since no camera's offset is below 0, the read noise is at least {:.2g} e- "
                  "(--readnoise), or the movie was filtered or its background subtracted",
                  std::sqrt(-noise.offset_adu->value / per_e2))
            : "";
    return text + fmt::format("0 (with r e- rms it is {:.2g} r^2 ADU higher{})", per_e2, below_zero);
}

std::string noise_text(const MovieNoise& noise) {
    return fmt::format(
        "variance {:.2f} ADU^2 at a mean of {:.1f} ADU: with an offset of B ADU and no read noise, the gain "
        "would be ({:.1f} - B) / {:.2f}",
        noise.variance_adu2, noise.mean_adu, noise.mean_adu, noise.variance_adu2);
}

std::string sigma_text(const Inspected& found) {
    const MovieSpots& spots = found.result.spots;
    if (!spots.sigma_px) return "cannot be estimated: " + spots.why_not;
    std::string text = text_of(*spots.sigma_px) + " px";
    if (const double nm = found.pixel_size_nm; nm > 0)
        text += fmt::format(" ({} nm)", text_of({spots.sigma_px->value * nm, spots.sigma_px->error * nm}));
    return text + fmt::format(", from {} spots without a neighbour", spots.lone);
}

std::string psf_text(const MovieSpots& spots) {
    const std::string name(to_name(spots.psf));
    return spots.why_psf.empty() ? name + " (the default)" : fmt::format("{}: {}", name, in_flags(spots.why_psf));
}

std::string density_text(const Inspected& found) {
    const MovieSpots& spots = found.result.spots;
    std::string text = fmt::format("{:.2g}", spots.per_pixel.value);
    if (spots.per_pixel.error > 0)
        text += fmt::format(" +- {:.1g}", spots.per_pixel.error);  // 0 if all frames have equally many
    text += " spots per pixel and frame";
    if (const double um = found.pixel_size_nm / 1000; um > 0)
        text += fmt::format(" ({:.2g} per um^2)", spots.per_pixel.value / (um * um));
    return text + fmt::format(": {} in {} frames", with_commas(spots.found), spots.frames);
}

std::string photons_text(const MovieSpots& spots) {
    return spots.photons ? text_of(*spots.photons) + " (median per spot and frame)"
                         : std::string("not known without ") + (spots.sigma_px ? "the gain" : "lone spots");
}

nlohmann::ordered_json json_of(const std::optional<Estimate>& estimate) {
    if (!estimate) return {};
    return {{"value", estimate->value}, {"error", estimate->error}};
}

nlohmann::ordered_json json_of(const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json noise_json(const MovieNoise& noise) {
    return {{"gain_e_per_adu", json_of(noise.gain_e_per_adu)},
            {"offset_adu", json_of(noise.offset_adu)},
            {"mean_adu", noise.mean_adu},
            {"variance_adu2", noise.variance_adu2},
            {"range_adu", {noise.min_mean_adu, noise.max_mean_adu}},
            {"samples", noise.samples},
            {"why_not", noise.why_not}};
}

nlohmann::ordered_json spots_json(const MovieSpots& spots) {
    return {{"sigma_px", json_of(spots.sigma_px)},
            {"photons", json_of(spots.photons)},
            {"per_pixel", json_of(std::optional(spots.per_pixel))},
            {"found", spots.found},
            {"frames", spots.frames},
            {"lone", spots.lone},
            {"why_not", spots.why_not},
            {"psf", to_name(spots.psf)},
            {"why_psf", in_flags(spots.why_psf)}};
}

nlohmann::ordered_json movie_counts_json(const MovieCounts& counts) {
    return {{"frames_read", counts.frames},
            {"empty_frames", counts.empty_frames},
            {"least_adu", json_of(counts.min_adu)},
            {"most_adu", json_of(counts.max_adu)},
            {"not_finite", counts.not_finite},
            {"saturation_adu", counts.saturation_adu > 0 ? nlohmann::ordered_json(counts.saturation_adu) : nullptr},
            {"saturated_share", counts.saturated_share},
            {"why_no_saturation", counts.why_no_saturation},
            {"background_adu", json_of(counts.background_adu)},
            {"background_drift_adu",
             counts.background_drift.error > 0 ? json_of(std::optional(counts.background_drift)) : nullptr}};
}

}  // namespace

std::vector<std::string> metadata_warnings(const MovieInfo& movie, const Inspected& found) {
    std::vector<std::string> warnings;
    const auto compare = [&](const char* what, const char* unit, const std::optional<double>& said,
                             const std::optional<Estimate>& estimate, bool is_given) {
        constexpr double errors = 4, part = 0.1;  // a tenth: the accuracy of the estimate
        if (!said || !estimate || is_given) return;
        const double apart = std::abs(*said - estimate->value);
        if (apart > errors * estimate->error && apart > part * std::abs(estimate->value))
            warnings.push_back(fmt::format("{}: its metadata give the {} as {:g}{}, its noise as {}{}", movie.name,
                                           what, *said, unit, text_of(*estimate), unit));
    };
    const MovieNoise& noise = found.result.noise;
    compare("gain", " e-/ADU", movie.gain_e_per_adu, noise.gain_e_per_adu, found.options.gain_e_per_adu.has_value());
    return warnings;
}

nlohmann::ordered_json inspection_json(const InspectFlags& flags, const MovieInfo& movie, const Inspected& found) {
    const NextCommand next = next_command(flags, movie, found);
    return {{"movie", flags.movie},
            {"frames", movie.frames},
            {"width", movie.width},
            {"height", movie.height},
            {"type", to_name(movie.type)},
            {"metadata",
             {{"pixel_size_nm", json_of(movie.pixel_size_nm)},
              {"offset_adu", json_of(movie.offset_adu)},
              {"gain_e_per_adu", json_of(movie.gain_e_per_adu)},
              {"em_gain", json_of(movie.em_gain)}}},
            {"pixel_size_nm", found.pixel_size_nm > 0 ? nlohmann::ordered_json(found.pixel_size_nm) : nullptr},
            {"readnoise_e", found.options.readnoise_e},
            {"em_gain", found.options.em_gain},
            {"counts", movie_counts_json(found.result.counts)},
            {"defective_pixels", found.result.defective_pixels},
            {"patterned_share", found.result.patterned_share},
            {"noise", noise_json(found.result.noise)},
            {"noise_check", json_of(found.result.noise_check)},
            {"likeliest_mistake", found.mistake},
            {"spots", spots_json(found.result.spots)},
            {"localize", next.line},
            {"still_needed", next.placeholders}};
}

void print_inspection(const InspectFlags& flags, const MovieInfo& movie, const Inspected& found) {
    const MovieCounts& counts = found.result.counts;
    const NextCommand next = next_command(flags, movie, found);
    Summary summary;
    summary.add("movie", flags.movie)
        .add("frames", fmt::format("{} of {}x{} px, {}; {} read", with_commas(movie.frames), movie.width, movie.height,
                                   to_name(movie.type), with_commas(counts.frames)))
        .add("metadata", metadata_text(movie))
        .add("counts", counts_text(counts))
        .add("saturated", saturation_text(counts));
    if (found.result.defective_pixels > 0)
        summary.add("defective", fmt::format("{} pixels (brighter or darker than their neighbours in most frames)",
                                             with_commas(found.result.defective_pixels)));
    if (counts.not_finite > 0)
        summary.add("not finite",
                    fmt::format("{} pixels of the frames that were read are NaN or infinite, and are left out",
                                with_commas(counts.not_finite)));
    if (counts.empty_frames > 0)
        summary.add("empty frames",
                    fmt::format("{}: all pixels have the same count", with_commas(counts.empty_frames)));
    if (!found.sources.empty()) summary.add("camera", found.sources);
    summary.add("background", background_text(counts))
        .add("gain", gain_text(found))
        .add("offset", offset_text(found, movie.type != PixelType::float32));
    if (!found.result.noise.gain_e_per_adu && found.result.noise.variance_adu2 > 0)
        summary.add("noise", noise_text(found.result.noise));
    if (found.options.gain_e_per_adu && found.options.offset_adu) {
        const Estimate check = found.result.noise_check.value_or(Estimate{});
        summary.add("noise check", noise_check_text(check.value, check.error));
    }
    summary.add("sigma", sigma_text(found))
        .add("psf", psf_text(found.result.spots))
        .add("density", density_text(found))
        .add("photons", photons_text(found.result.spots))
        .add("localize it", next.line);
    if (!next.placeholders.empty()) summary.add("still needed", next.placeholders);
    summary.print();
}

}  // namespace glint::cli
