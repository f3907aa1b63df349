// Converts a PSF to text. All forms use the same list of a curve's values, so that none can omit a value.
// SPDX-License-Identifier: MIT
#include "psf/psf_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/hash.hpp"
#include "base/micrometres.hpp"
#include "glint/error.hpp"
#include "psf/curve_in_um.hpp"

namespace glint {
namespace {

struct CurveValue {
    std::string_view key, label;  ///< in to_text(); for users
    double CurveInUm::*value;
};
constexpr CurveValue curve_values[] = {
    {"sx0_um", "sx0", &CurveInUm::sx0_um},
    {"sy0_um", "sy0", &CurveInUm::sy0_um},
    {"gamma_um", "gamma", &CurveInUm::gamma_um},
    {"d_um", "d", &CurveInUm::d_um},
    {"ax", "ax", &CurveInUm::ax},
    {"bx", "bx", &CurveInUm::bx},
    {"ay", "ay", &CurveInUm::ay},
    {"by", "by", &CurveInUm::by},
    {"z_min_um", "z_min", &CurveInUm::z_min_um},
    {"z_max_um", "z_max", &CurveInUm::z_max_um},
};
constexpr std::string_view psf_sigma_key = "sigma_um", curve_window_key = "roi_size", curve_pixel_key = "pixel_size_um",
                           own_numbers_key = "numbers", table_key = "table", field_x_key = "field_x_px",
                           field_y_key = "field_y_px";

/// The values of a PSF except the model's own numbers.
struct ValuesInUm {
    double sigma_um = 0;
    CurveInUm curve = {};
    double field_x_px = 0, field_y_px = 0;
};

/// Calls visit(key, value) for each value; `value` is mutable if `values` is.
template <class Values, class Visit>
void for_all_values(Values& values, const Visit& visit) {
    visit(psf_sigma_key, values.sigma_um);
    for (const CurveValue& c : curve_values) visit(c.key, values.curve.*c.value);
    visit(curve_window_key, values.curve.roi_size), visit(curve_pixel_key, values.curve.pixel_size_um);
    visit(field_x_key, values.field_x_px), visit(field_y_key, values.field_y_px);
}

/// Returns nanometres converted through micrometres, so that files keep the bytes they had when lengths were stored in
/// micrometres.
double nm_as_written(double nm) { return um_of(nm) * 1000; }

template <class Number>
Number parse_value(std::string_view text, std::string_view part) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        throw InputError(fmt::format("{} of a PSF is no number", part));
    return value;
}

/// Describes the cells of a table: "24 x 24 cells of 21.3 px from (-4, 0) px of the movie".
std::string describe_field(const Psf& psf) {
    const PsfField& field = psf.table->field();
    return fmt::format("{} x {} cells of {} px from ({}, {}) px of the movie", field.cells_x, field.cells_y,
                       field.cell_px, field.left_px - psf.field_x_px, field.top_px - psf.field_y_px);
}

nlohmann::ordered_json table_json(const Psf& psf) {
    nlohmann::ordered_json json{{"shape", psf.table->shape()}, {"hash", fmt::format("{:016x}", psf.table->hash())}};
    const PsfField& field = psf.table->field();
    if (psf.has_field())
        json["field"] = {{"cells", {field.cells_x, field.cells_y}},
                         {"cell_px", field.cell_px},
                         {"left_px", field.left_px - psf.field_x_px},
                         {"top_px", field.top_px - psf.field_y_px}};
    return json;
}

/// Removes the text up to the separator and returns it.
std::string_view take_part(std::string_view& text, char separator) {
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
}

}  // namespace

std::string to_text(const Psf& psf) {
    std::string text(to_name(psf.model));
    const ValuesInUm plain, values{um_of(psf.sigma_nm), in_um(psf.curve), psf.field_x_px, psf.field_y_px};
    // distinguishes 0 and -0
    const auto bits_of = [](auto value) { return std::bit_cast<std::uint64_t>(double(value)); };
    std::vector<std::uint64_t> defaults;
    for_all_values(plain, [&](std::string_view, auto value) { defaults.push_back(bits_of(value)); });
    auto default_bits = defaults.begin();
    for_all_values(values, [&](std::string_view key, auto value) {
        if (bits_of(value) != *default_bits++) text += fmt::format(" {}={}", key, value);
    });
    if (!psf.numbers.empty()) text += fmt::format(" {}={}", own_numbers_key, fmt::join(psf.numbers, ","));
    if (psf.table) text += fmt::format(" {}={:016x}", table_key, psf.table->hash());
    return text;
}

Psf parse_psf(std::string_view text, std::shared_ptr<const PsfTable> table) {
    Psf psf;
    ValuesInUm values;
    try {
        psf.model = parse_psf_model(take_part(text, ' '));
    } catch (const OptionError& error) {
        throw InputError(error.what());
    }
    while (!text.empty()) {
        const std::string_view part = take_part(text, ' ');
        std::string_view value = part;
        const std::string_view key = take_part(value, '=');
        bool known = key == own_numbers_key;
        if (known)
            while (!value.empty()) psf.numbers.push_back(parse_value<double>(take_part(value, ','), part));
        if (key == table_key) {
            if (!table || value != fmt::format("{:016x}", table->hash()))
                throw InputError(fmt::format("{} of a PSF is not the table that came with it", part));
            known = true, psf.table = table;
        }
        for_all_values(values, [&](std::string_view name, auto& to) {
            if (name == key) known = true, to = parse_value<std::remove_reference_t<decltype(to)>>(value, part);
        });
        if (!known) throw InputError(fmt::format("{} is no value of a PSF", part));
    }
    psf.sigma_nm = values.sigma_um * 1000, psf.curve = in_nm(values.curve);
    psf.field_x_px = values.field_x_px, psf.field_y_px = values.field_y_px;
    if (psf.numbers.size() > describe(psf.model).numbers.size())
        throw InputError(fmt::format("{} numbers for {}, which has {}", psf.numbers.size(), to_name(psf.model),
                                     describe(psf.model).numbers.size()));
    return psf;
}

std::uint64_t content_hash(const Psf& psf) {
    const std::string text = to_text(psf);
    return hash_of(text.data(), text.size());
}

std::string psf_setting(const Psf& psf) {
    const PsfDescription& model = describe(psf.model);
    const CurveInUm curve = in_um(psf.curve);
    std::string text(model.name);
    if (psf.table)
        text += fmt::format(" {} {:016x}", table_key, psf.table->hash());
    else if (model.calibrated)
        for (const CurveValue& c : curve_values) text += fmt::format(" {}", curve.*c.value);
    else
        text += fmt::format(" {} nm", nm_as_written(psf.sigma_nm));
    for (std::size_t k = 0; k < psf.numbers.size(); ++k)
        text += fmt::format(", {} {}", model.numbers[k].name, psf.numbers[k]);
    return text;
}

std::string provenance_of(const Psf& psf) {
    const PsfDescription& model = describe(psf.model);
    std::string text = fmt::format("Sigma (nm): {}\n", nm_as_written(psf.sigma_nm));
    if (psf.table) {
        text = fmt::format("Table of coefficients: {} ({:016x})\n", fmt::join(psf.table->shape(), " x "),
                           psf.table->hash());
        if (psf.has_field()) text += fmt::format("PSF over the field: {}\n", describe_field(psf));
    } else if (model.calibrated) {
        std::vector<std::string> values;
        const CurveInUm curve = in_um(psf.curve);
        for (const CurveValue& c : curve_values) values.push_back(fmt::format("{}: {}", c.label, curve.*c.value));
        text = fmt::format("Calibration (um): {{{}}}\n", fmt::join(values, ", "));
    }
    for (std::size_t k = 0; k < psf.numbers.size(); ++k)
        text += fmt::format("{}: {}\n", model.numbers[k].name, psf.numbers[k]);
    return text;
}

std::string psf_file_line(const Psf& psf, const std::string& file) {
    if (!psf.table || file.empty()) return "";
    return fmt::format("Measured PSF: {}\n",
                       nlohmann::json(file).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

nlohmann::ordered_json psf_json(const Psf& psf) {
    const PsfDescription& model = describe(psf.model);
    const CurveInUm curve = in_um(psf.curve);
    nlohmann::ordered_json json{{"model", std::string(model.name)}};
    if (psf.table)
        json["table"] = table_json(psf);
    else if (model.calibrated)
        for (const CurveValue& c : curve_values) json["calibration_um"][std::string(c.label)] = curve.*c.value;
    else
        json["sigma_nm"] = nm_as_written(psf.sigma_nm);
    for (std::size_t k = 0; k < psf.numbers.size(); ++k) json[std::string(model.numbers[k].name)] = psf.numbers[k];
    json["hash"] = fmt::format("{:016x}", content_hash(psf));
    return json;
}

}  // namespace glint
