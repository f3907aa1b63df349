// Command-line flags and the corresponding Python arguments.
// SPDX-License-Identifier: MIT
#include "words.hpp"

#include <regex>
#include <utility>

namespace glint::python {

std::string in_python(std::string message) {
    if (message.find("--") == std::string::npos) return message;
    // The first match at a position is used, so specific ones come first. Flags of other programs are unchanged.
    static const std::pair<std::regex, const char*> words[] = {
        {std::regex("--pixel-size 100nm"), "pixel_size_um=0.1"},
        {std::regex("--sigma 130nm"), "sigma_um=0.13"},
        {std::regex("--sigma 1.3px"), "sigma_px=1.3"},
        {std::regex("--sigma (\\d+)nm"), "sigma_um=$1e-3"},
        {std::regex("--z-step 20nm"), "z_step_um=0.02"},
        {std::regex("--radius 100nm"), "radius_nm=100"},
        {std::regex("--frames (\\d+):(\\d+)"), "frames=($1, $2)"},
        {std::regex("--roi (\\d+)"), "roi_size=$1"},
        {std::regex("--z-range (-?\\d+):(\\d+)"), "z_range_nm=($1, $2)"},
        {std::regex("--(gain|offset|readnoise|threshold|zoom) ([\\d.]+)"), "$1=$2"},
        {std::regex("--(z|position) (\\d+)"), "$1=$2"},
        {std::regex("--channel (\\d+)"), "channel=$1"},
        {std::regex("--(channel|z|position)\\b"), "$1"},
        {std::regex("--backend (cpu|gpu|auto)"), "backend=\"$1\""},
        {std::regex("--psf ([A-Z][A-Za-z]+)"), "psf=glint.$1"},
        {std::regex("--psf-number (\\w+=)"), "$1"},
        {std::regex("--sensor-roi X,Y"), "sensor_roi=(X, Y)"},
        {std::regex("--calibration FILE"), "psf=glint.load_calibration(FILE)"},
        {std::regex("--camera FILE"), "camera=glint.load_camera(FILE)"},
        {std::regex("--(overwrite|resume)"), "$1=True"},
        {std::regex("with --concat"), "as a list"},
        {std::regex(" with --preview \\d+"), ""},
        {std::regex("--keep-failed"), "keep_failed=True"},
        {std::regex("--keep-defective"), "keep_defective=True"},
        {std::regex("--gain-unit ([^\\s:]+)"), "gain_unit=\"$1\""},
        {std::regex("--gain-unit"), "gain_unit"},
        {std::regex("--camera-name (?=\")"), "name="},
        {std::regex("--camera-name"), "name"},
        {std::regex("--camera-setting"), "settings"},
        {std::regex("--(light|ramp)\\b"), "$1="},
        {std::regex("--em-gain"), "em_gain="},
        {std::regex("--pixel-size"), "pixel_size_um"},
        {std::regex("--z-step"), "z_step_um"},
        {std::regex("--sigma"), "sigma_um"},
        {std::regex("--roi\\b"), "roi_size"},
        {std::regex("--gpu-(timeout|memory)"), "gpu_$1"},
        {std::regex("--(frames|zoom|gain|offset|threshold|calibration)\\b"), "$1"},
    };
    for (const auto& [flag, ours] : words) message = std::regex_replace(message, flag, ours);
    return message;
}

}  // namespace glint::python
