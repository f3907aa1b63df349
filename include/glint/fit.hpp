// Maximum-likelihood fits of a stack of ROIs (Smith et al., Nat. Methods 7, 373 (2010)).
//
//     const glint::Camera camera = glint::read_camera("camera.toml").camera;
//     const glint::Rois rois = glint::read_rois("rois.npy", camera);
//     const glint::Psf psf{.model = glint::PsfModel::GaussianXYNB, .sigma_nm = 130};
//     const glint::Fits fits = glint::fit(rois, psf, 100);  // pixels of 100 nm
//     for (std::size_t k = 0; k < fits.count(); ++k)        // columns 0 to 3: x, y, photons, bg
//         if (fits.status[k] == glint::FitStatus::converged)
//             std::printf("x %.3f +- %.3f px, %.0f photons\n", fits.theta[0][k], fits.crlb[0][k], fits.theta[2][k]);
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "glint/backend.hpp"
#include "glint/fits.hpp"
#include "glint/progress.hpp"
#include "glint/psf.hpp"
#include "glint/roi_view.hpp"
#include "glint/rois.hpp"

namespace glint {

/// Called about twice a second while waiting for a GPU. Arguments: the seconds waited so far, the free bytes of the GPU
/// with the most free memory, and the bytes required on that GPU, including the context.
using OnWait = std::function<void(double elapsed_s, std::uint64_t available_bytes, std::uint64_t required_bytes)>;

constexpr int all_gpus = 0;  ///< for Placement::gpus
constexpr int any_emitters = 0,
              max_emitters = 64;         ///< for FitSettings::emitters
constexpr double default_misfit = 0.05;  ///< default misfit of the PSF

/// Settings that change the results. Results depend on no other options.
struct FitSettings {
    int max_iterations = 50;          ///< 1 to 255
    float tolerance = 0.01f;          ///< converged when the Fisher-scaled step is below this fraction of the CRLB
    float position_margin_px = 1.5f;  ///< x and y stay within [-margin, size - 1 + margin]
    float min_sigma_px = 0.3f;        ///< bounds of free widths
    float max_sigma_px = 0;           ///< 0: the ROI's size
    /// Maximum number of molecules in a ROI. With 1 each ROI has one row. With 2 to max_emitters, or any_emitters, a
    /// ROI that one molecule does not explain is searched for further molecules. All molecules of a ROI are fitted
    /// together, with one background, on the CPU (theory.md, section 10). For a movie, use 1 or any_emitters, which
    /// fits overlapping molecules together.
    int emitters = 1;
    /// With several emitters: the fraction of its width by which the PSF may differ from the model without counting as
    /// another molecule, 0 to 1; for a movie also learn_misfit.
    double psf_misfit = default_misfit;

    /// Deleted: an assignment from FitOptions would lose placement and callbacks. Assign the base classes one by one.
    template <class Derived>
    FitSettings& operator=(const Derived&) = delete;
};

/// Which hardware is used: CPU or GPUs, how many, and how long to wait for them.
struct Placement {
    /// `automatic` follows GLINT_BACKEND. If that is not set, it uses the side that is expected to finish first,
    /// including the wait for a GPU, by speeds measured on this machine (glint/offload). The CPU computes the rest if
    /// no GPU becomes available or all GPUs fail. `prefer_gpu` is `automatic` with always_gpu.
    Backend backend = Backend::automatic;
    int threads = 0;  ///< 0: GLINT_THREADS, or all threads that may be used
    /// Maximum number of GPUs to use simultaneously; all_gpus: all of this machine. A large stack or movie is spread
    /// over them. If several threads use a Fitter, each stack uses one GPU. The computation begins with the GPUs that
    /// are free; further GPUs join while there is work left. With more than one, Backend::automatic lets the CPU fit a
    /// part of the stack if that is expected to shorten the run by a tenth.
    int gpus = 1;
    std::uint64_t gpu_memory_bytes = std::uint64_t(1) << 30;  ///< to request, and the maximum; without the context
    /// ROIs in a batch, which a GPU receives in one upload and repeats after a failure. The CPU divides it among its
    /// threads. 0: chosen automatically.
    std::int64_t batch_size = 0;
    /// Path of the program `glint` of this build. It is started in the background, if it does not run yet, as a warm
    /// worker: it keeps a GPU open for a few seconds, for stacks and movies of this user (gpu-sharing.md, "Warm
    /// workers"). This process opens GPUs itself if
    /// - the path is empty,
    /// - no worker can be started, or
    /// - a worker does not accept the work: pixels on a GPU, several GPUs, several molecules in a ROI.
    std::string gpu_worker = {};
    /// Time without a GPU, waiting or after failures, until `automatic` uses the CPU, and until `gpu` throws.
    double auto_timeout_s = 300, gpu_timeout_s = std::numeric_limits<double>::infinity();
    /// True: `automatic` uses a GPU whenever one exists, and waits for it up to auto_timeout_s. False: it waits no
    /// longer than the GPU would save.
    bool always_gpu = false;
    bool restart_batches = false;  ///< after a failure, repeat all batches, not only those without a result
};

/// Functions that are called during the computation, and the flag that stops it.
struct Callbacks {
    /// Called by a thread that waits for a GPU, never by two threads simultaneously.
    OnWait on_wait = {};
    std::function<void(const std::string&)> log = {};  ///< called with each FitEvent, by one thread at a time
    /// Called with the chosen side and the reason each time the choice of `automatic` changes.
    std::function<void(const std::string&)> on_decision = {};
    Progress progress = {};          ///< called after each batch or block, by one thread at a time
    const StopFlag* stop = nullptr;  ///< polled between chunks; a stop of a fit throws Cancelled
};

/// All options of a fit.
struct FitOptions : FitSettings, Placement, Callbacks {
    /// Start values: for each parameter a column of n values as in Fits::theta; not owned. If all are empty, positions
    /// come from Rois::x_start and y_start, and all other start values from the pixels.
    std::array<std::span<const float>, max_parameters> start{};
};

/// An event during a fit on a GPU: a wait, a failure or a retry.
struct FitEvent {
    double seconds = 0;  ///< since the call
    std::string what;
};

/// The work of one GPU.
struct GpuPart {
    std::string name, uuid;
    std::int64_t fits = 0;
    double seconds = 0;  ///< time of work on this fit
    double share = 0;    ///< part of all fits by GPUs and CPU, 0 to 1
};

/// How a fit was run.
struct FitInfo {
    std::string backend;  ///< "cpu", "gpu"; "gpu+cpu": side by side
    std::string device;   ///< "avx512", "avx2", "sse2", "neon", the GPU's name, "4x " and that, or several with " + "
    std::string note;     ///< why no GPU was used, or only for a part of the work; else empty
    bool gpu_failed = false;  ///< the note is about a GPU that failed, not about one that is in use, missing or slower
    bool timed_out = false;   ///< no GPU was free within auto_timeout_s: the note names who uses the GPUs
    int threads = 1;
    std::int64_t fits = 0;
    std::int64_t batches = 0;                         ///< pieces the stack was cut into
    std::int64_t batch_size = 0;                      ///< fits in the largest piece
    double seconds = 0;                               ///< wall time of the call
    std::int64_t bytes_up = 0, bytes_down = 0;        ///< to and from the GPU
    double transfer_seconds = 0, kernel_seconds = 0;  ///< on the GPU; they overlap, so their sum may exceed `seconds`
    double waited_seconds = 0;                        ///< for GPUs
    int retries = 0;                                  ///< new requests for a GPU after a failure
    std::vector<GpuPart> gpus;                        ///< GPUs that fitted something, in order of arrival
    std::int64_t cpu_fits = 0;                        ///< fits on the CPU
    std::string decision;                             ///< decision of `automatic`, in words
    std::vector<FitEvent> events;                     ///< all of them, in order
};

/// Fits every ROI by maximum likelihood (Smith et al., Nat. Methods 7, 373 (2010)). `pixel_size_nm` converts the PSF's
/// nanometres into pixels. `info`, if not null, receives how the fit was run.
///
/// Returns one row per ROI: row k is that of ROI k. With several emitters, row k is one molecule of ROI
/// Fits::window[k]. Positions are in px of the ROI, z is in micrometres (PsfDescription::units).
///
/// The result is identical, bit for bit, for any number of threads or of GPUs of one kind, and any order or grouping of
/// the ROIs. Results of CPU and GPU agree within the limits of GpuFitter::fit(). If both CPU and GPU fit a part of the
/// ROIs, the last bits of a row depend on which of them fitted it.
///
/// A GPU is shared with other processes by a lease (glint/gpu/lease.hpp): fit() waits for it, and returns it at the
/// end. After a failure, finished rows are kept. The remaining rows are fitted by the same GPU again, another GPU, or
/// the CPU. Thread-safe.
///
/// Throws
/// - OptionError for a ROI size outside 3 to 31, a pixel size outside smallest_pixel_nm to largest_pixel_nm
///   (glint/units.hpp), a sigma below min_width_nm, columns whose lengths disagree, or Backend::gpu with several
///   emitters
/// - gpu::LeaseTimeout, gpu::NoGpu or another gpu::GpuError if Backend::gpu cannot compute
/// - Cancelled after a stop
Fits fit(const Rois& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options = {},
         FitInfo* info = nullptr);

/// Fits ROIs in any memory, as camera counts or photoelectrons. Reads pixels in place, and converts them to
/// photoelectrons batch by batch. Pixels on a GPU (RoiView::gpu) are fitted on that GPU, or copied to the CPU batch by
/// batch; Placement::gpus then has no effect. Returns and throws as fit() of Rois.
Fits fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options = {},
         FitInfo* info = nullptr);

/// Fits several stacks. Keeps its leases from one stack to the next, until it is destroyed, and returns unused memory
/// to waiting processes.
///
/// After a request for a GPU has failed or timed out, Backend::automatic uses the CPU for a while without another
/// request. The pause is one second at first and doubles after each failure, up to a minute. It is never shorter than
/// the previous wait. Backend::gpu sends a request at each call.
///
/// Thread-safe. A call waits while other calls use all permitted GPUs.
///
///     glint::Fitter fitter;
///     for (const glint::Rois& stack : stacks) results.push_back(fitter.fit(stack, psf, 100));
class Fitter {
  public:
    Fitter();
    ~Fitter();
    /// Returns and throws as glint::fit().
    Fits fit(const Rois& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options = {},
             FitInfo* info = nullptr);
    Fits fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options = {},
             FitInfo* info = nullptr);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace glint
