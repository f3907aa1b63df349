// Maximum-likelihood fits of several molecules with overlapping images and one background, and the search for molecules
// that the detection did not separate (docs/explanation/theory.md, section 10).
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

/// A window without neighbours contains one molecule, presumably, if its fit is at least this good.
constexpr float good_p_value = 0.1f;
constexpr double min_start_photons = 50;  ///< minimum start value of a joint fit

/// A square of photoelectrons in C order, as in Rois: borrowed pointers to its first pixel. A pointer is null if one
/// number applies to all pixels.
struct JointWindow {
    int size;
    const float *pixels, *variance, *additive, *qe;
    float variance_scalar, qe_scalar, excess_noise;
    int left = 0, top = 0;  ///< in the frame
};

/// A rectangle of the frame, px.
struct Rectangle {
    int left = 0, top = 0, width = 0, height = 0;

    double middle_x_px() const { return left + 0.5 * (width - 1); }
    double middle_y_px() const { return top + 0.5 * (height - 1); }
};

enum class JointPlane {
    data,        ///< d'
    known,       ///< m / f + v / f^2: the part of the model that is not molecules
    per_photon,  ///< 1 / f; 0 if the pixel is not used
    variance,    ///< v / f^2, for the p value
    searched     ///< 1 in pixels that are searched for molecules, else 0
};

/// The pixels of a group: the used pixels of a rectangle of the frame, as in theory.md, eq. 2.2. A plane has `pitch`
/// floats per row (JointImage).
struct JointPixels : Rectangle {
    JointPixels() = default;
    explicit JointPixels(const Rectangle& rectangle);  ///< with no pixel used yet
    /// Adds the pixels of a window, except NaN and infinite ones.
    void add(const JointWindow& window);

    /// Returns the padded row length for rows of `width` pixels.
    static int pitch_of(int width) {
        return (width + joint_columns - 1) / joint_columns * joint_columns + joint_columns;
    }

    int pitch = 0;
    JointNoise noise = JointNoise::ideal;
    /// The middle in the movie, px, which chooses the cell of a PSF that changes over the field.
    double place_x_px = 0, place_y_px = 0;
    std::span<float> operator[](JointPlane k) { return {planes_.data() + std::size_t(k) * count(), count()}; }
    std::span<const float> operator[](JointPlane k) const {
        return {planes_.data() + std::size_t(k) * count(), count()};
    }
    std::vector<float> copy_of(JointPlane k) const { return {(*this)[k].begin(), (*this)[k].end()}; }
    /// Returns the index of a pixel of the frame.
    std::size_t at(int x, int y) const { return std::size_t(y - top) * std::size_t(pitch) + std::size_t(x - left); }

    /// Keeps only the read noise in `known`.
    void clear_known();

  private:
    std::size_t count() const { return std::size_t(pitch) * std::size_t(height); }
    std::vector<float> planes_;
};

/// One molecule: x, y (frame pixels), N, the fitted background there, shape, as in Fits::theta. `crlb`: standard
/// deviations; crlb[3] is that of the group's shared background, at the group's centre.
struct Emitter {
    std::array<double, max_parameters> theta{}, crlb{};
};

struct JointOptions {
    int max_iterations = 50;
    double tolerance = 0.01;  ///< as FitSettings::tolerance
    WidthLimits widths{0.3, 31};
    double margin_px = 1.5;  ///< beyond the rectangle
    /// A molecule is kept if 2 delta log L exceeds `min_gain`, plus the gain that a PSF wider or narrower than the
    /// model by `misfit` explains. That is 4 misfit^2 per photon of its neighbours (docs/explanation/theory.md, eq.
    /// 10.4).
    double min_gain = 20, misfit = 0.05;
    /// Further light explained by the PSF's misfit: shares of a molecule's photons by distance from it (theory.md, eq.
    /// 10.9).
    std::array<float, satellite_steps> satellites{};
    double min_tilt_gain = 20;              ///< minimum gain of a plane as the background
    int max_emitters = max_joint_emitters;  ///< maximum number of molecules of a group
};

struct JointFit {
    std::vector<Emitter> emitters;    ///< max_joint_emitters or fewer
    double bg = 0;                    ///< at the rectangle's centre
    std::array<double, 2> bg_tilt{};  ///< along x and y, per px; 0 unless the search found a plane
    double half_deviance = 0;         ///< -LLR of the group's pixels (eq. 4.1)
    double p_value = 0;               ///< of the group (eq. 4.2)
    int iterations = 0;               ///< of the last fit
    bool converged = false, singular = false;
    bool tilted() const { return bg_tilt != std::array<double, 2>{}; }
    std::vector<std::uint8_t> at_bound, settled;  ///< of each emitter; settled: its last step was below the tolerance
};

/// A molecule that illuminates the pixels of a group without belonging to it: theta, with x and y in pixels of the
/// group's rectangle.
using JointLight = std::array<float, max_psf_parameters>;
void append_light(std::span<const Emitter> emitters, const Rectangle& rectangle, std::vector<JointLight>& to);

/// The kernel's numbers of a job, with the PSF.
struct JointSetup {
    JointSetup(const Psf& psf, double pixel_size_nm, const JointOptions& options);
    PsfModel model;
    std::shared_ptr<const PsfTable> table;  ///< of `psf`
    KernelPsf psf;
    JointNumbers numbers;
    int parameters;

    /// Returns the kernel's numbers of the PSF at a place of the movie, px.
    KernelPsf psf_at(double x_px, double y_px) const;
    /// Returns where the values of a group's cell begin in the table.
    std::size_t cell_of(const Rectangle& rectangle) const;
    /// Returns an image that borrows the planes.
    JointImage image_of(const JointPixels& pixels, bool search) const;
    /// Sets the start values for the kernel. Throws OptionError for too many molecules.
    void begin(const JointFit& fit, const Rectangle& rectangle, JointResult& result) const;
    /// Converts the kernel's result.
    void take(const JointResult& result, const Rectangle& rectangle, JointFit& fit) const;
    /// Returns the memory of a fit of that size, in floats.
    std::size_t space(int pitch, int height, int molecules) const;
};

/// Returns the status of one molecule. Singular if it has no position in windows of that size.
FitStatus status_of(const JointFit& fit, std::size_t emitter, int roi_size);

/// Fits groups one after another, and keeps its memory. Use it from one thread.
class JointFitter {
  public:
    JointFitter(const Psf& psf, double pixel_size_nm, const JointOptions& options);

    /// Fits all emitters and the background from their present values by damped Fisher scoring. The likelihood rises
    /// with each step. Sets everything except the number of `emitters`.
    void fit(const JointPixels& pixels, JointFit& fit);

    /// Fits all emitters together, adds molecules from the residual while they are significant, and removes those that
    /// are not. Returns the number of added minus removed molecules.
    int find(const JointPixels& pixels, JointFit& fit);

    /// Calls find() if `search`, else fit().
    void run(const JointPixels& pixels, bool search, JointFit& fit);

    /// Adds the molecules' light to the known signal.
    void add_light(std::span<const JointLight> light, JointPixels& to);

  private:
    JointSetup setup_;
    std::vector<float> memory_;
    JointResult result_;
};

}  // namespace glint
