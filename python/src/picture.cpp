// Bindings of rendering and of picture files; users see glint/pictures.py.
// SPDX-License-Identifier: MIT
#include "glint/picture.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "columns.hpp"
#include "glint/picture_io.hpp"
#include "glint/render.hpp"
#include "io/files/check_outputs.hpp"
#include "objects.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

using Density = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rgb = nb::ndarray<const std::uint8_t, nb::shape<-1, -1, 3>, nb::c_contig, nb::device::cpu>;

nb::tuple density_array(Picture&& picture) {
    const auto [kept_picture, owner] = kept(std::move(picture));
    const std::size_t shape[] = {std::size_t(kept_picture->height), std::size_t(kept_picture->width)};
    return nb::make_tuple(nb::ndarray<nb::numpy, float>(kept_picture->values.data(), 2, shape, owner),
                          kept_picture->pixel_size_nm);
}

nb::tuple draw(const Localizations& table, const RenderOptions& options, bool density) {
    Running running;
    if (density) return density_array(running.run([&] { return render(table, options); }));
    return array_of(running.run([&] { return render_rgb(table, options); }));
}

nb::tuple draw_channels(const std::vector<Localizations>& tables, const RenderOptions& options) {
    Running running;
    return array_of(running.run([&] { return render_channels(tables, options); }));
}

void write_colours(const std::filesystem::path& path, const Rgb& array, double pixel_size_nm, bool overwrite) {
    const IfExists if_exists = overwrite ? IfExists::replace : IfExists::refuse;
    check_outputs({path}, if_exists, {});
    Running running;
    running.run([&] {
        RgbPicture picture{int(array.shape(1)), int(array.shape(0)), pixel_size_nm, {}};
        picture.rgb.assign(array.data(), array.data() + array.size());
        write_png(path, picture, if_exists);
        return true;
    });
}

void write_density(const std::filesystem::path& path, const Density& array, double pixel_size_nm, bool overwrite) {
    const IfExists if_exists = overwrite ? IfExists::replace : IfExists::refuse;
    check_outputs({path}, if_exists, {});
    Running running;
    running.run([&] {
        Picture picture{int(array.shape(1)), int(array.shape(0)), pixel_size_nm, {}};
        picture.values.assign(array.data(), array.data() + array.size());
        write_float_tiff(path, picture, if_exists);
        return true;
    });
}

}  // namespace

nb::tuple array_of(RgbPicture&& picture) {
    const auto [kept_picture, owner] = kept(std::move(picture));
    const std::size_t shape[] = {std::size_t(kept_picture->height), std::size_t(kept_picture->width), 3};
    return nb::make_tuple(nb::ndarray<nb::numpy, std::uint8_t>(kept_picture->rgb.data(), 3, shape, owner),
                          kept_picture->pixel_size_nm);
}

void bind_picture(nb::module_& m) {
    nb::enum_<RenderMode>(m, "RenderMode")
        .value("histogram", RenderMode::histogram)
        .value("gaussian", RenderMode::gaussian);
    nb::enum_<RenderColor>(m, "RenderColor")
        .value("density", RenderColor::density)
        .value("z", RenderColor::z)
        .value("frame", RenderColor::frame);
    nb::class_<RenderOptions>(m, "RenderOptions")
        .def(nb::init<>())
        .def_rw("mode", &RenderOptions::mode)
        .def_rw("picture_pixel_nm", &RenderOptions::picture_pixel_nm)
        .def_rw("zoom", &RenderOptions::zoom)
        .def_rw("min_blur_px", &RenderOptions::min_blur_px)
        .def_rw("blur_nm", &RenderOptions::blur_nm)
        .def_prop_rw(
            "region_px",
            [](const RenderOptions& options) {
                const RenderRegion& region = options.region;
                return nb::make_tuple(region.x_begin_px, region.x_end_px, region.y_begin_px, region.y_end_px);
            },
            [](RenderOptions& options, const std::array<double, 4>& ends) {
                options.region = {ends[0], ends[1], ends[2], ends[3]};
            })
        .def_rw("color", &RenderOptions::color)
        .def_rw("channel_colors", &RenderOptions::channel_colors)
        .def_rw("z_min_nm", &RenderOptions::z_min_nm)
        .def_rw("z_max_nm", &RenderOptions::z_max_nm)
        .def_rw("colormap", &RenderOptions::colormap)
        .def_rw("saturate_percent", &RenderOptions::saturate_percent)
        .def_rw("scale_bar_nm", &RenderOptions::scale_bar_nm)
        .def_rw("max_edge_px", &RenderOptions::max_edge_px);
    m.def("render_channels", &draw_channels, "tables"_a, "options"_a);
    m.def("render", &draw, "table"_a, "options"_a, "density"_a);
    m.def("write_png", &write_colours, "path"_a, "picture"_a, "pixel_size_nm"_a, "overwrite"_a);
    m.def("write_float_tiff", &write_density, "path"_a, "picture"_a, "pixel_size_nm"_a, "overwrite"_a);
    m.def(
        "read_png", [](const std::filesystem::path& path) { return array_of(read_png(path)); }, "path"_a);
}

}  // namespace glint::python
