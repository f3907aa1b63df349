// The precision of localizations and the resolution of their picture (docs/explanation/theory.md, section 14).
//
//     const glint::Localizations table = glint::read_localizations("movie.hdf5");  // not linked to one row a blink
//     const glint::Resolution measured = glint::resolution(table);
//     std::printf("NeNA %.1f +- %.1f nm\n", measured.nena.precision.nm, measured.nena.precision.error_nm);
//     std::printf("FRC %.0f nm, at 1/7\n", measured.frc.resolution.nm);  // NaN: no resolution, see the caveats
//     for (const std::string& caveat : measured.caveats) std::puts(caveat.c_str());
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

/// A length with its standard error, nm. Both are NaN if the table does not determine the length.
struct Measured {
    double nm = std::numeric_limits<double>::quiet_NaN();
    double error_nm = std::numeric_limits<double>::quiet_NaN();
};

/// Options of nena().
struct NenaOptions {
    int lag = 1;  ///< frames from the first to the second localization of a pair; 1 or more
};

/// The parameters of NeNA's fit that are the same in the whole field.
struct NenaShape {
    /// Shape parameter a of eq. 14.2; infinite if all precisions are equal.
    double spread = 0;
    /// The Gaussian that accounts for other molecules: its centre, and its width as a share of the centre.
    double gauss_place_nm = 0, gauss_share = 0;
    double end_nm = 0;  ///< end of the histogram; 0: there was no fit
};

/// The result of nena(): the precision from the distances between localizations and their nearest neighbours in the
/// next frame. Most of these neighbours are the same molecule.
struct Nena {
    int lag = 1;
    Measured precision;  ///< median standard deviation along an axis, if precisions differ (eq. 14.2)
    Measured rms;        ///< root mean square of these standard deviations
    Measured single;     ///< by the model of the paper, with one precision for all (eq. 14.1)
    /// Median of the stated precisions (lpx, lpy) over the pairs of one molecule; NaN without these columns.
    double stated_nm = std::numeric_limits<double>::quiet_NaN();
    double same_molecule = 0;  ///< share of the pairs that are the same molecule twice
    std::size_t pairs = 0;     ///< in the histogram
    NenaShape shape;
    std::vector<double> distance_nm, counts, fit;  ///< the histogram: centres of bins, pairs, expected pairs (eq. 14.2)

    /// Returns whether the measured precision differs from the stated one by more than a tenth and more than three
    /// standard errors.
    bool contradicts_stated() const;
};

/// Estimates the precision from neighbours in consecutive frames: NeNA (Endesfelder et al., Histochem. Cell Biol. 141,
/// 629 (2014)). Rows may be in any order.
///
/// Returns NaN for all results if there are fewer than 100 pairs. Standard errors are those of a jackknife over 20
/// blocks of frames. The result does not depend on the number of threads. Throws
/// - OptionError if the table has no pixel size, a column x or y of another length, or the lag is below 1
/// - InputError if the rows are molecules with mean frames
Nena nena(const Localizations& localizations, const NenaOptions& options = {});

/// What FRC divides into two halves.
enum class FrcSplit {
    blinks,  ///< the consecutive localizations of a molecule stay together
    blocks,  ///< blocks of consecutive frames stay together
};

/// Options of frc().
struct FrcOptions {
    FrcSplit split = FrcSplit::blinks;
    /// Maximum distance of localizations in consecutive frames that are one blink; 0: 5 times NeNA's precision.
    double link_radius_nm = 0;
    int dark_frames = 1;             ///< maximum number of consecutive dark frames within a blink; 0 to 1000
    int block_frames = 500;          ///< frames of a block; 1 or more
    double finest_nm = 0;            ///< the finest resolution of the curve; 0: 3, 2.1 or 1.5 times NeNA's precision
    std::uint64_t seed = 1;          ///< of the random splits
    const StopFlag* stop = nullptr;  ///< after a stop, the result has no curve
    Progress progress;               ///< counts tiles of the field
};

/// The result of frc(): the correlation of two halves of the data.
struct Frc {
    /// 1 / frequency at which the smoothed curve falls below 1/7: mean and standard deviation over the splits. NaN if
    /// the result is coarser than `coarsest_nm` or than half of `random_nm`.
    Measured resolution;
    /// The coarsest resolution that the field can show. Above it, there are too few Fourier pixels to distinguish 1/7
    /// from chance (eq. 14.5).
    double coarsest_nm = 0;
    /// The resolution that as many random points would give, because of the outline of the field and of its tiles (eq.
    /// 14.6). NaN if there is none.
    double random_nm = std::numeric_limits<double>::quiet_NaN();
    bool like_random = false;  ///< the curve falls to 1/7 at more than half of random_nm: there is no resolution
    std::vector<double> frequency_per_nm, correlation, smoothed;  ///< the curve: means over splits
    /// Blinks or blocks that were divided. There is no curve with fewer than 6, or if positions repeat too finely for
    /// the size of the field.
    std::size_t units = 0;
    int splits = 0;
    double link_radius_nm = 0;  ///< as used; 0 for blocks
};

/// Computes the Fourier ring correlation of two random halves of the localizations (Nieuwenhuizen et al., Nat. Methods
/// 10, 557 (2013)). Transforms points, not pixels, in tiles of the field with soft edges, and adds up the rings of all
/// tiles (section 14.2). Omits rows far from all others: at least 10,000 px away, and less than 1 % of all rows. Needs
/// memory for the table and a few tiles.
///
/// Returns a result without a curve if the precision is unknown, or there are too few units. Throws
/// - OptionError if the table has no pixel size, a column x or y of another length, an option is out of range, or
///   `finest_nm` is too small for the field
/// - InputError if the rows are molecules with mean frames
Frc frc(const Localizations& localizations, const FrcOptions& options = {});

/// Options of resolution().
struct ResolutionOptions {
    FrcOptions frc;                  ///< `stop` and `progress` below replace those of `frc`
    double tile_nm = 5000;           ///< edge of the map's tiles
    const StopFlag* stop = nullptr;  ///< after a stop, the result is incomplete
    Progress progress;               ///< counts tiles of the field
};

/// The result of resolution().
struct Resolution {
    Nena nena;
    std::vector<Nena> later;  ///< NeNA at lags of 2 and 3 frames, without histograms; drift and motion increase it
    Frc frc;
    /// Maps with one value per tile: localizations per um^2, NeNA's precision and its standard error in nm. The last
    /// two are NaN if a tile has too few pairs.
    Picture density_per_um2, precision_nm, precision_error_nm;
    /// Corner of the first tile, from the outer edge of the first pixel. Not 0 only if there would be more than 4
    /// million tiles: the maps then cover only the part of the field that has localizations.
    double map_x_nm = 0, map_y_nm = 0;
    std::vector<std::string> caveats;  ///< sentences about assumptions that do not seem to hold
};

/// Estimates precision, resolution and their maps, and checks their assumptions.
///
/// Returns the results of nena() and frc() with the maps and the caveats. Throws what these functions throw, and
/// OptionError if `tile_nm` is not above 0 or the map would have more than 4 million tiles.
Resolution resolution(const Localizations& localizations, const ResolutionOptions& options = {});

}  // namespace glint
