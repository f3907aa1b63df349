// Selects the kernel and block size of a fit, and launches it.
// SPDX-License-Identifier: MIT
#include "fit/cuda/fit_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "fit/cuda/fatbins.hpp"

namespace glint {
namespace {

/// The block size for which shared memory allows the most resident threads per multiprocessor.
struct BlockShape {
    unsigned threads = 0, shared_bytes = 0;
};
BlockShape block_shape(int size, int planes, int max_shared_bytes) {
    constexpr int reserved = 1 << 10;  // bytes per block, by the driver
    BlockShape best;
    unsigned resident = 0;
    for (unsigned threads : {128u, 96u, 64u, 32u, 16u}) {
        const unsigned bytes = threads * planes * shared_stride(size) * unsigned(sizeof(float));
        if (int(bytes) > max_shared_bytes) continue;
        const unsigned blocks = std::min(32u, unsigned(max_shared_bytes + reserved) / (bytes + reserved));
        if (std::min(blocks * threads, 640u) > resident) {
            resident = std::min(blocks * threads, 640u);  // the limit by registers
            best = {threads, bytes};
        }
    }
    return best;
}

std::string kernel_name(PsfModel model, int size, PixelPlanes planes) {
    if (planes.qe) return fmt::format("fit_{}_0_weighted", to_name(model));
    const bool mapped = planes.count() > 1;
    const bool fixed =
        std::find(std::begin(gpu_fixed_sizes), std::end(gpu_fixed_sizes), size) != std::end(gpu_fixed_sizes);
    return fmt::format("fit_{}_{}{}", to_name(model), fixed ? size : 0, mapped ? "_mapped" : "");
}

}  // namespace

FitVariant FitKernels::of(const Psf& psf, int size, PixelPlanes planes) {
    std::shared_ptr<const TableOnGpu> table = table_of(psf);
    const PsfModel model = psf.model;
    const int max_shared_bytes = context_.shared_bytes_per_block();
    const BlockShape shape = block_shape(size, planes.count(), max_shared_bytes);
    const std::string name = kernel_name(model, size, planes);
    const std::lock_guard lock(mutex_);
    auto known = kernels_.find(name);
    if (known == kernels_.end()) {
        auto module = modules_.find(model);
        if (module == modules_.end())
            module = modules_.emplace(model, gpu::Module(context_, fit_fatbin(int(model)))).first;
        known = kernels_.emplace(name, module->second.kernel(name, max_shared_bytes)).first;
    }
    return {known->second, shape.threads, shape.shared_bytes, std::move(table)};
}

gpu::Kernel FitKernels::joint(PsfModel model) {
    const std::string name = fmt::format("joint_{}", to_name(model));
    const std::lock_guard lock(mutex_);
    auto known = kernels_.find(name);
    if (known == kernels_.end())
        known = kernels_.emplace(name, gpu::Module(context_, joint_fatbin(int(model))).kernel(name)).first;
    return known->second;
}

TableOnGpu::TableOnGpu(const gpu::Context& context, const PsfTable& table) {
    const gpu::Stream stream(context);
    values_ = gpu::Buffer<float>(stream, table.values().size());
    gpu::upload(stream, values_, table.values());
    stream.synchronize();
}

void TableOnGpu::use(const gpu::Stream& stream, KernelPsf& numbers) const {
    const std::lock_guard lock(mutex_);
    numbers.table.values = reinterpret_cast<const float*>(values_.read_on(stream));
}

std::shared_ptr<const TableOnGpu> FitKernels::table_of(const Psf& psf) {
    if (!psf.table) return {};
    const std::lock_guard lock(mutex_);
    std::erase_if(tables_, [](const auto& table) { return table.second.expired(); });
    std::shared_ptr<const TableOnGpu> table = tables_[psf.table->hash()].lock();
    if (!table) tables_[psf.table->hash()] = table = std::make_shared<const TableOnGpu>(context_, *psf.table);
    return table;
}

void launch_fit(const gpu::Stream& stream, const FitVariant& variant, FitLaunch launch, FitAddresses to) {
    if (variant.table) variant.table->use(stream, launch.psf);
    void* arguments[] = {&launch,      &to.pixels, &to.camera,  &to.corners, &to.variance,
                         &to.additive, &to.start,  &to.columns, &to.bytes};
    gpu::launch(stream, variant.kernel, (launch.count + variant.threads - 1) / variant.threads, variant.threads,
                variant.shared_bytes, arguments);
}

}  // namespace glint
