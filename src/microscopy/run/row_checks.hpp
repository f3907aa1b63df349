// Statistics of a run's rows, for warnings at its end.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "glint/localizations.hpp"
#include "glint/localize.hpp"

namespace glint {

using PhotonBins = std::array<std::int64_t, 2048>;

/// A bin is a sign, an exponent and three bits of the fraction. Photons are positive.
constexpr int photon_bin_shift = 20;
inline std::size_t photon_bin(float photons) {
    return photons > 0 ? std::bit_cast<std::uint32_t>(photons) >> photon_bin_shift : 0;
}
inline float end_of_photon_bin(std::size_t bin) {
    return std::bit_cast<float>(std::uint32_t(bin + 1) << photon_bin_shift);
}

/// Counts over the rows of a run.
class SmallPValues {
  public:
    void add(const Localizations& rows);

    /// Returns a message for the user: the share of small p values, the missing photons, and the remedy. Empty if the
    /// share may be chance, and no light is missing. `with_z`: whether the model's shape gives z.
    std::string warning(const LoneSpots& lone, bool with_z = false) const;

  private:
    PhotonBins lone_{}, small_{};  ///< rows of lone spots; of these, rows with p < 0.05
};

/// Sums over the rows of a run. Rows without the columns `emitters` and `p_single` are ignored.
class Crowding {
  public:
    void add(const Localizations& rows);

    /// Returns true if frames are so dense that more than a few rows represent several molecules. `noise`: the movie's
    /// noise divided by the noise that the camera's values predict, at least 1. With too little noise assumed, false
    /// molecules beside true ones explain the rest.
    bool is_crowded(double noise = 1) const;
    /// Returns a message for the user: how many rows represent several molecules, the consequences, and the remedy.
    /// Alternatively, reports that rows of groups are too bright for single molecules, with the position of the
    /// brightest. Empty if neither applies.
    std::string warning(double noise = 1) const;

  private:
    struct Row {
        std::int64_t frame = 0;
        float x_px = 0, y_px = 0, photons = 0;
    };

    double pull() const;  ///< ratio of expected errors to stated errors, root mean square

    std::int64_t rows_ = 0, alone_ = 0;
    double several_ = 0;    ///< expected number of rows that represent several molecules
    double variances_ = 0;  ///< expected squared errors of rows, relative to the stated ones
    PhotonBins by_photons_alone_{}, by_photons_in_groups_{};
    Row brightest_in_group_;
};

/// Counts the distances from rows to their nearest neighbours in the same frame, in every eighth frame.
class ConstantPairs {
  public:
    /// `rows`: of whole frames, ordered by frame.
    void add(const Localizations& rows);

    /// Returns a message for the user: the distance, and its possible causes. Empty if distances vary, as for random
    /// molecules.
    std::string warning() const;

  private:
    static constexpr int bins = 64;  ///< an eighth of a pixel each
    std::array<std::int64_t, bins> at_{};
    std::int64_t rows_ = 0;
};

/// Counts the rows of a run by position and photons.
class RepeatedRows {
  public:
    /// For frames of this size, px.
    RepeatedRows(int width, int height);
    void add(const Localizations& rows);

    /// Returns a message for the user: how many rows may be static light, and the remedy. Empty if they are few.
    std::string warning(std::int64_t frames) const;

  private:
    static constexpr int octaves = 32;  ///< of photons
    /// Rows in each cell.
    using Cells = std::vector<std::uint32_t>;
    std::array<Cells, octaves> cells_;
    std::array<std::int64_t, octaves> rows_{};
    std::size_t cells_along_, cells_down_;
};

/// Counts the rows outside of the field of a measured PSF that changes over it.
class RowsOutsideField {
  public:
    explicit RowsOutsideField(const LocalizeOptions& options);
    /// `rows`: in the coordinates of whole frames.
    void add(const Localizations& rows);

    /// Returns a message for the user: how many rows lie outside, by more than a cell, and the remedy. Empty if they
    /// are few, or the PSF is the same everywhere.
    std::string warning() const;

  private:
    PsfField field_;  ///< in the coordinates of whole frames; one cell if the PSF is the same everywhere
    std::int64_t rows_ = 0, outside_ = 0;
};

}  // namespace glint
