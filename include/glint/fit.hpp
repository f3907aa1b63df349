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

/// Told about twice a second while a GPU is waited for: seconds since that began, bytes free where the most are, and
/// bytes required there, with the context.
using OnWait = std::function<void(double elapsed_s, std::uint64_t available_bytes, std::uint64_t required_bytes)>;

constexpr int all_gpus = 0;
constexpr int any_emitters = 0,
              most_emitters = 64;      ///< for FitSettings::emitters
constexpr double usual_misfit = 0.05;  ///< of the PSF, where nothing is known

/// What is computed: results depend on these alone.
struct FitSettings {
    int max_iterations = 50;          ///< 1 to 255
    float tolerance = 0.01f;          ///< converged when the Fisher-scaled step is below this fraction of the CRLB
    float position_margin_px = 1.5f;  ///< x and y stay within [-margin, size - 1 + margin]
    float min_sigma_px = 0.3f;        ///< bounds of free widths
    float max_sigma_px = 0;           ///< 0: the ROI's size
    /// Most molecules in a ROI. With 1 each ROI has one row. With 2 to most_emitters, or any_emitters, a ROI that one molecule does
    /// not explain is searched for others; all are fitted together, with one background, on the CPU (theory.md, section 10).
    /// Of a movie 1 or any_emitters: molecules whose images overlap are then fitted together.
    int emitters = 1;
    /// With several: by what part of its width the PSF may differ from the model without counting as another molecule, 0 to 1; of a
    /// movie also learn_misfit.
    double psf_misfit = usual_misfit;

    /// An assignment from FitOptions would lose their placement and callbacks: assign the base classes one by one.
    template <class Derived>
    FitSettings& operator=(const Derived&) = delete;
};

/// Which hardware computes it: CPU or GPUs, how many, and how long to wait for them.
struct Placement {
    /// `automatic` does what GLINT_BACKEND says; else uses the side that is expected to finish first, the wait
    /// for a GPU included, by speeds measured on this machine (glint/offload); the CPU does the rest if none comes or all fail.
    /// `prefer_gpu` is `automatic` with always_gpu.
    Backend backend = Backend::automatic;
    int threads = 0;  ///< 0: GLINT_THREADS, or all that may be used
    /// Most GPUs to use at once; all_gpus: as many as there are. A large stack or movie is spread over them; stacks that
    /// a Fitter gets from several threads go to one each. It begins with the GPUs that are free, and others join in
    /// while there is something left to do. With more than one, Backend::automatic lets the CPU fit a stack too where
    /// that is expected to shorten the run by a tenth.
    int gpus = 1;
    std::uint64_t gpu_memory_bytes = std::uint64_t(1) << 30;  ///< to ask for, and most to take, beyond the context
    /// ROIs in a batch, which a GPU receives in one upload and repeats after a failure. The CPU divides it among its threads. 0: chosen.
    std::int64_t batch_size = 0;
    /// The program `glint` of this build, to be started in the background where none is: it keeps a GPU open for a few seconds, for
    /// stacks and movies of this user (gpu-sharing.md, "Warm workers"). Empty: this process opens GPUs itself, as it does for
    /// what a worker does not take (pixels on a GPU, several GPUs, several molecules in a ROI), and where none can be had.
    std::string gpu_worker = {};
    /// How long to go without a GPU, waiting or failing, until `automatic` takes the CPU, and until `gpu` throws.
    double auto_timeout_s = 300, gpu_timeout_s = std::numeric_limits<double>::infinity();
    /// `automatic` takes a GPU wherever there is one, and waits for it as long as auto_timeout_s allows; else no longer
    /// than the GPU would save.
    bool always_gpu = false;
    bool restart_batches = false;  ///< after a failure repeats all batches, not only those without a result
};

/// Functions that are called during the computation, and the flag that stops it.
struct Callbacks {
    /// Called by a thread that waits for a GPU, never by two at once.
    OnWait on_wait = {};
    std::function<void(const std::string&)> log = {};  ///< called with each FitEvent, never by two threads at once
    /// Called with the side that `automatic` takes, and the reason, each time the choice changes.
    std::function<void(const std::string&)> on_decision = {};
    Progress progress = {};          ///< called after each batch or block, by one thread at a time
    const StopFlag* stop = nullptr;  ///< polled between chunks; a stop of a fit throws Cancelled
};

struct FitOptions : FitSettings, Placement, Callbacks {
    /// Start values, n columns as in Fits::theta for each parameter, or all empty: the position from
    /// Rois::x_start and y_start, or from the pixels where those are empty too, and the rest from the pixels.
    std::array<std::span<const float>, max_parameters> start{};
};

/// Something that befell a fit on a GPU: a wait, a failure, a new attempt.
struct FitEvent {
    double seconds = 0;  ///< since the call
    std::string what;
};

/// What one GPU did.
struct GpuPart {
    std::string name, uuid;
    std::int64_t fits = 0;
    double seconds = 0;  ///< that it was at it
    double share = 0;    ///< of what all GPUs and the CPU fitted; 0 to 1
};

/// How a fit was run.
struct FitInfo {
    std::string backend;  ///< "cpu", "gpu"; "gpu+cpu": side by side
    std::string device;   ///< "avx512", "avx2", "sse2", "neon", the GPU's name, "4x " and that, or several with " + "
    std::string note;     ///< why it was not the GPU, or not to the end; empty when there is nothing to say
    bool gpu_failed = false;  ///< the note is about a GPU that failed, not one that is taken, missing or slower
    bool timed_out = false;   ///< no GPU was free within auto_timeout_s: the note names who uses the GPUs
    int threads = 1;
    std::int64_t fits = 0;
    std::int64_t batches = 0;                         ///< pieces the stack was cut into
    std::int64_t batch_size = 0;                      ///< fits in the largest of them
    double seconds = 0;                               ///< wall time of the call
    std::int64_t bytes_up = 0, bytes_down = 0;        ///< to and from the GPU
    double transfer_seconds = 0, kernel_seconds = 0;  ///< on the GPU; they overlap, so their sum may exceed `seconds`
    double waited_seconds = 0;                        ///< for GPUs
    int retries = 0;                                  ///< times that a GPU was asked for again after a failure
    std::vector<GpuPart> gpus;                        ///< those that fitted something, in the order in which they came
    std::int64_t cpu_fits = 0;                        ///< of the fits, those that the CPU did
    std::string decision;                             ///< of `automatic`, in words
    std::vector<FitEvent> events;                     ///< all of them, in order
};

/// Fits every ROI: row k is that of ROI k, or, with several emitters, one of ROI Fits::window[k]. `pixel_size_nm` converts
/// the PSF's nanometres into pixels. z in the result is in micrometres (PsfDescription::units).
/// The result is the same, bit for bit, for any number of threads or of GPUs of one kind, and any order or grouping of
/// the ROIs; a CPU's and a GPU's agree as GpuFitter::fit says, so where both take part the last bits of a row depend on
/// which one had it.
/// A GPU is shared with others by a lease (glint/gpu/lease.hpp), waited for, and given back at the end. Rows that have
/// a result keep it, whatever fails; the others go to the same GPU again, to another one, or to the CPU. Thread-safe.
/// With several emitters, Backend::gpu is an OptionError.
/// Throws OptionError for a ROI size outside 3 to 31, a pixel size outside smallest_pixel_nm to largest_pixel_nm
/// (glint/units.hpp), a sigma below least_width_nm, or columns whose lengths disagree; where Backend::gpu cannot,
/// gpu::LeaseTimeout, gpu::NoGpu or another gpu::GpuError; Cancelled.
Fits fit(const Rois& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options = {},
         FitInfo* info = nullptr);

/// The same for counts of a camera, or photoelectrons, in whatever memory: they are read where they lie, and become
/// photoelectrons batch by batch. Those on a GPU (RoiView::gpu) are fitted on that one, if on any, whatever
/// Placement::gpus says; the CPU gets them batch by batch too.
Fits fit(const RoiView& rois, const Psf& psf, double pixel_size_nm, const FitOptions& options = {},
         FitInfo* info = nullptr);

/// fit() for several stacks: keeps its leases from one to the next, until it is destroyed, and returns unused memory to
/// others who wait. After a request for a GPU has failed or timed out, Backend::automatic uses the CPU without asking for
/// a pause: one second at first, twice as long after each failure up to a minute, and never shorter than the wait was.
/// Backend::gpu asks at each call. Thread-safe; a call waits while other calls have all GPUs that it may use.
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
