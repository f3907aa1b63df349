// Bindings: precision, resolution and clusters of localizations (glint/resolving.py).
// SPDX-License-Identifier: MIT
#include "glint/resolution.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "analysis/nena.hpp"
#include "bindings.hpp"
#include "columns.hpp"
#include "glint/cluster.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

nb::tuple pair_of(const Measured& figure) { return nb::make_tuple(figure.nm, figure.error_nm); }

nb::object map_of(Picture&& picture) {
    const auto [kept_picture, owner] = kept(std::move(picture));
    const std::size_t shape[] = {std::size_t(kept_picture->height), std::size_t(kept_picture->width)};
    return nb::cast(nb::ndarray<nb::numpy, float>(kept_picture->values.data(), 2, shape, owner));
}

nb::dict dict_of(Nena&& nena) {
    nb::dict dict;
    dict["lag"] = nena.lag, dict["pairs"] = nena.pairs, dict["same_molecule"] = nena.same_molecule;
    dict["stated_nm"] = nena.stated_nm, dict["precision_nm"] = pair_of(nena.precision),
    dict["rms_nm"] = pair_of(nena.rms);
    dict["single_nm"] = pair_of(nena.single);
    const auto [data, owner] = kept(std::move(nena));
    Columns columns(owner);
    columns.add("distance_nm", data->distance_nm);
    columns.add("counts", data->counts);
    columns.add("fit", data->fit);
    dict.update(columns.take());
    return dict;
}

nb::dict dict_of(Frc&& frc) {
    nb::dict dict;
    dict["resolution_nm"] = pair_of(frc.resolution), dict["units"] = frc.units, dict["splits"] = frc.splits;
    dict["link_radius_nm"] = frc.link_radius_nm, dict["coarsest_nm"] = frc.coarsest_nm;
    dict["random_nm"] = frc.random_nm, dict["like_random"] = frc.like_random;
    const auto [data, owner] = kept(std::move(frc));
    Columns columns(owner);
    columns.add("frequency_per_nm", data->frequency_per_nm);
    columns.add("correlation", data->correlation);
    columns.add("smoothed", data->smoothed);
    dict.update(columns.take());
    return dict;
}

nb::dict dict_of(Resolution&& found) {
    nb::dict dict;
    dict["nena"] = dict_of(std::move(found.nena));
    nb::list later;
    for (Nena& nena : found.later) later.append(dict_of(std::move(nena)));
    dict["later"] = later, dict["frc"] = dict_of(std::move(found.frc));
    dict["tile_nm"] = found.precision_nm.pixel_size_nm;
    dict["density_per_um2"] = map_of(std::move(found.density_per_um2));
    dict["precision_map_nm"] = map_of(std::move(found.precision_nm));
    dict["precision_error_map_nm"] = map_of(std::move(found.precision_error_nm));
    dict["first_tile_nm"] = nb::make_tuple(found.map_x_nm, found.map_y_nm);
    dict["caveats"] = in_python(found.caveats);
    return dict;
}

nb::dict cluster_table(const Localizations& table, double radius_nm, double axial_radius_nm, int min_neighbors) {
    Running running;
    Clusters found = running.run([&] {
        return cluster(table, {.radius_nm = radius_nm,
                               .axial_radius_nm = axial_radius_nm,
                               .min_neighbors = min_neighbors,
                               .stop = running.stop()});
    });
    nb::dict dict;
    dict["nearest_nm"] = found.nearest_nm, dict["nearest_center_nm"] = found.nearest_center_nm;
    dict["nearest_random_nm"] = found.nearest_random_nm;
    const auto [data, owner] = kept(std::move(found));
    Columns columns(owner);
    columns.add("label", data->label);
    columns.add("size", data->size);
    columns.add("x_nm", data->x_nm);
    columns.add("y_nm", data->y_nm);
    columns.add_if_known("z_nm", data->z_nm);
    columns.add("rms_radius_nm", data->rms_radius_nm);
    columns.add("mean_frame", data->mean_frame);
    columns.add("std_frame", data->std_frame);
    dict.update(columns.take());
    return dict;
}

}  // namespace

void bind_resolution(nb::module_& m) {
    nb::class_<FrcOptions>(m, "FrcOptions")
        .def(nb::init<>())
        .def_prop_rw(
            "blocks", [](const FrcOptions& o) { return o.split == FrcSplit::blocks; },
            [](FrcOptions& o, bool blocks) { o.split = blocks ? FrcSplit::blocks : FrcSplit::blinks; })
        .def_rw("link_radius_nm", &FrcOptions::link_radius_nm)
        .def_rw("dark_frames", &FrcOptions::dark_frames)
        .def_rw("block_frames", &FrcOptions::block_frames)
        .def_rw("finest_nm", &FrcOptions::finest_nm)
        .def_rw("seed", &FrcOptions::seed);
    m.def("linked_caveat", &linked_caveat, "table"_a);
    m.def(
        "nena",
        [](const Localizations& table, int lag) {
            Running running;
            return dict_of(running.run([&] { return nena(table, {.lag = lag}); }));
        },
        "table"_a, "lag"_a);
    m.def(
        "frc",
        [](const Localizations& table, FrcOptions options, nb::handle progress) {
            Running running;
            options.progress = running.progress(progress), options.stop = running.stop();
            return dict_of(running.run([&] { return frc(table, options); }));
        },
        "table"_a, "options"_a, "progress"_a.none());
    m.def(
        "resolution",
        [](const Localizations& table, const FrcOptions& of_frc, double tile_nm, nb::handle progress) {
            Running running;
            ResolutionOptions options{of_frc, tile_nm, running.stop(), running.progress(progress)};
            return dict_of(running.run([&] { return resolution(table, options); }));
        },
        "table"_a, "frc"_a, "tile_nm"_a, "progress"_a.none());
    m.def("cluster", &cluster_table, "table"_a, "radius_nm"_a, "axial_radius_nm"_a, "min_neighbors"_a);
}

}  // namespace glint::python
