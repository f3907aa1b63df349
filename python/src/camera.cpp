// Bindings of the camera; users see glint/camera.py.
// SPDX-License-Identifier: MIT
#include "glint/camera.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "glint/error.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

using Map = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Faults = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Property = std::variant<double, Map>;  ///< a number, or a map (height, width)

CameraKind kind_of(const std::string& name) {
    if (name == "IdealCamera") return CameraKind::Ideal;
    return name == "EMCCDCamera" ? CameraKind::EMCCD : CameraKind::SCMOS;
}

template <class Array>
auto map_values(const Array& map, const char* name, Camera& camera) {
    const int height = int(map.shape(0)), width = int(map.shape(1));
    const bool is_first = camera.sensor_width == 0;
    if (map.size() == 0 || (!is_first && (width != camera.sensor_width || height != camera.sensor_height)))
        throw OptionError(std::string("the camera's map ") + name + " is of another size than its others, or empty");
    camera.sensor_width = width, camera.sensor_height = height;
    return std::vector(map.data(), map.data() + map.size());
}

SensorField field_of(const Property& property, const char* name, Camera& camera) {
    if (const double* scalar = std::get_if<double>(&property)) return {float(*scalar), {}};
    return {0, map_values(std::get<Map>(property), name, camera)};
}

Camera make_camera(const std::string& kind, const Property& offset, const Property& gain, const Property& readnoise,
                   const Property& qe, double em_gain, int roi_x, int roi_y, const std::optional<Faults>& masked) {
    Camera camera;
    camera.kind = kind_of(kind);
    camera.offset_adu = field_of(offset, "offset", camera);
    camera.gain_e_per_adu = field_of(gain, "gain", camera);
    camera.readnoise_e = field_of(readnoise, "readnoise", camera);
    camera.relative_qe = field_of(qe, "qe", camera);
    if (masked) camera.masked = map_values(*masked, "masked", camera);
    camera.em_gain = em_gain;
    camera.roi_x = roi_x, camera.roi_y = roi_y;
    return camera;
}

}  // namespace

void bind_camera(nb::module_& m) {
    nb::class_<Camera>(m, "Camera")
        .def(
            "__init__",
            [](Camera* to, const std::string& kind, const Property& offset, const Property& gain,
               const Property& readnoise, const Property& qe, double em_gain, int roi_x, int roi_y,
               const std::optional<Faults>& masked) {
                new (to) Camera(make_camera(kind, offset, gain, readnoise, qe, em_gain, roi_x, roi_y, masked));
            },
            "kind"_a, "offset"_a, "gain"_a, "readnoise"_a, "qe"_a, "em_gain"_a, "roi_x"_a, "roi_y"_a,
            "masked"_a.none());
}

}  // namespace glint::python
