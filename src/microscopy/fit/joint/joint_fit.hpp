// Maximum-likelihood fits of several molecules whose images overlap, together, with one background; and the search for
// molecules that the detection did not part (docs/explanation/theory.md, section 10).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fit/joint/joint_abi.hpp"
#include "glint/fits.hpp"
#include "glint/psf.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// A lone window whose fit is at least as good as this is believed to hold one molecule.
constexpr float good_p_value = 0.1f;
constexpr double least_start_photons = 50;  ///< where a joint fit starts

/// A square of photoelectrons in C order, as in Rois: borrowed pointers to its first pixel. A pointer is null if one
/// number holds for all pixels.
struct JointWindow {
    int size;
    const float *pixels, *variance, *additive, *qe;
    float variance_scalar, qe_scalar, excess_noise;
    int left = 0, top = 0;  ///< in the frame
};

/// A rectangle of the frame, px.
struct Rectangle {
    int left = 0, top = 0, width = 0, height = 0;
};

enum class JointPlane {
    data,        ///< d'
    known,       ///< m / f + v / f^2: the part of the model that is not molecules
    per_photon,  ///< 1 / f; 0 if the pixel is not used
    variance,    ///< v / f^2, for the p value
    searched     ///< 1 in pixels that are searched for molecules, else 0
};

/// The pixels of a group: those of a rectangle of the frame that are used. All as in theory.md, eq. 2.2; a plane has
/// `pitch` floats a row (JointImage).
struct JointPixels : Rectangle {
    JointPixels() = default;
    explicit JointPixels(const Rectangle& rectangle);  ///< none used yet
    /// Has the pixels of a window used, but those that are NaN or infinite.
    void add(const JointWindow& window);

    /// Of rows of so many pixels, which are filled up.
    static int pitch_of(int width) {
        return (width + joint_columns - 1) / joint_columns * joint_columns + joint_columns;
    }

    int pitch = 0;
    JointNoise noise = JointNoise::ideal;
    std::span<float> operator[](JointPlane k) { return {planes_.data() + std::size_t(k) * count(), count()}; }
    std::span<const float> operator[](JointPlane k) const {
        return {planes_.data() + std::size_t(k) * count(), count()};
    }
    std::vector<float> copy_of(JointPlane k) const { return {(*this)[k].begin(), (*this)[k].end()}; }
    /// Index of a pixel of the frame.
    std::size_t at(int x, int y) const { return std::size_t(y - top) * std::size_t(pitch) + std::size_t(x - left); }

    /// Leaves the read noise alone in `known`.
    void clear_known();

  private:
    std::size_t count() const { return std::size_t(pitch) * std::size_t(height); }
    std::vector<float> planes_;
};

/// One molecule: x, y (frame pixels), N, the fitted background there, shape, as in Fits::theta. `crlb`: standard
/// deviations; [3]: that of the group's shared background, at its centre.
struct Emitter {
    std::array<double, max_parameters> theta{}, crlb{};
};

struct JointOptions {
    int max_iterations = 50;
    double tolerance = 0.01;  ///< as FitSettings::tolerance
    WidthLimits widths{0.3, 31};
    double margin_px = 1.5;  ///< beyond the rectangle
    /// A molecule stays if 2 delta log L exceeds this, plus what a PSF that is by `misfit` wider or narrower than the
    /// model explains: 4 misfit^2 per photon of its neighbours (docs/explanation/theory.md, eq. 10.4).
    double least_gain = 20, misfit = 0.05;
    /// Further light explained by the PSF's misfit: shares of a molecule's photons by distance from it (theory.md, eq.
    /// 10.9).
    std::array<float, satellite_steps> satellites{};
    double least_tilt_gain = 20;              ///< and what it must exceed for a plane as the background
    int most_emitters = most_joint_emitters;  ///< of a group: more are not looked for
};

struct JointFit {
    std::vector<Emitter> emitters;    ///< most_joint_emitters or fewer
    double bg = 0;                    ///< at the rectangle's centre
    std::array<double, 2> bg_tilt{};  ///< along x and y, per px; 0 unless the search found a plane
    double half_deviance = 0;         ///< -LLR of the group's pixels (eq. 4.1)
    double p_value = 0;               ///< of the group (eq. 4.2)
    int iterations = 0;               ///< of the last fit
    bool converged = false, singular = false;
    bool tilted() const { return bg_tilt != std::array<double, 2>{}; }
    std::vector<std::uint8_t> at_bound, settled;  ///< of each emitter; settled: its last step was below the tolerance
};

/// A molecule that lights the pixels of a group, and is not of it: theta, x and y in pixels of the group's rectangle.
using JointLight = std::array<float, most_parameters>;
void append_light(std::span<const Emitter> emitters, const Rectangle& rectangle, std::vector<JointLight>& to);

/// The kernel's numbers of a job.
struct JointSetup {
    JointSetup(const Psf& psf, double pixel_size_nm, const JointOptions& options);
    PsfModel model;
    std::shared_ptr<const PsfTable> table;  ///< of `psf`
    KernelPsf psf;
    JointNumbers numbers;
    int parameters;

    /// Borrows the planes.
    JointImage image_of(const JointPixels& pixels, bool search) const;
    /// What the kernel begins with. Throws OptionError for too many molecules.
    void begin(const JointFit& fit, const Rectangle& rectangle, JointResult& result) const;
    /// And what it has made of it.
    void take(const JointResult& result, const Rectangle& rectangle, JointFit& fit) const;
    /// The memory of a fit of that size, floats.
    std::size_t space(int pitch, int height, int molecules) const;
};

/// Returns the status of one molecule. Singular if it has no position in windows of that size.
FitStatus status_of(const JointFit& fit, std::size_t emitter, int roi_size);

/// Fits groups, one after the other, with memory that it keeps. For one thread.
class JointFitter {
  public:
    JointFitter(const Psf& psf, double pixel_size_nm, const JointOptions& options);

    /// Fits all emitters and the background, starting at their present values, by damped Fisher scoring. The likelihood
    /// rises with each step. Sets everything but the number of `emitters`.
    void fit(const JointPixels& pixels, JointFit& fit);

    /// Fits together, adds molecules from the residual while they earn their place, and removes those that do not.
    /// Returns how many were added, minus those removed.
    int find(const JointPixels& pixels, JointFit& fit);

    /// Either of these.
    void run(const JointPixels& pixels, bool search, JointFit& fit);

    /// Adds the molecules' light to the known signal.
    void add_light(std::span<const JointLight> light, JointPixels& to);

  private:
    JointSetup setup_;
    std::vector<float> memory_;
    JointResult result_;
};

}  // namespace glint
