// Fits rows of a stack on all cores.
// SPDX-License-Identifier: MIT
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

#include "fit/fit_setup.hpp"
#include "fit/kernel_batch.hpp"
#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/isa.hpp"

namespace glint {
namespace {

constexpr std::int64_t batch_size = 2048;  // some 0.5 ms of one core; a multiple of every lane width

/// The part [first, first + count) of the stack.
KernelInput input_part(const Rois& rois, const Starts& starts, std::int64_t first, std::int64_t count) {
    const std::size_t at = std::size_t(first) * rois.size * rois.size;
    KernelInput in{rois.pixels.data() + at, nullptr, nullptr, starts.known, {}, count};
    if (!rois.variance.empty()) in.variance = rois.variance.data() + at;
    if (!rois.additive.empty()) in.additive = rois.additive.data() + at;
    for (int k = 0; k < starts.known; ++k) in.start[k] = starts.of[k] + first;
    return in;
}

KernelOutput output_part(Fits& fits, std::int64_t first) {
    KernelOutput out{};
    for (int k = 0; k < parameter_count(fits.model); ++k) {
        out.theta[k] = fits.theta[k].data() + first;
        out.crlb[k] = fits.crlb[k].data() + first;
    }
    out.log_likelihood_ratio = fits.log_likelihood_ratio.data() + first;
    out.p_value = fits.p_value.data() + first;
    out.iterations = fits.iterations.data() + first;
    out.status = reinterpret_cast<std::uint8_t*>(fits.status.data()) + first;
    return out;
}

}  // namespace

void fit_on_cpu(const Rois& rois, const Psf& psf, double pixel_size_um, const FitOptions& options, RowRange rows,
                Fits& fits, FitInfo& info) {
    const std::int64_t batches = (rows.count() + batch_size - 1) / batch_size;
    const RoiView all = view(rois);
    const KernelPsf numbers = kernel_psf(psf, pixel_size_um, options, rois.size);
    const KernelOptions kernel = kernel_options(all, options);
    const Starts starts = starts_of(all, options);
    const auto fit_one = [&](std::int64_t batch) {
        if (options.stop && *options.stop) return;
        const std::int64_t begin = rows.first + batch * batch_size;
        const KernelInput in = input_part(rois, starts, begin, std::min(batch_size, rows.end - begin));
        const KernelOutput out = output_part(fits, begin);
        GLINT_PICK(fit_batch)(int(psf.model), numbers, kernel, in, out);
    };
    const int wanted = options.threads > 0 ? options.threads : environment::threads();
    const int threads = std::min(wanted, tbb::this_task_arena::max_concurrency());
    if (threads == 1 || batches <= 1) {
        for (std::int64_t batch = 0; batch < batches; ++batch) fit_one(batch);
    } else {
        tbb::task_arena arena(threads);
        arena.execute([&] { tbb::parallel_for(std::int64_t(0), batches, fit_one); });
    }
    if (options.stop && *options.stop) throw Cancelled("the fit was stopped");
    info.backend = "cpu", info.device = active_isa(), info.threads = threads;
    info.batches += batches, info.batch_size = std::max(info.batch_size, std::min(batch_size, rows.count()));
    info.cpu_fits += rows.count();
}

}  // namespace glint
