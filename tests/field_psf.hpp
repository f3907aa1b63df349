// A measured PSF that changes over the field, for pixels of 100 nm: spots become narrower along x and wider
// along y.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "glint/psf.hpp"
#include "psf/astigmatic_table.hpp"

namespace glint::test {

/// Returns SplineXYZNB or SplineXYNB with 3 x 2 cells of 40 px, whose first begins at (-10, 5) px.
inline Psf field_psf(PsfModel model) {
    const bool has_z = describe(model).has_z;
    const PsfTable::Shape shape = has_z ? PsfTable::Shape{27, 35, 35, 1} : PsfTable::Shape{1, 70, 70, 1};
    const PsfField field{3, 2, -10, 5, 40};
    std::vector<float> values;
    std::shared_ptr<const PsfTable> last;
    for (int cell = 0; cell < field.cells(); ++cell) {
        // Narrower along x and wider along y from cell to cell. The filter's width is that of all, so that fits with
        // one cell start in the same way.
        const double change = 0.06 * (cell - 2.5);
        last = make_astigmatic_table({130 * (1 - change), 130 * (1 + change), 200, 400, 0, 0, 0, 0, -600, 600}, 100,
                                     shape, has_z ? 1 : 2);
        values.insert(values.end(), last->values().begin(), last->values().end());
    }
    return measured_psf(std::make_shared<const PsfTable>(shape, std::move(values), last->scale(), field));
}

/// Returns the PSF of one cell.
inline Psf one_cell(Psf psf, int cell) {
    psf.table = psf.table->one_cell(cell);
    return psf;
}

}  // namespace glint::test
