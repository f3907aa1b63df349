// The table of presets. Each value is taken from its source, or is the median of several sources.
// SPDX-License-Identifier: MIT
#include "glint/camera_presets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "glint/error.hpp"

namespace glint {
namespace {

// PYME: github.com/python-microscopy/python-microscopy, PYME/Acquire/Hardware/camera_noise.py and
// pco/pco_edge_42_lt.py, which contain the noise of single cameras by serial number. Picasso: config_template.yaml of
// version 0.11.3.
constexpr CameraPreset presets[] = {
    {"andor-zyla", "Andor Zyla, 16-bit (low noise & high well capacity)", CameraKind::SCMOS, 100, 0.495f, 1.36f, 0.72,
     6500,
     "PYME: three cameras, 0.49 to 0.5 e-/ADU, 1.33 to 1.42 e-; Picasso: 0.46 e-/ADU, QE at 595 nm (0.82 of the 4.2 "
     "Plus); Andor's brochure of the Zyla: pixels"},
    {"andor-zyla-12bit", "Andor Zyla, 12-bit (low noise)", CameraKind::SCMOS, 100, 0.285f, 1.16f, 0.72, 6500,
     "PYME: three cameras, 0.26 to 0.3 e-/ADU, 1.1 to 1.19 e-; Picasso: 0.29 e-/ADU, QE at 595 nm (0.82 of the 4.2 "
     "Plus); Andor's brochure of the Zyla: pixels"},
    {"andor-sona", "Andor Sona, 16-bit (high dynamic range)", CameraKind::SCMOS, 100, 1.08f, 1.84f, 0, 0,
     "PYME: one camera"},
    {"andor-sona-12bit", "Andor Sona, 12-bit (low noise)", CameraKind::SCMOS, 100, 0.45f, 1.21f, 0, 0,
     "PYME: one camera"},
    {"hamamatsu-orca-flash4", "Hamamatsu ORCA-Flash4.0", CameraKind::SCMOS, 100, 0.47f, 1.63f, 0, 0,
     "PYME: three cameras, 0.417 to 0.47 e-/ADU, 1 to 1.65 e-, offsets of 100 to 102 ADU"},
    {"pco-edge-4.2-lt", "pco.edge 4.2 LT", CameraKind::SCMOS, 100, 0.46f, 1.3f, 0, 0, "PYME: one camera"},
    {"andor-ixon", "Andor iXon, EMCCD, 17 MHz, preamplifier gain 3", CameraKind::EMCCD, 200, 4.99f, 86.7f, 0.96, 0,
     "PYME: two cameras, 4.82 and 4.99 e-/ADU, 85.23 and 88.1 e-, offsets of 150 and 203 ADU; Picasso: 5.32 e-/ADU, "
     "offset of 200 ADU, QE at 595 nm"},
};

}  // namespace

std::span<const CameraPreset> camera_presets() { return presets; }

const CameraPreset& camera_preset(const std::string& name) {
    const auto found =
        std::find_if(std::begin(presets), std::end(presets), [&](const CameraPreset& one) { return one.name == name; });
    if (found != std::end(presets)) return *found;
    std::string all;
    for (const CameraPreset& one : presets) all += fmt::format("\n  {:<22} {}", one.name, one.model);
    throw OptionError(fmt::format("`camera_preset={}`: there is no such preset; there are:{}", name, all));
}

Camera make_camera(const CameraPreset& preset) {
    Camera camera;
    camera.kind = preset.kind;
    camera.offset_adu.scalar = preset.offset_adu, camera.gain_e_per_adu.scalar = preset.gain_e_per_adu;
    camera.readnoise_e.scalar = preset.readnoise_e;
    return camera;
}

std::string starting_values_text(const CameraPreset& preset) {
    return fmt::format("typical of {}, not measured: glint calibrate camera or glint inspect give better values",
                       preset.model);
}

}  // namespace glint
