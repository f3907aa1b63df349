// Small movies of an sCMOS camera, for tests that localize them.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/camera.hpp"
#include "glint/movie.hpp"
#include "glint/simulate.hpp"

namespace glint::test {

inline Camera scmos_camera() {
    Camera camera;
    camera.kind = CameraKind::SCMOS;
    camera.offset_adu.scalar = 100, camera.gain_e_per_adu.scalar = 0.5f, camera.readnoise_e.scalar = 1.5f;
    return camera;
}

/// Returns a camera whose pixels differ.
inline Camera mapped_camera(int width, int height) {
    Camera camera = scmos_camera();
    camera.sensor_width = width, camera.sensor_height = height;
    for (int k = 0; k < width * height; ++k) {
        camera.offset_adu.map.push_back(100 + float(k % 7));
        camera.gain_e_per_adu.map.push_back(0.4f + 0.01f * float(k % 11));
        camera.readnoise_e.map.push_back(1 + 0.3f * float(k % 5));
    }
    return camera;
}

/// Returns a camera whose pixels also differ in quantum efficiency, with some bad pixels.
inline Camera mapped_camera_with_bad_pixels(int width, int height) {
    Camera camera = mapped_camera(width, height);
    for (int k = 0; k < width * height; ++k) {
        camera.relative_qe.map.push_back(0.8f + 0.1f * float(k % 5));
        camera.masked.push_back(k % 97 == 5);
    }
    return camera;
}

/// Returns frames of random molecules with a sigma of 1.3 px of 100 nm.
inline FrameBlock simulated_frames(const Camera& camera, int width, int height, int frames, double spots) {
    SimulateOptions options;
    options.structure = Structure::random, options.psf.sigma_nm = 130;
    options.width = width, options.height = height, options.frames = frames, options.spots_per_frame = spots;
    FrameBlock block;
    Simulation(options, camera).read(0, frames, block);
    return block;
}

}  // namespace glint::test
