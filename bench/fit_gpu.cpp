// Rows of `glint bench fit` for the GPU.
// SPDX-License-Identifier: MIT
#include "bench/fit.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/pinned.hpp"

namespace glint::cli {
namespace {

/// Shares of the fits for which the GPU and the CPU agree.
struct Agreement {
    double position = 0;    ///< x, y (and z) within 1e-6 um
    double everything = 0;  ///< the same status, and every parameter within 1e-3 of its CRLB
};
Agreement agreement(const Fits& cpu, const Fits& gpu) {
    std::size_t near = 0, same = 0;
    const bool has_z = describe(cpu.model).has_z;
    for (std::size_t i = 0; i < cpu.count(); ++i) {
        const auto apart = [&](int k) { return std::abs(cpu.theta[k][i] - gpu.theta[k][i]); };
        near += std::max(apart(0), apart(1)) * bench_pixel_nm <= 1e-3 && (!has_z || apart(4) <= 1e-6);
        bool all = cpu.status[i] == gpu.status[i];
        for (int k = 0; k < parameter_count(cpu.model); ++k)
            all = all && (cpu.crlb[k][i] == 0 || apart(k) <= 1e-3f * cpu.crlb[k][i]);
        same += all;
    }
    const double n = double(std::max<std::size_t>(1, cpu.count()));
    return {double(near) / n, double(same) / n};
}

/// Repeats the values in page-locked memory.
gpu::Pinned<std::int32_t> repeated(const gpu::Context& context, const std::vector<std::int32_t>& values,
                                   std::size_t copies) {
    if (values.empty()) return {};
    gpu::Pinned<std::int32_t> all(context, copies * values.size());
    for (std::size_t c = 0; c < copies; ++c) std::copy(values.begin(), values.end(), all.data() + c * values.size());
    return all;
}

/// Copies the first n rows into a new table.
Fits first_rows(const FitsView& from, std::size_t n) {
    Fits fits;
    fits.resize(from.model, n);
    for (int k = 0; k < parameter_count(from.model); ++k) {
        std::copy_n(from.theta[k], n, fits.theta[k].begin());
        std::copy_n(from.crlb[k], n, fits.crlb[k].begin());
    }
    std::copy_n(from.log_likelihood_ratio, n, fits.log_likelihood_ratio.begin());
    std::copy_n(from.p_value, n, fits.p_value.begin());
    std::copy_n(from.iterations, n, fits.iterations.begin());
    std::copy_n(from.status, n, fits.status.begin());
    return fits;
}

}  // namespace

GpuBench::GpuBench(const BenchFitFlags& flags)
    : flags_(flags),
      opened_(std::chrono::steady_clock::now()),
      fitter_(lease_request(flags.backend), flags.backend.batch_size),
      open_s_(seconds_since(opened_)),
      pixels_(fitter_.context(), flags.gpu_bytes) {}

nlohmann::ordered_json GpuBench::measure(const Conditions& c, PixelType type, const nlohmann::ordered_json& cpu) {
    const Psf psf = bench_psf(c.model);
    Truth truth;
    Rois rois = simulate_rois(bench_spots(c, flags_), psf, bench_pixel_nm, c.camera, truth);
    quantize(rois);
    const std::size_t roi_bytes = std::size_t(c.size) * c.size * num_bytes(type);
    const std::size_t copies = std::max<std::size_t>(1, flags_.gpu_bytes / (roi_bytes * rois.count()));
    const std::size_t n = copies * rois.count();
    const std::size_t room = n * (roi_bytes + 16);  // LinkTraffic also sends bytes for the corners
    if (room > pixels_.size()) pixels_ = {}, pixels_ = gpu::Pinned<std::byte>(fitter_.context(), room);
    if (type == PixelType::uint16)
        write_counts<std::uint16_t>(rois, copies, pixels_.data());
    else
        write_counts<float>(rois, copies, pixels_.data());
    const Camera counted = counting(c.camera);
    const CameraView camera(counted, std::max(c.size, counted.sensor_width), std::max(c.size, counted.sensor_height));
    const auto x = repeated(fitter_.context(), rois.x_corner, copies);
    const auto y = repeated(fitter_.context(), rois.y_corner, copies);
    RoiView stack;
    stack.size = c.size, stack.count = n, stack.type = type, stack.pixels = pixels_.data(), stack.camera = &camera;
    stack.x_corner = x.span(), stack.y_corner = y.span();

    const PinnedFits results(fitter_.context(), c.model, n);
    FitInfo info;
    const auto run = [&] { fitter_.fit(stack, psf, bench_pixel_nm, {}, results.view, &info); };
    const double first_s = best_seconds(1, run);
    const double pinned_s = best_seconds(flags_.repeats, run);
    const Fits fits = first_rows(results.view, rois.count());
    const std::size_t pieces = std::max<std::size_t>(1, std::size_t(info.batches));
    const std::size_t up = std::min(pixels_.size(), std::size_t(info.bytes_up));
    std::byte* back = reinterpret_cast<std::byte*>(results.columns.data());
    LinkTraffic traffic(fitter_.context(), up, results.columns.size() * sizeof(float), pieces);
    const double link_s = best_seconds(flags_.repeats + 1, [&] { traffic.run(pixels_.data(), back); });

    const std::vector<std::byte> ordinary(pixels_.data(), pixels_.data() + n * roi_bytes);
    const std::vector<std::int32_t> ordinary_x(x.data(), x.data() + x.size()),
        ordinary_y(y.data(), y.data() + y.size());
    stack.pixels = ordinary.data(), stack.x_corner = ordinary_x, stack.y_corner = ordinary_y;
    const double pageable_s = best_seconds(flags_.repeats, run);
    constexpr std::size_t beside_pixels = 128;  // upper limit of the bytes of a fit's corners and results
    stack.pixels = pixels_.data(),
    stack.count = std::min(n, gpu_memory_bytes(flags_.backend) / 2 / (roi_bytes + beside_pixels));
    if (x.size() > 0) stack.x_corner = x.span().first(stack.count), stack.y_corner = y.span().first(stack.count);
    const double kernel_s = fitter_.kernel_seconds(stack, psf, bench_pixel_nm, {}, flags_.repeats);

    const Agreement with_cpu = agreement(fit(rois, psf, bench_pixel_nm), fits);
    const Accuracy errors = accuracy(rois, psf, fits, truth);
    const double rows = double(fits.count()), all = double(n);
    double iterations = 0;
    for (auto k : fits.iterations) iterations += k;
    const auto converged = std::count(fits.status.begin(), fits.status.end(), FitStatus::converged);
    const auto small_p = std::count_if(fits.p_value.begin(), fits.p_value.end(), [](float p) { return p < 0.01f; });
    const double cpu_rate = cpu["fits_per_s"].get<double>();
    return {{"model", to_name(c.model)},
            {"camera", c.camera_name},
            {"device", fitter_.context().name()},
            {"roi", c.size},
            {"dtype", type == PixelType::uint16 ? "uint16" : "float32"},
            {"fits_per_s", all / pinned_s},
            {"pageable_fits_per_s", all / pageable_s},
            {"kernel_fits_per_s", double(stack.count) / kernel_s},
            {"first_call_s", open_s_ + first_s},
            {"link_bytes_per_s", double(up) / link_s},
            {"link_share", link_s / pinned_s},
            {"pageable_link_share", link_s / pageable_s},
            {"batch_size", info.batch_size},
            {"iterations", iterations / rows},
            {"converged", double(converged) / rows},
            {"std_over_crlb", errors.std_over_crlb},
            {"bias_over_crlb", errors.bias_over_crlb},
            {"outliers", errors.outliers},
            {"positions_within_1e-6_um_of_cpu", with_cpu.position},
            {"within_1e-3_crlb_of_cpu", with_cpu.everything},
            {"p_below_0.01", double(small_p) / rows},
            {"fits", n},
            {"threads", cpu["threads"]},
            {"speedup_vs_one_core", all / pinned_s / (cpu_rate / cpu["speedup_vs_one_core"].get<double>())},
            {"speedup_vs_all_cores", all / pinned_s / cpu_rate}};
}

}  // namespace glint::cli
