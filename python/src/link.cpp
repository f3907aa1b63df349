// Bindings: linking the localizations of each blink (glint/linking.py).
// SPDX-License-Identifier: MIT
#include "glint/link.hpp"

#include <nanobind/ndarray.h>

#include "bindings.hpp"
#include "columns.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

nb::dict dict_of(const InTrackVariance& variance) {
    nb::dict dict;
    dict["a_nm2"] = nb::make_tuple(variance.a_nm2, variance.a_error_nm2);
    dict["b"] = nb::make_tuple(variance.b, variance.b_error);
    dict["pairs"] = variance.pairs;
    return dict;
}

nb::tuple link_table(const Localizations& table, double radius_sigma, double radius_nm, int gap, bool merged,
                     nb::handle progress) {
    Running running;
    LinkOptions options;
    options.radius_sigma = radius_sigma, options.radius_nm = radius_nm, options.gap = gap;
    options.progress = running.progress(progress), options.stop = running.stop();
    auto [linked, links] = running.run([&] {
        Links found = link(table, options);
        Localizations out = merged ? merge_tracks(table, found) : with_tracks(table, found);
        return std::pair(std::move(out), std::move(found));
    });
    nb::dict dict;
    dict["tracks"] = links.tracks, dict["links"] = links.links, dict["unlinkable"] = links.unlinkable,
    dict["gap"] = links.gap, dict["uses_z"] = links.uses_z;
    dict["radius_sigma"] = links.radius_sigma, dict["radius_nm"] = links.radius_nm;
    dict["false_links"] = links.false_links, dict["missed_links"] = links.missed_links;
    dict["lateral"] = dict_of(links.lateral), dict["axial"] = dict_of(links.axial);
    return nb::make_tuple(std::move(linked), dict);
}

}  // namespace

void bind_link(nb::module_& m) {
    using namespace nb::literals;
    m.attr("auto_gap") = LinkOptions::auto_gap;
    m.def("linked_warning", &linked_warning, "table"_a);
    m.def("link", &link_table, "table"_a, "radius_sigma"_a, "radius_nm"_a, "gap"_a, "merged"_a, "progress"_a.none());
}

}  // namespace glint::python
