// The table of localizations: its columns, appending and selecting rows, conversion from fits.
// SPDX-License-Identifier: MIT
#include "glint/localizations.hpp"

#include <tbb/parallel_for_each.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/arena.hpp"
#include "base/large_vector.hpp"
#include "data/shape_columns.hpp"
#include "psf/in_double.hpp"

namespace glint {
namespace {

using L = Localizations;
constexpr std::size_t worth_threads = 1 << 16;  // rows
constexpr LocalizationColumn columns[] = {
    {"x", "px", &L::x_px},
    {"y", "px", &L::y_px},
    {"z", "nm", &L::z_nm},
    {"photons", "photon", &L::photons},
    {"sx", "px", &L::sx_px},
    {"sy", "px", &L::sy_px},
    {"bg", "photon", &L::bg},
    {"lpx", "px", &L::lpx_px},
    {"lpy", "px", &L::lpy_px},
    {"lpz", "nm", &L::lpz_nm},
    {"photons_unc", "photon", &L::photons_unc},
    {"bg_unc", "photon", &L::bg_unc},
    {"sx_unc", "px", &L::sx_unc_px},
    {"sy_unc", "px", &L::sy_unc_px},
    {"detection_score", "", &L::detection_score},
    {"log_likelihood", "", &L::log_likelihood},
    {"emitters", "", &L::emitters},
    {"p_value", "", &L::p_value},
};

template <class T>
void extend(std::vector<T>& to, const std::vector<T>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

template <class T>
std::vector<T> pick(const std::vector<T>& from, std::span<const std::size_t> keep) {
    std::vector<T> out;
    resize_large(out, keep.size());
    for (std::size_t k = 0; k < keep.size(); ++k) out[k] = from[keep[k]];
    return out;
}

/// Creates columns of `rows` values, by several threads if there are enough.
void do_all(const std::vector<std::function<void()>>& columns_to_make, std::size_t rows) {
    if (rows < worth_threads)
        for (const auto& make : columns_to_make) make();
    else
        in_own_arena([&] { tbb::parallel_for_each(columns_to_make, [](const auto& make) { make(); }); });
}

std::vector<float> scaled(std::vector<float> values, float factor) {
    for (float& v : values) v *= factor;
    return values;
}

/// Moves the columns of uncertainties from the fits to the table.
void fill_shape_uncertainties(Localizations& to, Fits& fits, PsfModel model) {
    const std::span<const ShapeParameter> shape = shape_parameters_of(model);
    for (std::size_t k = 0; k < shape.size(); ++k) {
        std::vector<float>& uncertainty = fits.crlb[4 + k];
        switch (shape[k].column) {
            case PsfColumn::width: to.sx_unc_px = uncertainty, to.sy_unc_px = std::move(uncertainty); break;
            case PsfColumn::width_x: to.sx_unc_px = std::move(uncertainty); break;
            case PsfColumn::width_y: to.sy_unc_px = std::move(uncertainty); break;
            case PsfColumn::z: to.lpz_nm = scaled(std::move(uncertainty), 1000); break;
            case PsfColumn::own:
                to.extra[std::string(shape[k].name) + "_unc"].values.assign(uncertainty.begin(), uncertainty.end());
                break;
        }
    }
}

void add_corners(std::vector<float>& to, const Fits& fits, const std::vector<std::int32_t>& corners) {
    for (std::size_t row = 0; row < to.size() && !corners.empty(); ++row)
        to[row] += float(corners[fits.window_index(row)]);
}

}  // namespace

std::span<const LocalizationColumn> localization_columns() { return columns; }

void append(Localizations& to, const Localizations& more) {
    for (const LocalizationColumn& column : columns) extend(to.*column.values, more.*column.values);
    extend(to.frame, more.frame);
    extend(to.iterations, more.iterations);
    extend(to.status, more.status);
    for (const auto& [name, column] : more.extra) {
        const auto [place, is_new] = to.extra.try_emplace(name, ExtraColumn{{}, true});
        place->second.is_integer &= column.is_integer;
        extend(place->second.values, column.values);
    }
    if (to.width == 0) {
        to.width = more.width, to.height = more.height, to.frames = more.frames;
        to.pixel_size_nm = more.pixel_size_nm, to.history = more.history;
    }
}

Localizations select(const Localizations& from, std::span<const std::size_t> keep) {
    Localizations out;
    std::vector<std::function<void()>> picks;
    const auto add = [&](auto& to, const auto& values) {
        if (!values.empty()) picks.push_back([&to, &values, keep] { to = pick(values, keep); });
    };
    for (const LocalizationColumn& column : columns) add(out.*column.values, from.*column.values);
    add(out.frame, from.frame), add(out.iterations, from.iterations), add(out.status, from.status);
    for (const auto& [name, column] : from.extra) {
        ExtraColumn& to = out.extra[name];
        to.is_integer = column.is_integer;
        add(to.values, column.values);
    }
    do_all(picks, keep.size());
    out.width = from.width, out.height = from.height, out.frames = from.frames;
    out.pixel_size_nm = from.pixel_size_nm, out.history = from.history;
    return out;
}

Localizations to_localizations(Fits fits, const Rois& rois, const Psf& psf, double pixel_size_nm, bool keep_failed) {
    Localizations all;
    const std::size_t n = fits.count();
    all.pixel_size_nm = pixel_size_nm;
    all.x_px = std::move(fits.theta[0]), all.y_px = std::move(fits.theta[1]);
    all.photons = std::move(fits.theta[2]), all.bg = std::move(fits.theta[3]);
    all.lpx_px = std::move(fits.crlb[0]), all.lpy_px = std::move(fits.crlb[1]);
    all.photons_unc = std::move(fits.crlb[2]), all.bg_unc = std::move(fits.crlb[3]);
    all.log_likelihood = std::move(fits.log_likelihood_ratio), all.p_value = std::move(fits.p_value);
    resize_large(all.frame, n);
    const auto fill_frames = [&] {
        for (std::size_t row = 0; row < n; ++row) {
            const std::size_t window = fits.window_index(row);
            all.frame[row] = rois.frame.empty() ? std::uint32_t(window) : rois.frame[window];
        }
    };
    const auto fill_status = [&] {
        resize_large(all.status, n);
        for (std::size_t row = 0; row < n; ++row) all.status[row] = std::uint8_t(fits.status[row]);
    };
    const auto copy = [](auto& to, const auto& from) {
        resize_large(to, from.size());
        std::copy(from.begin(), from.end(), to.begin());
    };
    do_all({fill_frames, fill_status, [&] { add_corners(all.x_px, fits, rois.x_corner); },
            [&] { add_corners(all.y_px, fits, rois.y_corner); },
            [&] {
                fill_shape<float>(all, psf, pixel_size_nm, std::span(fits.theta).subspan(4));
                fill_shape_uncertainties(all, fits, psf.model);
            },
            [&] { copy(all.emitters, fits.emitters); }, [&] { copy(all.iterations, fits.iterations); }},
           n);
    if (keep_failed) return all;

    std::vector<std::size_t> keep;
    for (std::size_t k = 0; k < n; ++k)
        if (has_position(fits.status[k])) keep.push_back(k);
    if (keep.size() == n) return all;
    return select(all, keep);
}

}  // namespace glint
