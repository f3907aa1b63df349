// Dim rows that come back in the same places in much of the movie, as static light makes them.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "glint/localizations.hpp"

namespace glint {

/// Counts the rows of a run by place and photons.
class RepeatedRows {
  public:
    /// Of frames of this size, px.
    RepeatedRows(int width, int height);
    void add(const Localizations& rows);

    /// For a person: how many rows may be static light, and what to do. Empty if they are few.
    std::string warning(std::int64_t frames) const;

  private:
    static constexpr int octaves = 32;  ///< of photons
    /// Rows in each cell.
    using Cells = std::vector<std::uint32_t>;
    std::array<Cells, octaves> cells_;
    std::array<std::int64_t, octaves> rows_{};
    std::size_t cells_along_, cells_down_;
};

}  // namespace glint
