// Clusters of localizations, by DBSCAN (docs/explanation/theory.md, section 14).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "glint/localizations.hpp"
#include "glint/progress.hpp"

namespace glint {

struct ClusterOptions {
    double radius_nm = 20;
    double axial_radius_nm = 0;  ///< radius along z; 0: z does not count
    int min_neighbors = 5;       ///< of a core, within the radius, itself counted
    const StopFlag* stop = nullptr;
};

struct Clusters {
    static constexpr std::int32_t none = -1;  ///< label of a localization of no cluster

    /// By row: the number of its cluster. Clusters are numbered from 0 by their first core; a row that is no core, but
    /// within the radius of cores of several clusters, belongs to the first of these: as in scikit-learn.
    std::vector<std::int32_t> label;

    // By cluster.
    std::vector<std::uint32_t> size;
    std::vector<double> x_nm, y_nm, z_nm;  ///< centres; x, y from the outer edge of the first pixel; z empty without z
    std::vector<double> rms_radius_nm;     ///< sqrt(mean squared distance from the centre in x, y)
    std::vector<double> mean_frame, std_frame;

    // Nearest neighbours, in x, y; NaN with fewer than two points.
    double nearest_nm = 0;         ///< median over localizations
    double nearest_center_nm = 0;  ///< median over centres of clusters
    double nearest_random_nm = 0;  ///< what the median over centres were, of as many random points in the table's field
};

/// DBSCAN (Ester et al., KDD-96, 226) on a grid whose cells are so small that all points of one are neighbours. Rows with
/// positions that are not finite belong to no cluster. Throws OptionError without a pixel size, or for a radius that is no length.
/// Does not depend on the number of threads.
Clusters cluster(const Localizations& localizations, const ClusterOptions& options = {});

}  // namespace glint
