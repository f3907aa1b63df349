// `glint bench fit --gpus N`: one stack spread over several GPUs, and the bandwidth of their links.
// SPDX-License-Identifier: MIT
#include "bench/fit.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <thread>

#include "base/start_threads.hpp"
#include "bench/pinned.hpp"
#include "cli/command.hpp"
#include "cli/print.hpp"
#include "fit/row_queue.hpp"
#include "glint/error.hpp"
#include "glint/gpu_fit.hpp"

namespace glint::cli {
namespace {

constexpr int size_px = 7;
constexpr std::size_t roi_bytes = size_px * size_px * sizeof(std::uint16_t);
constexpr std::size_t result_bytes = (2 * 4 + 2) * sizeof(float) + 2;  // of GaussianXYNB

/// Opens all GPUs that are free now. Waits for the first one.
std::vector<GpuFitter> open_gpus(const BenchFitFlags& flags) {
    const int most = gpu_count(flags.backend);
    std::vector<GpuFitter> fitters;
    gpu::LeaseRequest request = lease_request(flags.backend);
    while (most == all_gpus || int(fitters.size()) < most) try {
            gpu::Lease lease = gpu::acquire(request);
            request.avoid.push_back(lease.devices().front().uuid);
            request.timeout_s = 0;
            fitters.emplace_back(std::move(lease), flags.backend.batch_size);
        } catch (const gpu::GpuError& error) {
            if (fitters.empty()) throw;
            if (most != all_gpus) tell("glint: {} GPUs only: {}\n", fitters.size(), error.what());
            break;
        }
    return fitters;
}

/// Calls work(k) for k = 0 to count - 1, each in a separate thread. Rethrows the exception of one call.
template <class Work>
void on_threads(std::size_t count, const Work& work) {
    std::vector<std::exception_ptr> errors(count);
    std::vector<std::jthread> threads;
    for (std::size_t k = 0; k < count; ++k)
        threads.push_back(start_thread([&, k] {
            try {
                work(k);
            } catch (...) {
                errors[k] = std::current_exception();
            }
        }));
    for (std::jthread& thread : threads) thread.join();
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

class Bench {
  public:
    explicit Bench(const BenchFitFlags& flags)
        : flags_(flags),
          camera_(counting({})),
          seen_(camera_, size_px, size_px),
          psf_(bench_psf(PsfModel::GaussianXYNB)),
          fitters_(open_gpus(flags)) {
        Truth truth;
        Rois rois =
            simulate_rois(bench_spots({psf_.model, "ideal", {}, size_px}, flags), psf_, bench_pixel_nm, {}, truth);
        quantize(rois);
        const std::size_t copies = std::max<std::size_t>(1, flags.gpus_bytes / (roi_bytes * rois.count()));
        const std::size_t n = copies * rois.count();
        refuse_too_much(n);
        const gpu::Context& context = fitters_.front().context();
        pixels_ = gpu::Pinned<std::byte>(context, n * roi_bytes);
        results_ = std::make_unique<PinnedFits>(context, psf_.model, n);
        write_counts<std::uint16_t>(rois, copies, pixels_.data());
        stack_.size = size_px, stack_.count = n, stack_.type = PixelType::uint16;
        stack_.pixels = pixels_.data(), stack_.camera = &seen_;
    }

    std::size_t gpus() const { return fitters_.size(); }

    nlohmann::ordered_json measure(std::size_t gpus) {
        std::vector<std::int64_t> parts(gpus);
        std::int64_t batches = 0, up = 0, down = 0;
        const auto run = [&] {
            RowQueue queue({0, std::int64_t(stack_.count)}, int(gpus));
            std::vector<FitInfo> infos(gpus);
            on_threads(gpus, [&](std::size_t k) {
                RowShare share(queue);
                fitters_[k].fit(stack_, psf_, bench_pixel_nm, {}, results_->view, share, &infos[k]);
                parts[k] = share.finished();
            });
            batches = up = down = 0;
            for (const FitInfo& info : infos) batches += info.batches, up += info.bytes_up, down += info.bytes_down;
        };
        run();  // loads the kernels
        const double fits_s = best_seconds(flags_.repeats, run);
        const double link_s = link_seconds(gpus, std::size_t(batches));
        const double n = double(stack_.count), rate = n / fits_s;
        if (gpus == 1) rate_of_one_ = rate;
        double apart = 0;
        for (const std::int64_t part : parts) apart = std::max(apart, std::abs(double(part) * double(gpus) / n - 1));
        return {{"gpus", gpus},
                {"device", fitters_.front().context().name()},
                {"fits", stack_.count},
                {"fits_per_s", rate},
                {"speedup_vs_one_gpu", rate / rate_of_one_},
                {"link_up_bytes_per_s", double(up) / link_s},
                {"link_down_bytes_per_s", double(down) / link_s},
                {"link_share", link_s / fits_s},
                {"parts_apart", apart},
                {"batches", batches}};
    }

  private:
    static void refuse_too_much(std::size_t n) {
        const std::size_t needed = n * (roi_bytes + result_bytes);
        const std::size_t there = std::size_t(sysconf(_SC_PHYS_PAGES)) * std::size_t(sysconf(_SC_PAGESIZE));
        if (needed > there / 4 * 3)
            throw OptionError(
                fmt::format("{:.1f} GB of page-locked memory are more than this host with {:.1f} GB spares: "
                            "--gpus-bytes {:.0f}GB",
                            double(needed) / 1e9, double(there) / 1e9, double(there) / 4e9));
    }

    /// Returns the time of the same traffic over all links simultaneously.
    double link_seconds(std::size_t gpus, std::size_t batches) {
        const std::size_t n = stack_.count / gpus, pieces = std::max<std::size_t>(1, batches / gpus);
        std::vector<LinkTraffic> links;
        for (std::size_t k = 0; k < gpus; ++k)
            links.emplace_back(fitters_[k].context(), n * roi_bytes, n * (result_bytes - 2), pieces);
        auto* back = reinterpret_cast<std::byte*>(results_->columns.data());
        return best_seconds(flags_.repeats + 1, [&] {
            on_threads(gpus, [&](std::size_t k) {
                links[k].run(pixels_.data() + k * n * roi_bytes, back + k * n * (result_bytes - 2));
            });
        });
    }

    const BenchFitFlags& flags_;
    const Camera camera_;
    const CameraView seen_;
    const Psf psf_;
    std::vector<GpuFitter> fitters_;  // declared before the page-locked memory, which needs them
    gpu::Pinned<std::byte> pixels_;
    std::unique_ptr<PinnedFits> results_;
    RoiView stack_;
    double rate_of_one_ = 0;
};

void print_row(const nlohmann::ordered_json& row) {
    put("{:>4} {:>10.3g} {:>8.2f} {:>10.1f} {:>12.1f} {:>5.2f} {:>6.1f}%  {}\n", row["gpus"].get<int>(),
        row["fits_per_s"].get<double>(), row["speedup_vs_one_gpu"].get<double>(),
        row["link_up_bytes_per_s"].get<double>() / 1e9, row["link_down_bytes_per_s"].get<double>() / 1e9,
        row["link_share"].get<double>(), 100 * row["parts_apart"].get<double>(), row["device"].get<std::string>());
}

}  // namespace

int bench_fit_gpus(const BenchFitFlags& flags) {
    require_gpu_kernels();
    Bench bench(flags);
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    if (!flags.console.json)
        put("{:>4} {:>10} {:>8} {:>10} {:>12} {:>5} {:>7}  {}\n", "GPUs", "fits/s", "speed-up", "up GB/s", "down GB/s",
            "link", "apart", "device");
    for (std::size_t gpus = 1;;) {
        rows.push_back(bench.measure(gpus));
        if (!flags.console.json) print_row(rows.back());
        require_results();
        if (gpus == bench.gpus()) break;
        gpus = std::min(2 * gpus, bench.gpus());
    }
    if (flags.console.json) print_json(rows);
    return exit_ok;
}

}  // namespace glint::cli
