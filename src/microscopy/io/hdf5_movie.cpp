// Movies in HDF5 files of no special format: a dataset of (frames, y, x).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "glint/error.hpp"
#include "io/hdf5/chunked_array.hpp"
#include "io/hdf5/dataset_movie.hpp"
#include "io/hdf5/file.hpp"
#include "io/movie_readers.hpp"
#include "io/planes.hpp"

namespace glint {
namespace {

constexpr int deepest_group = 4;
constexpr std::size_t max_objects = 10000;

/// The datasets that can be movies. Links are not followed.
struct FoundDatasets {
    std::vector<std::string> movies;
    std::size_t objects = 0;  ///< number of examined objects
};

void look_in(hid_t group, const std::string& path, int depth, FoundDatasets& found) {
    for (const std::string& name : hdf5::names_in(group)) {
        if (++found.objects > max_objects) return;
        const std::string inside = path.empty() ? name : fmt::format("{}/{}", path, name);
        H5L_info_t link;
        H5O_info_t object;
        if (H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) continue;
        if (H5Oget_info_by_name(group, name.c_str(), &object, H5P_DEFAULT) < 0) continue;
        if (object.type == H5O_TYPE_GROUP && depth < deepest_group) {
            const hdf5::Handle inner(H5Gopen2(group, name.c_str(), H5P_DEFAULT));
            if (inner.valid()) look_in(inner, inside, depth + 1, found);
        } else if (object.type == H5O_TYPE_DATASET) {
            const hdf5::Handle dataset(H5Dopen2(group, name.c_str(), H5P_DEFAULT));
            const hdf5::Handle type(dataset.valid() ? H5Dget_type(dataset) : -1);
            const bool is_movie =
                type.valid() && hdf5::stored_type(type) && !hdf5::three_dimensions(hdf5::shape_of(dataset)).empty();
            if (is_movie) found.movies.push_back(inside);
        }
    }
}

}  // namespace

std::unique_ptr<Movie> open_hdf5_dataset(const std::filesystem::path& path, const MovieChoice& choice) {
    const hdf5::Quiet quiet;
    const hdf5::Handle file = hdf5::open_file(path);
    FoundDatasets found;
    look_in(file, "", 0, found);
    if (found.movies.empty())
        throw InputError(fmt::format(
            "{}: is an HDF5 file without a movie: neither DataSet/ResolutionLevel 0 of Imaris nor a dataset of "
            "numbers of (frames, y, x) is in it, but: {}",
            path.string(), fmt::join(hdf5::names_in(file), ", ")));
    std::size_t chosen = 0;
    MovieChoice others = choice;
    if (found.movies.size() > 1) {
        const Axis positions{Dimension::position, std::int64_t(found.movies.size()), found.movies};
        chosen = std::size_t(chosen_planes({positions}, {.position = choice.position}, path.string()).first);
        others.position.reset();
    }
    require_single_planes(others, path.string());
    const std::string& name = found.movies[chosen];
    const hdf5::Handle dataset = hdf5::open_dataset(file, name.c_str(), path);
    return hdf5::movie_of_dataset(path, dataset, name, false);
}

}  // namespace glint
