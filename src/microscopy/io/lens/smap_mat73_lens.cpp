// SMAP's *_3dcal.mat of MATLAB's version 7.3: HDF5 with the dimensions in reverse order.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "glint/error.hpp"
#include "io/lens/lens_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr hssize_t max_references = 1000;

H5O_type_t find_type(hid_t place, const char* name) {
    H5O_info_t info;
    if (!hdf5::has(place, name) || H5Oget_info_by_name(place, name, &info, H5P_DEFAULT) < 0) return H5O_TYPE_UNKNOWN;
    return info.type;
}

/// An object of the file: in a group under a name, or by a reference.
struct Mat73Object {
    hdf5::Handle handle;
    bool is_group = false;
};

/// Opens what a reference leads to again, by its name, with the checks of open_dataset().
hdf5::Handle open_named(hid_t file, hid_t object, const fs::path& path) {
    std::string name(std::size_t(std::max<ssize_t>(H5Iget_name(object, nullptr, 0), 0)), '\0');
    H5Iget_name(object, name.data(), name.size() + 1);
    if (name.empty())
        throw InputError(
            fmt::format("{}: a reference in it leads to an object without a name: the file is damaged; "
                        "copy it again",
                        path.string()));
    return hdf5::open_dataset(file, name.c_str(), path);
}

/// The elements of a structure's field: a group; the objects that a list of references names, which is how MATLAB
/// stores cells and arrays of structures; or a dataset.
std::vector<Mat73Object> open_elements(hid_t place, const char* name, const fs::path& path) {
    std::vector<Mat73Object> objects;
    const H5O_type_t kind = find_type(place, name);
    if (kind == H5O_TYPE_GROUP) objects.push_back({hdf5::Handle(H5Gopen2(place, name, H5P_DEFAULT)), true});
    if (kind != H5O_TYPE_DATASET) return objects;
    hdf5::Handle dataset = hdf5::open_dataset(place, name, path);
    if (H5Aexists(dataset, "MATLAB_empty") > 0) return objects;
    const hdf5::Handle type(H5Dget_type(dataset)), space(H5Dget_space(dataset));
    if (H5Tequal(type, H5T_STD_REF_OBJ) <= 0) {
        objects.push_back({std::move(dataset), false});
        return objects;
    }
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if (count < 0 || count > max_references)
        throw InputError(fmt::format("{}: {} has {} elements, more than the limit of {}", path.string(), name, count,
                                     max_references));
    std::vector<hobj_ref_t> references(std::size_t(count), 0);
    if (count > 0 && H5Dread(dataset, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, references.data()) < 0)
        return objects;
    for (const hobj_ref_t& reference : references) {
        hdf5::Handle object(H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, &reference));
        if (!object.valid() || H5Aexists(object, "MATLAB_empty") > 0) continue;
        const bool is_group = H5Iget_type(object) == H5I_GROUP;
        if (!is_group) object = open_named(dataset, object, path);
        objects.push_back({std::move(object), is_group});
    }
    return objects;
}

double first_element(hid_t group, const char* name, const fs::path& path) {
    constexpr hssize_t max_numbers = 1000;
    for (const Mat73Object& object : open_elements(group, name, path)) {
        if (object.is_group) continue;
        const hdf5::Handle space(H5Dget_space(object.handle));
        const hssize_t count = H5Sget_simple_extent_npoints(space);
        if (count > 0 && count <= max_numbers) return hdf5::read_doubles(object.handle, name, path)[0];
    }
    return 0;
}

/// Coefficients of shape (64, z, x, y).
CellPolynomials read_mat73_coefficients(hid_t dataset, const fs::path& path) {
    const std::vector<hsize_t> shape = hdf5::shape_of(dataset);
    if (shape.size() != 4 || shape[0] != 64)
        throw InputError(
            fmt::format("{}: its coefficients have the shape ({}), not (64, z, x, y): they are no 3D "
                        "spline",
                        path.string(), fmt::join(shape, ", ")));
    check_cells(path, {shape[1], shape[3], shape[2]});
    return matlab_polynomials({shape[3], shape[2], shape[1]}, hdf5::read_floats(dataset, "coeff", path));
}

}  // namespace

bool is_smap_mat73_lens(hid_t file) {
    return find_type(file, "SXY") == H5O_TYPE_GROUP || find_type(file, "cspline") == H5O_TYPE_GROUP;
}

Lens read_smap_mat73_lens(hid_t file, const fs::path& path, const ReadLensOptions& options) {
    const bool is_field = find_type(file, "SXY") == H5O_TYPE_GROUP;
    const hdf5::Handle root(H5Gopen2(file, is_field ? "SXY" : "/", H5P_DEFAULT));
    struct Found {
        const Mat73Object* cspline;
        Mat73Object coefficients;
    };
    const std::vector<Mat73Object> csplines = open_elements(root, "cspline", path);
    std::vector<Found> psfs;
    for (const Mat73Object& cspline : csplines) {
        if (!cspline.is_group) continue;
        for (Mat73Object& object : open_elements(cspline.handle, "coeff", path))
            if (!object.is_group) psfs.push_back({&cspline, std::move(object)});
    }
    const Found& psf = psfs.at(choose_channel(path, psfs.size(), options));
    SmapLensFacts facts;
    facts.z_step_nm = first_element(psf.cspline->handle, "dz", path);
    facts.z0 = first_element(psf.cspline->handle, "z0", path);
    if (is_field) facts.is_mirrored = first_element(root, "EMon", path) != 0;
    if (find_type(file, "parameters") == H5O_TYPE_GROUP) {
        const hdf5::Handle parameters(H5Gopen2(file, "parameters", H5P_DEFAULT));
        facts.pixel_size_um = first_element(parameters, "pixelsize", path);
    }
    return make_smap_lens(path, read_mat73_coefficients(psf.coefficients.handle, path), facts, options);
}

}  // namespace glint
