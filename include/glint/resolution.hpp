// How precise localizations are, and which detail their picture resolves (docs/explanation/theory.md, section 14).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "glint/localizations.hpp"
#include "glint/picture.hpp"
#include "glint/progress.hpp"

namespace glint {

/// A length with its standard error, nm; both NaN where the table does not determine it.
struct Measured {
    double nm = std::numeric_limits<double>::quiet_NaN();
    double error_nm = std::numeric_limits<double>::quiet_NaN();
};

struct NenaOptions {
    int lag = 1;  ///< frames from the first to the second of a pair
};

/// The part of NeNA's fit that is the same all over a field.
struct NenaShape {
    double spread = 0;                           ///< of the precisions: infinite if all are equal
    double gauss_place_nm = 0, gauss_share = 0;  ///< the width is this share of the place
    double end_nm = 0;                           ///< of the histogram; 0: there was no fit
};

/// NeNA (Endesfelder et al., Histochem. Cell Biol. 141, 629 (2014)): the precision from the distances between
/// localizations and their nearest neighbours in the next frame, most of which are the same molecule.
struct Nena {
    int lag = 1;
    Measured precision;  ///< median standard deviation along an axis; precisions may differ (eq. 14.2)
    Measured rms;        ///< the root mean square instead
    Measured single;     ///< the paper's model instead, of one precision for all (eq. 14.1)
    double stated_nm =
        std::numeric_limits<double>::quiet_NaN();  ///< median over the same pairs of what their rows state (lpx, lpy)
    double same_molecule = 0;                      ///< share of the pairs of the histogram that are one molecule twice
    std::size_t pairs = 0;                         ///< in the histogram
    NenaShape shape;
    std::vector<double> distance_nm, counts, fit;  ///< the histogram: middles of bins, pairs, eq. 14.2

    /// Whether the measured precision differs from the stated one by more than a share that matters and than three errors.
    bool contradicts_stated() const;
};

/// Rows may be in any order. With fewer than 100 pairs the figures are NaN. Standard errors are those of a jackknife
/// over 20 blocks of frames. Throws OptionError without a pixel size. Does not depend on the number of threads.
Nena nena(const Localizations& localizations, const NenaOptions& options = {});

enum class FrcSplit {
    blinks,  ///< consecutive localizations of a molecule go to one half together
    blocks,  ///< blocks of consecutive frames go to one half together
};

struct FrcOptions {
    FrcSplit split = FrcSplit::blinks;
    double link_radius_nm = 0;  ///< localizations of consecutive frames that are as near are one blink; 0: 5 times NeNA
    int dark_frames = 1;        ///< for which a blink may pause
    int block_frames = 500;
    double finest_nm = 0;  ///< the smallest resolution that the curve reaches; 0: 3, 2.1 or 1.5 times NeNA
    std::uint64_t seed = 1;
    const StopFlag* stop = nullptr;
    Progress progress;  ///< in tiles of the field
};

/// Fourier ring correlation (Nieuwenhuizen et al., Nat. Methods 10, 557 (2013)) between two halves of the data.
struct Frc {
    Measured resolution;     ///< 1 / frequency at which the smoothed curve falls below 1/7: mean and standard deviation
                             ///< over splits; NaN if that is coarser than `coarsest_nm` or than half of `random_nm`
    double coarsest_nm = 0;  ///< above it, the field has too few Fourier pixels to tell 1/7 from chance (eq. 14.5)
    /// The resolution that as many points at random would give, by the outline of the field and of its tiles (eq. 14.6);
    /// NaN if they give none.
    double random_nm = std::numeric_limits<double>::quiet_NaN();
    bool like_random = false;  ///< the curve falls to 1/7 at more than half of random_nm: there is no resolution
    std::vector<double> frequency_per_nm, correlation, smoothed;  ///< means over splits
    std::size_t units =
        0;  ///< blinks or blocks that were divided; below 6 there is no curve, nor where positions repeat too finely for the field
    int splits = 0;
    double link_radius_nm = 0;  ///< as used; 0 for blocks
};

/// Both halves are Fourier transformed as points, not as pixels, in tiles of the field with soft edges, whose rings are
/// added (section 14.2). Rows far from all others (10,000 px and more, less than 1 % of all) are left out. Memory: that of the table and of a few tiles. Throws OptionError without a pixel size.
Frc frc(const Localizations& localizations, const FrcOptions& options = {});

struct ResolutionOptions {
    FrcOptions frc;
    double tile_nm = 5000;  ///< edge of the map's tiles
    const StopFlag* stop = nullptr;
    Progress progress;
};

struct Resolution {
    Nena nena;
    std::vector<Nena> later;  ///< the same at longer lags, without histograms: drift and motion make them grow
    Frc frc;
    /// By tile: localizations per um^2, NeNA's precision and its standard error in nm (NaN where a tile has too few pairs).
    Picture density_per_um2, precision_nm, precision_error_nm;
    /// Where the first tile begins, from the outer edge of the first pixel: 0, unless that would make more than 4 million tiles.
    double map_x_nm = 0, map_y_nm = 0;
    std::vector<std::string> caveats;  ///< whole sentences: premises that do not seem to hold
};

/// All of it. Throws OptionError without a pixel size.
Resolution resolution(const Localizations& localizations, const ResolutionOptions& options = {});

}  // namespace glint
