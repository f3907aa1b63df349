// Fits ROIs that another program has cut out of a movie, without a copy: positions, photons, precision.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <glint/error.hpp>
#include <glint/fit.hpp>
#include <glint/simulate.hpp>
#include <vector>

/// Simulates the result of a detection: n ROIs of size x size camera counts, one after the other, each row by row.
std::vector<std::uint16_t> windows(int n, int size, const glint::Camera& camera) {
    glint::SimulateOptions options;
    options.structure = glint::Structure::random;
    options.psf.sigma_nm = 130;
    options.pixel_size_nm = 100;
    options.width = options.height = size;
    options.frames = n;
    options.spots_per_frame = 1;
    glint::FrameBlock block;
    glint::Simulation(options, camera).read(0, n, block);
    const auto* counts = reinterpret_cast<const std::uint16_t*>(block.bytes.data());
    return {counts, counts + block.bytes.size() / sizeof(std::uint16_t)};
}

int main() {
    try {
        glint::Camera camera;
        camera.kind = glint::CameraKind::SCMOS;
        camera.offset_adu.scalar = 100;
        camera.gain_e_per_adu.scalar = 0.5;
        camera.readnoise_e.scalar = 1.5;

        constexpr int size = 11, n = 1000;
        const std::vector<std::uint16_t> counts = windows(n, size, camera);

        // A view: nothing is copied, and the counts must outlive the fit.
        const glint::CameraView seen(camera, size, size);
        glint::RoiView rois;
        rois.size = size, rois.count = n;
        rois.type = glint::PixelType::uint16;
        rois.pixels = reinterpret_cast<const std::byte*>(counts.data());
        rois.camera = &seen;

        const glint::Psf psf{.model = glint::PsfModel::GaussianXYNB, .sigma_nm = 130};
        glint::FitInfo info;
        const glint::Fits fits = glint::fit(rois, psf, /*pixel_size_nm=*/100, {}, &info);

        std::size_t converged = 0;
        for (std::size_t k = 0; k < fits.count(); ++k) converged += fits.status[k] == glint::FitStatus::converged;
        std::printf("%zu of %zu converged, on %s\n", converged, fits.count(), info.device.c_str());
        for (std::size_t k = 0; k < 3; ++k)  // parameters: x, y, photons, background
            std::printf("x %.3f +- %.3f px, y %.3f +- %.3f px, %.0f +- %.0f photons\n", fits.theta[0][k],
                        fits.crlb[0][k], fits.theta[1][k], fits.crlb[1][k], fits.theta[2][k], fits.crlb[2][k]);
        return converged > n / 2 ? 0 : 1;  // a ROI may contain no molecule, or several
    } catch (const glint::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
