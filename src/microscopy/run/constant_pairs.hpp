// Rows that lie in pairs of one distance, as the two lobes of a double helix do.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "glint/localizations.hpp"

namespace glint {

/// Counts the distances from rows to their nearest neighbours in the same frame, in every eighth frame.
class ConstantPairs {
  public:
    /// `rows`: of whole frames, ordered by frame.
    void add(const Localizations& rows);

    /// For a person: the distance, and what it may mean. Empty if distances differ, as those of molecules at random do.
    std::string warning() const;

  private:
    static constexpr int bins = 64;  ///< of an eighth of a pixel
    std::array<std::int64_t, bins> at_{};
    std::int64_t rows_ = 0;
};

}  // namespace glint
