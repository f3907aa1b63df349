// Rows farther from the beads of a measured PSF than its cells reach.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "run/row_checks.hpp"

namespace glint {
namespace {

constexpr double max_share_outside = 0.01;  // beads do not reach the border of the frames

}  // namespace

RowsOutsideField::RowsOutsideField(const LocalizeOptions& options) {
    if (!options.psf.has_field()) return;
    field_ = options.psf.table->field();
    field_.left_px -= options.psf.field_x_px, field_.top_px -= options.psf.field_y_px;
    if (options.region) field_.left_px += options.region->region.x, field_.top_px += options.region->region.y;
}

void RowsOutsideField::add(const Localizations& rows) {
    if (field_.cells() == 1) return;
    const auto is_outside = [this](double from_first_px, int cells) {
        return from_first_px < -field_.cell_px || from_first_px > (cells + 1) * field_.cell_px;
    };
    for (std::size_t k = 0; k < rows.size(); ++k)
        outside_ += is_outside(double(rows.x_px[k]) - field_.left_px, field_.cells_x) ||
                    is_outside(double(rows.y_px[k]) - field_.top_px, field_.cells_y);
    rows_ += std::int64_t(rows.size());
}

std::string RowsOutsideField::warning() const {
    if (!(double(outside_) > max_share_outside * double(rows_))) return "";
    return fmt::format(
        "{} of {} localizations lie outside of the field in which the PSF was measured (x {:.4g} to {:.4g} px, y "
        "{:.4g} "
        "to {:.4g} px of this movie) by more than one of its cells of {:.3g} px. They were fitted with the PSF of the "
        "nearest cell, so that x, y and z may be wrong. Measure the PSF with beads all over the field. If this movie "
        "shows another part of the sensor than the beads did, give a camera with maps and `sensor_roi=X,Y` for both",
        outside_, rows_, field_.left_px, field_.left_px + field_.cells_x * field_.cell_px, field_.top_px,
        field_.top_px + field_.cells_y * field_.cell_px, field_.cell_px);
}

}  // namespace glint
