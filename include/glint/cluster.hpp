// Clusters of localizations, by DBSCAN (docs/explanation/theory.md, section 14).
//
//     const glint::Localizations table = glint::read_localizations("movie.hdf5");
//     const glint::Clusters found = glint::cluster(table, {.radius_nm = 20, .min_neighbors = 10});
//     for (std::size_t k = 0; k < found.size.size(); ++k)
//         std::printf("%u localizations at %.0f, %.0f nm\n", found.size[k], found.x_nm[k], found.y_nm[k]);
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "glint/localizations.hpp"
#include "glint/progress.hpp"

namespace glint {

/// Options of cluster().
struct ClusterOptions {
    double radius_nm = 20;           ///< distance in x, y within which localizations are neighbours
    double axial_radius_nm = 0;      ///< radius along z; 0: z is ignored
    int min_neighbors = 5;           ///< minimum number of localizations within the radius of a core, itself included
    const StopFlag* stop = nullptr;  ///< after a stop, the result is empty or incomplete
};

/// The result of cluster(). Lengths are in nm.
struct Clusters {
    static constexpr std::int32_t none = -1;  ///< label of a localization outside all clusters

    /// The cluster of each row, or `none`. Clusters are numbered from 0 in the order of their first cores. A row at the
    /// border of several clusters belongs to the first one. The labels are those of scikit-learn.
    std::vector<std::int32_t> label;

    // One value per cluster.
    std::vector<std::uint32_t> size;       ///< localizations
    std::vector<double> x_nm, y_nm, z_nm;  ///< centres; x, y from the outer edge of the first pixel; z empty without z
    std::vector<double> rms_radius_nm;     ///< sqrt(mean squared distance from the centre in x, y)
    std::vector<double> mean_frame, std_frame;

    // Distances to the nearest neighbour in x, y. NaN with fewer than two points.
    double nearest_nm = 0;         ///< median over localizations
    double nearest_center_nm = 0;  ///< median over the centres of clusters
    double nearest_random_nm = 0;  ///< expected median for as many random points as centres in the table's field
};

/// Finds clusters by DBSCAN (Ester et al., KDD-96, 226). Uses a grid with cells so small that all points of a cell are
/// neighbours (Gunawan, Eindhoven, 2013). Rows without a finite position are outside all clusters.
///
/// Returns the labels and the properties of the clusters; they do not depend on the number of threads. Throws
/// OptionError if
/// - the table has no pixel size, or columns x, y of another length,
/// - radius_nm is not above 0, or axial_radius_nm is below 0 or given for a table without z,
/// - min_neighbors is below 1, or
/// - the table has 2^31 - 1 rows or more.
Clusters cluster(const Localizations& localizations, const ClusterOptions& options = {});

}  // namespace glint
