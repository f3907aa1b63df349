// From frames in memory to localizations: the example of docs/tutorials/cpp.md.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <glint/error.hpp>
#include <glint/localization_io.hpp>
#include <glint/localize.hpp>
#include <glint/simulate.hpp>
#include <vector>

/// Camera counts in the layout of an acquisition program: frame after frame, each row by row.
struct Acquisition {
    int width, height, frames;
    std::vector<std::uint16_t> counts;  ///< frames * height * width
};

glint::Localizations localize(const Acquisition& acquired) {
    // 1. The frames. A FrameBlock owns its bytes.
    glint::FrameBlock block;
    block.count = acquired.frames, block.width = acquired.width, block.height = acquired.height;
    block.type = glint::PixelType::uint16;
    block.bytes.resize(acquired.counts.size() * sizeof(std::uint16_t));
    std::memcpy(block.bytes.data(), acquired.counts.data(), block.bytes.size());
    const auto movie = glint::memory_movie(std::move(block));

    // 2. The camera: the values of its data sheet. The struct's defaults describe no real camera.
    glint::Camera camera;
    camera.kind = glint::CameraKind::SCMOS;
    camera.offset_adu.scalar = 100;
    camera.gain_e_per_adu.scalar = 0.5;
    camera.readnoise_e.scalar = 1.5;

    // 3. The PSF and the pixel size.
    glint::LocalizeOptions options;
    options.psf = {.model = glint::PsfModel::GaussianXYNB, .sigma_nm = 130};
    options.pixel_size_nm = 100;
    options.warn = [](const std::string& message) { std::fprintf(stderr, "warning: %s\n", message.c_str()); };

    // 4. Detection and fits, on all cores, or on a GPU if that is faster.
    glint::LocalizeResult result;
    glint::Localizations locs = glint::localize_frames(*movie, camera, options, &result);
    std::printf("%lld spots, %lld localizations, noise check %.2f, on %s\n", (long long)result.spots,
                (long long)result.localizations, result.noise_check, result.fit.device.c_str());
    return locs;
}

/// Simulates a microscope.
Acquisition acquire() {
    glint::SimulateOptions options;
    options.structure = glint::Structure::random;
    options.psf.sigma_nm = 130;
    options.pixel_size_nm = 100;
    options.width = options.height = 64;
    options.frames = 100;
    options.spots_per_frame = 5;
    glint::Camera camera;
    camera.kind = glint::CameraKind::SCMOS;
    camera.offset_adu.scalar = 100;
    camera.gain_e_per_adu.scalar = 0.5;
    camera.readnoise_e.scalar = 1.5;
    glint::FrameBlock block;
    glint::Simulation(options, camera).read(0, int(options.frames), block);
    Acquisition acquired{64, 64, 100, std::vector<std::uint16_t>(std::size_t(64) * 64 * 100)};
    std::memcpy(acquired.counts.data(), block.bytes.data(), acquired.counts.size() * sizeof(std::uint16_t));
    return acquired;
}

int main() {
    try {
        const glint::Localizations locs = localize(acquire());
        for (std::size_t k = 0; k < 3 && k < locs.size(); ++k)
            std::printf("frame %u: x %.3f +- %.3f px, y %.3f +- %.3f px, %.0f photons\n", locs.frame[k], locs.x_px[k],
                        locs.lpx_px[k], locs.y_px[k], locs.lpy_px[k], locs.photons[k]);
        glint::write_localizations("from_memory.hdf5", locs);  // opens in Picasso
        return locs.size() > 400 ? 0 : 1;                      // about 5 molecules in each of 100 frames
    } catch (const glint::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
