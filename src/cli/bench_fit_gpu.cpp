// The GPU's rows of `glint bench fit`.
// SPDX-License-Identifier: MIT
#include "cli/bench_fit_gpu.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace glint::cli {
namespace {

constexpr float offset_adu = 100, gain = 0.5f;  // of the counts

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class Call>
double best_seconds(int repeats, const Call& call) {
    double best = 1e300;
    for (int k = 0; k < repeats; ++k) {
        const auto begin = std::chrono::steady_clock::now();
        call();
        best = std::min(best, seconds_since(begin));
    }
    return best;
}

/// The same noise in photoelectrons, as a camera that counts: 100 ADU offset, 0.5 e- an ADU in every pixel, whatever
/// the pixel's response and the EM gain, which are divided out.
Camera counting(Camera camera) {
    camera.offset_adu = {offset_adu, {}};
    camera.gain_e_per_adu = camera.relative_qe;
    const float divided_out = gain * float(camera.em_gain);
    camera.gain_e_per_adu.scalar *= divided_out;
    for (float& response : camera.gain_e_per_adu.map) response *= divided_out;
    camera.roi_x = camera.roi_y = 0;  // the corners of the ROIs are those on the sensor
    return camera;
}

/// What a 16-bit camera makes of photoelectrons.
void quantize(Rois& rois) {
    for (float& e : rois.pixels)
        e = (std::clamp(std::round(e / gain + offset_adu), 0.0f, 65535.0f) - offset_adu) * gain;
}

template <class T>
void write_counts(const Rois& rois, std::size_t copies, std::byte* out) {
    const std::size_t n = rois.pixels.size();
    T* to = reinterpret_cast<T*>(out);
    for (std::size_t k = 0; k < n; ++k) to[k] = T(std::round(rois.pixels[k] / gain + offset_adu));
    tbb::parallel_for(std::size_t(1), copies, [&](std::size_t c) { std::memcpy(to + c * n, to, n * sizeof(T)); });
}

/// Shares of the rows where the GPU's answer is the CPU's.
struct Agreement {
    double position = 0;    ///< x, y (and z) within 1e-6 um
    double everything = 0;  ///< the same status, and every parameter within 1e-3 of its CRLB
};
Agreement agreement(const Fits& cpu, const Fits& gpu) {
    std::size_t near = 0, same = 0;
    const bool has_z = cpu.model == PsfModel::AstigmaticXYZNB;
    for (std::size_t i = 0; i < cpu.count(); ++i) {
        const auto apart = [&](int k) { return std::abs(cpu.theta[k][i] - gpu.theta[k][i]); };
        near += std::max(apart(0), apart(1)) * bench_pixel_um <= 1e-6 && (!has_z || apart(4) <= 1e-6);
        bool all = cpu.status[i] == gpu.status[i];
        for (int k = 0; k < parameter_count(cpu.model); ++k)
            all = all && (cpu.crlb[k][i] == 0 || apart(k) <= 1e-3f * cpu.crlb[k][i]);
        same += all;
    }
    const double n = double(std::max<std::size_t>(1, cpu.count()));
    return {double(near) / n, double(same) / n};
}

/// In page-locked memory.
gpu::Pinned<std::int32_t> repeated(const gpu::Context& context, const std::vector<std::int32_t>& values,
                                   std::size_t copies) {
    if (values.empty()) return {};
    gpu::Pinned<std::int32_t> all(context, copies * values.size());
    for (std::size_t c = 0; c < copies; ++c) std::copy(values.begin(), values.end(), all.data() + c * values.size());
    return all;
}

/// Results of n fits in page-locked memory.
struct PinnedFits {
    PinnedFits(const gpu::Context& context, PsfModel model, std::size_t n)
        : columns(context, (2 * parameter_count(model) + 2) * n), bytes(context, 2 * n) {
        view.model = model;
        float* next = columns.data();
        for (int k = 0; k < parameter_count(model); ++k, next += n) view.theta[k] = next;
        for (int k = 0; k < parameter_count(model); ++k, next += n) view.crlb[k] = next;
        view.log_likelihood_ratio = next, view.p_value = next + n;
        view.iterations = bytes.data(), view.status = reinterpret_cast<FitStatus*>(bytes.data() + n);
    }
    gpu::Pinned<float> columns;
    gpu::Pinned<std::uint8_t> bytes;
    FitsView view;
};

/// The first n rows as a table of their own.
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

/// The link under the same traffic without a fit: `up` bytes there and `down` bytes back, in pieces on four streams.
double link_seconds(const gpu::Context& context, std::byte* from, std::size_t up, std::byte* to, std::size_t down,
                    std::size_t pieces, int repeats) {
    const std::size_t up_piece = up / pieces, down_piece = down / pieces;
    struct Lane {
        gpu::Stream stream;
        gpu::Buffer<std::byte> up, down;
    };
    std::vector<Lane> lanes;
    for (int k = 0; k < 4; ++k) {
        const gpu::Stream stream(context);
        lanes.push_back({stream, {stream, up_piece}, {stream, down_piece}});
        gpu::fill(stream, lanes.back().down, 0);  // what is downloaded shall have been written
        stream.synchronize();
    }
    return best_seconds(repeats + 1, [&] {
        for (std::size_t k = 0; k < pieces; ++k) {
            Lane& lane = lanes[k % lanes.size()];
            gpu::upload(lane.stream, lane.up, {from + k * up_piece, up_piece});
            gpu::download(lane.stream, {to + k * down_piece, down_piece}, lane.down);
        }
        for (const Lane& lane : lanes) lane.stream.synchronize();
    });
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
    Rois rois = simulate_rois(bench_spots(c, flags_), psf, bench_pixel_um, c.camera, truth);
    quantize(rois);
    const std::size_t roi_bytes = std::size_t(c.size) * c.size * bytes_of(type);
    const std::size_t copies = std::max<std::size_t>(1, flags_.gpu_bytes / (roi_bytes * rois.count()));
    const std::size_t n = copies * rois.count();
    const std::size_t room = n * (roi_bytes + 16);  // the link's own measurement sends corners' worth too
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
    const auto run = [&] { fitter_.fit(stack, psf, bench_pixel_um, {}, results.view, &info); };
    const double first_s = best_seconds(1, run);
    const double pinned_s = best_seconds(flags_.repeats, run);
    const Fits fits = first_rows(results.view, rois.count());
    const std::size_t pieces = std::max<std::size_t>(1, std::size_t(info.batches));
    const std::size_t up = std::min(pixels_.size(), std::size_t(info.bytes_up));
    std::byte* back = reinterpret_cast<std::byte*>(results.columns.data());
    const double link_s = link_seconds(fitter_.context(), pixels_.data(), up, back,
                                       results.columns.size() * sizeof(float), pieces, flags_.repeats);

    const std::vector<std::byte> ordinary(pixels_.data(), pixels_.data() + n * roi_bytes);
    const std::vector<std::int32_t> ordinary_x(x.data(), x.data() + x.size()),
        ordinary_y(y.data(), y.data() + y.size());
    stack.pixels = ordinary.data(), stack.x_corner = ordinary_x, stack.y_corner = ordinary_y;
    const double pageable_s = best_seconds(flags_.repeats, run);
    constexpr std::size_t beside_pixels = 128;  // bytes of a fit's corners and results, at most
    stack.pixels = pixels_.data(),
    stack.count = std::min(n, gpu_memory_bytes(flags_.backend) / 2 / (roi_bytes + beside_pixels));
    if (x.size() > 0) stack.x_corner = x.span().first(stack.count), stack.y_corner = y.span().first(stack.count);
    const double kernel_s = fitter_.kernel_seconds(stack, psf, bench_pixel_um, {}, flags_.repeats);

    const Agreement with_cpu = agreement(fit(rois, psf, bench_pixel_um), fits);
    const Accuracy errors = accuracy(rois, psf, fits, truth);
    const double rows = double(fits.count()), all = double(n);
    double iterations = 0;
    for (auto k : fits.iterations) iterations += k;
    const auto converged = std::count(fits.status.begin(), fits.status.end(), FitStatus::converged);
    const auto small_p = std::count_if(fits.p_value.begin(), fits.p_value.end(), [](float p) { return p < 0.01f; });
    const double cpu_rate = cpu["fits_per_s"].get<double>();
    return {{"model", name_of(c.model)},
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
