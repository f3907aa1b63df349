// The table of localizations: its columns, and rows appended and selected.
// SPDX-License-Identifier: MIT
#include "glint/localizations.hpp"

#include <algorithm>

namespace glint {
namespace {

using L = Localizations;
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
    {"p_value", "", &L::p_value},
};

template <class T>
void extend(std::vector<T>& to, const std::vector<T>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

template <class T>
std::vector<T> pick(const std::vector<T>& from, std::span<const std::size_t> keep) {
    std::vector<T> out;
    if (from.empty()) return out;
    out.reserve(keep.size());
    for (std::size_t k : keep) out.push_back(from[k]);
    return out;
}

std::vector<float> scaled(const std::vector<float>& values, float factor) {
    std::vector<float> out(values);
    for (float& v : out) v *= factor;
    return out;
}

std::vector<float> widths(const std::vector<float>& z_um, const AstigmaticCurve& curve,
                          double (AstigmaticCurve::*sigma_um)(double) const, double pixel_size_um) {
    std::vector<float> out;
    out.reserve(z_um.size());
    for (float z : z_um) out.push_back(float((curve.*sigma_um)(z) / pixel_size_um));
    return out;
}

void fill_widths(Localizations& to, const Fits& fits, const Psf& psf, double pixel_size_um) {
    switch (psf.model) {
        case PsfModel::GaussianXYNB:
            to.sx_px = to.sy_px = std::vector<float>(fits.count(), float(psf.sigma_um / pixel_size_um));
            break;
        case PsfModel::GaussianXYNBS:
            to.sx_px = to.sy_px = fits.theta[4];
            to.sx_unc_px = to.sy_unc_px = fits.crlb[4];
            break;
        case PsfModel::GaussianXYNBSXSY:
            to.sx_px = fits.theta[4], to.sy_px = fits.theta[5];
            to.sx_unc_px = fits.crlb[4], to.sy_unc_px = fits.crlb[5];
            break;
        case PsfModel::AstigmaticXYZNB:
            to.z_nm = scaled(fits.theta[4], 1000);
            to.lpz_nm = scaled(fits.crlb[4], 1000);
            to.sx_px = widths(fits.theta[4], psf.curve, &AstigmaticCurve::sigma_x_um, pixel_size_um);
            to.sy_px = widths(fits.theta[4], psf.curve, &AstigmaticCurve::sigma_y_um, pixel_size_um);
            break;
    }
}

void add_corners(std::vector<float>& to, const std::vector<std::int32_t>& corners) {
    for (std::size_t k = 0; k < corners.size(); ++k) to[k] += float(corners[k]);
}

}  // namespace

std::span<const LocalizationColumn> localization_columns() { return columns; }

void append(Localizations& to, const Localizations& more) {
    for (const LocalizationColumn& column : columns) extend(to.*column.values, more.*column.values);
    extend(to.frame, more.frame);
    extend(to.iterations, more.iterations);
    extend(to.status, more.status);
    for (const auto& [name, values] : more.extra) extend(to.extra[name], values);
    if (to.width == 0) {
        to.width = more.width, to.height = more.height, to.frames = more.frames;
        to.pixel_size_nm = more.pixel_size_nm, to.history = more.history;
    }
}

Localizations select(const Localizations& from, std::span<const std::size_t> keep) {
    Localizations out;
    for (const LocalizationColumn& column : columns) out.*column.values = pick(from.*column.values, keep);
    out.frame = pick(from.frame, keep);
    out.iterations = pick(from.iterations, keep);
    out.status = pick(from.status, keep);
    for (const auto& [name, values] : from.extra) out.extra[name] = pick(values, keep);
    out.width = from.width, out.height = from.height, out.frames = from.frames;
    out.pixel_size_nm = from.pixel_size_nm, out.history = from.history;
    return out;
}

Localizations to_localizations(const Fits& fits, const Rois& rois, const Psf& psf, double pixel_size_nm,
                               bool keep_failed) {
    Localizations all;
    const std::size_t n = fits.count();
    all.pixel_size_nm = pixel_size_nm;
    all.frame = rois.frame;
    for (std::size_t k = all.frame.size(); k < n; ++k) all.frame.push_back(std::uint32_t(k));
    all.x_px = fits.theta[0], all.y_px = fits.theta[1];
    add_corners(all.x_px, rois.x_corner);
    add_corners(all.y_px, rois.y_corner);
    all.photons = fits.theta[2], all.bg = fits.theta[3];
    all.lpx_px = fits.crlb[0], all.lpy_px = fits.crlb[1];
    all.photons_unc = fits.crlb[2], all.bg_unc = fits.crlb[3];
    fill_widths(all, fits, psf, pixel_size_nm / 1000);
    all.log_likelihood = fits.log_likelihood_ratio, all.p_value = fits.p_value;
    all.iterations.assign(fits.iterations.begin(), fits.iterations.end());
    for (FitStatus status : fits.status) all.status.push_back(std::uint8_t(status));
    if (keep_failed) return all;

    std::vector<std::size_t> keep;
    for (std::size_t k = 0; k < n; ++k)
        if (fits.status[k] != FitStatus::singular && fits.status[k] != FitStatus::bad_input) keep.push_back(k);
    return keep.size() == n ? all : select(all, keep);
}

}  // namespace glint
