// Maximum-likelihood fits of a stack of ROIs (Smith et al., Nat. Methods 7, 373 (2010)).
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

/// Called about twice a second while waiting for a GPU, with the seconds waited so far, the free bytes of the GPU that
/// has most, and the bytes required there, with the context.
using OnWait = std::function<void(double elapsed_s, std::uint64_t available_bytes, std::uint64_t required_bytes)>;

constexpr int all_gpus = 0;
constexpr int any_emitters = 0,
              most_emitters = 64;      ///< for FitSettings::emitters
constexpr double usual_misfit = 0.05;  ///< default misfit of the PSF

/// What is computed: results depend on these alone.
struct FitSettings {
    int max_iterations = 50;          ///< 1 to 255
    float tolerance = 0.01f;          ///< converged when the Fisher-scaled step is below this fraction of the CRLB
    float position_margin_px = 1.5f;  ///< x and y stay within [-margin, size - 1 + margin]
    float min_sigma_px = 0.3f;        ///< bounds of free widths
    float max_sigma_px = 0;           ///< 0: the ROI's size
    /// Maximum number of molecules in a ROI. With 1 each ROI has one row. With 2 to most_emitters, or any_emitters, a
    /// ROI that one molecule does not explain is searched for others. All are fitted together, with one background, on
    /// the CPU (theory.md, section 10). For a movie, use 1 or any_emitters: molecules whose images overlap are then
    /// fitted together.
    int emitters = 1;
    /// With several emitters: the fraction of its width by which the PSF may differ from the model without counting as
    /// another molecule, 0 to 1. For a movie also learn_misfit.
    double psf_misfit = usual_misfit;

    /// An assignment from FitOptions would lose their placement and callbacks: assign the base classes one by one.
    template <class Derived>
    FitSettings& operator=(const Derived&) = delete;
};

/// Which hardware computes it: CPU or GPUs, how many, and how long to wait for them.
struct Placement {
    /// `automatic` follows GLINT_BACKEND. Otherwise it uses the side that is expected to finish first, including the
    /// wait for a GPU, by speeds measured on this machine (glint/offload). The CPU does the rest if no GPU comes or all
    /// fail. `prefer_gpu` is `automatic` with always_gpu.
    Backend backend = Backend::automatic;
    int threads = 0;  ///< 0: GLINT_THREADS, or all that may be used
    /// Maximum number of GPUs to use simultaneously; all_gpus: as many as there are. A large stack or movie is spread
    /// over them; stacks that a Fitter gets from several threads go to one each. The computation begins with the GPUs
    /// that are free; others join while there is work left. With more than one, Backend::automatic lets the CPU fit a
    /// stack too, if that is expected to shorten the run by a tenth.
    int gpus = 1;
    std::uint64_t gpu_memory_bytes = std::uint64_t(1) << 30;  ///< to request, and the maximum; without the context
    /// ROIs in a batch, which a GPU receives in one upload and repeats after a failure. The CPU divides it among its
    /// threads. 0: chosen automatically.
    std::int64_t batch_size = 0;
    /// The program `glint` of this build, started in the background if it does not run yet. It keeps a GPU open for a
    /// few seconds, for stacks and movies of this user (gpu-sharing.md, "Warm workers"). Without it, this process opens
    /// GPUs itself. It also does so if no worker can be started, and for what a worker does not accept: pixels on a
    /// GPU, several GPUs, several molecules in a ROI.
    std::string gpu_worker = {};
    /// Time without a GPU, waiting or after failures, until `automatic` uses the CPU, and until `gpu` throws.
    double auto_timeout_s = 300, gpu_timeout_s = std::numeric_limits<double>::infinity();
    /// `automatic` uses a GPU whenever one exists, and waits for it up to auto_timeout_s; otherwise no longer than the
    /// GPU would save.
    bool always_gpu = false;
    bool restart_batches = false;  ///< after a failure repeats all batches, not only those without a result
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

struct FitOptions : FitSettings, Placement, Callbacks {
    /// Start values, n columns as in Fits::theta for each parameter, or all empty. If empty, the position comes from
    /// Rois::x_start and y_start, or from the pixels if those are empty too, and the rest from the pixels.
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
    double seconds = 0;  ///< of work on this fit
    double share = 0;    ///< of all fits by GPUs and CPU; 0 to 1
};

/// How a fit was run.
struct FitInfo {
    std::string backend;  ///< "cpu", "gpu"; "gpu+cpu": side by side
    std::string device;   ///< "avx512", "avx2", "sse2", "neon", the GPU's name, "4x " and that, or several with " + "
    std::string note;     ///< why no GPU was used, or not to the end; empty if there is nothing to report
    bool gpu_failed = false;  ///< the note is about a GPU that failed, not one that is in use, missing or slower
    bool timed_out = false;   ///< no GPU was free within auto_timeout_s: the note names who uses the GPUs
    int threads = 1;
    std::int64_t fits = 0;
    std::int64_t batches = 0;                         ///< pieces the stack was cut into
    std::int64_t batch_size = 0;                      ///< fits in the largest of them
    double seconds = 0;                               ///< wall time of the call
    std::int64_t bytes_up = 0, bytes_down = 0;        ///< to and from the GPU
    double transfer_seconds = 0, kernel_seconds = 0;  ///< on the GPU; they overlap, so their sum may exceed `seconds`
    double waited_seconds = 0;                        ///< for GPUs
    int retries = 0;                                  ///< new requests for a GPU after a failure
    std::vector<GpuPart> gpus;                        ///< those that fitted something, in order of arrival
    std::int64_t cpu_fits = 0;                        ///< fits on the CPU
    std::string decision;                             ///< of `automatic`, in words
    std::vector<FitEvent> events;                     ///< all of them, in order
};

/// Fits every ROI by maximum likelihood (Smith et al., Nat. Methods 7, 373 (2010)). Returns one row per ROI: row k is
/// that of ROI k. With several emitters, a row is one molecule of ROI Fits::window[k]. `pixel_size_nm` converts the
/// PSF's nanometres into pixels. z in the result is in micrometres (PsfDescription::units).
///
/// The result is identical, bit for bit, for any number of threads or of GPUs of one kind, and any order or grouping of
/// the ROIs. Results of CPU and GPU agree as GpuFitter::fit states. If both take part, the last bits of a row depend on
/// which one fitted it.
///
/// A GPU is shared with other processes by a lease (glint/gpu/lease.hpp): fit() waits for it, and returns it at the
/// end. After a failure, finished rows are kept. The remaining rows go to the same GPU again, to another one, or to the
/// CPU. Thread-safe.
///
/// Throws
/// - OptionError for a ROI size outside 3 to 31, a pixel size outside smallest_pixel_nm to largest_pixel_nm
///   (glint/units.hpp), a sigma below least_width_nm, columns whose lengths disagree, or Backend::gpu with several
///   emitters
/// - gpu::LeaseTimeout, gpu::NoGpu or another gpu::GpuError if Backend::gpu cannot compute
/// - Cancelled after a stop
Fits fit(const Rois& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options = {},
         FitInfo* info = nullptr);

/// The same for counts of a camera, or photoelectrons, in any memory. Pixels are read in place, and converted to
/// photoelectrons batch by batch. Those on a GPU (RoiView::gpu) are fitted on that GPU, or on the CPU, which gets them
/// batch by batch; Placement::gpus has no effect then.
Fits fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options = {},
         FitInfo* info = nullptr);

/// fit() for several stacks: keeps its leases from one stack to the next, until it is destroyed, and returns unused
/// memory to waiting processes. After a request for a GPU has failed or timed out, Backend::automatic uses the CPU for
/// a while without another request. The pause is one second at first, doubles after each failure up to a minute, and is
/// never shorter than the wait was. Backend::gpu sends a request at each call. Thread-safe; a call waits while other
/// calls use all GPUs that it may use.
class Fitter {
  public:
    Fitter();
    ~Fitter();
    Fits fit(const Rois& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options = {},
             FitInfo* info = nullptr);
    Fits fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options = {},
             FitInfo* info = nullptr);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace glint
