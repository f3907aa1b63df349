// Computes the products of each group with all groups, frequency by frequency.
// SPDX-License-Identifier: MIT
#include "analysis/ring_products.hpp"

#include "analysis/fft_columns.hpp"

namespace glint::GLINT_ISA {
namespace {

using GroupRow = float __attribute__((vector_size(4 * frc_row)));
using DoubleGroupRow = double __attribute__((vector_size(8 * frc_row)));

}  // namespace

void add_ring_products(const PairSpectra& spectra, int block, const std::uint16_t* ring, const double* weight,
                       RingTable* tables) {
    static_assert(frc_groups == 6, "rows are put together from three pairs");
    const int rings = spectra.rings, kept = 2 * rings - 1;
    const auto place = [kept](int kx, int ky) {
        return (std::ptrdiff_t(ky / fft_columns_at_once) * kept + kx) * fft_block_row + ky % fft_columns_at_once;
    };
    const int first = block * fft_columns_at_once, end = first + fft_columns_at_once;
    for (int kx = 0; kx < rings; ++kx)
        for (int ky = first; ky < (end < kept ? end : kept); ++ky) {
            const int size = ky < rings ? ky : kept - ky, at = ring[kx * rings + size];
            if (at >= rings || (kx == 0 && (ky == 0 || ky >= rings))) continue;
            // The transforms at a frequency and at its opposite give both groups of a pair.
            const std::ptrdiff_t here = place(kx, ky), there = place(kx ? kept - kx : 0, ky ? kept - ky : 0);
            float r[3], i[3], r2[3], i2[3];
            for (int pair = 0; pair < 3; ++pair) {
                const float* values = spectra.values[pair];
                r[pair] = values[here], i[pair] = values[here + fft_columns_at_once];
                r2[pair] = values[there], i2[pair] = values[there + fft_columns_at_once];
            }
            const GroupRow re = 0.5f * (GroupRow{r[0], i[0], r[1], i[1], r[2], i[2]} +
                                        GroupRow{r2[0], i2[0], r2[1], i2[1], r2[2], i2[2]});
            const GroupRow im = 0.5f * (GroupRow{i[0], r2[0], i[1], r2[1], i[2], r2[2]} -
                                        GroupRow{i2[0], r[0], i2[1], r[1], i2[2], r[2]});
            const double by = weight[kx] * weight[size];
            for (int a = 0; a < frc_groups; ++a) {
                const DoubleGroupRow products = __builtin_convertvector(re[a] * re + im[a] * im, DoubleGroupRow);
                DoubleGroupRow sum;
                double* to = tables[at].products[a];
                __builtin_memcpy(&sum, to, sizeof sum);
                sum += by * products;
                __builtin_memcpy(to, &sum, sizeof sum);
            }
        }
}

}  // namespace glint::GLINT_ISA
