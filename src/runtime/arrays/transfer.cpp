// Transfers of contiguous and strided arrays between host and GPU.
// SPDX-License-Identifier: MIT
#include "arrays/transfer.hpp"

#include <complex>
#include <memory>

#include "arrays/host_copy.hpp"

namespace glint::arrays {
namespace {

constexpr std::int64_t packed_bytes = std::int64_t(64) << 20;  // of host memory, for arrays with gaps

/// Calls each(first, n) for parts of a range that fit into the packing buffer.
template <class T, class Each>
void in_parts(std::int64_t n, const Each& each) {
    const std::int64_t most = packed_bytes / std::int64_t(sizeof(T));
    for (std::int64_t first = 0; first < n; first += most) each(first, std::min(most, n - first));
}

template <class T>
std::unique_ptr<T[]> room_for(std::int64_t n) {
    return std::unique_ptr<T[]>(new T[std::size_t(std::min(n, packed_bytes / std::int64_t(sizeof(T))))]);
}

}  // namespace

template <class T>
void upload(const gpu::Stream& stream, gpu::Buffer<T>& to, const View<const T>& from, std::int64_t first,
            std::int64_t n) {
    if (from.is_contiguous()) return gpu::upload(stream, to, {from.data + first, std::size_t(n)});
    const auto packed = room_for<T>(n);
    in_parts<T>(n, [&](std::int64_t begin, std::int64_t count) {
        gather(from, first + begin, count, packed.get());
        auto part = to.view(std::size_t(begin), std::size_t(count));
        gpu::upload(stream, part, {packed.get(), std::size_t(count)});
    });
}

template <class T>
void download(const gpu::Stream& stream, const View<T>& to, const gpu::Buffer<T>& from, std::int64_t first,
              std::int64_t n) {
    if (to.is_contiguous()) {
        gpu::download(stream, {to.data + first, std::size_t(n)}, from);
        stream.synchronize();  // for pinned memory
        return;
    }
    const auto packed = room_for<T>(n);
    in_parts<T>(n, [&](std::int64_t begin, std::int64_t count) {
        gpu::download(stream, {packed.get(), std::size_t(count)}, from.view(std::size_t(begin), std::size_t(count)));
        scatter(packed.get(), to, first + begin, count);
    });
}

#define GLINT_TRANSFERS(T)                                                                                       \
    template void upload(const gpu::Stream&, gpu::Buffer<T>&, const View<const T>&, std::int64_t, std::int64_t); \
    template void download(const gpu::Stream&, const View<T>&, const gpu::Buffer<T>&, std::int64_t, std::int64_t);
GLINT_TRANSFERS(std::int64_t)
GLINT_TRANSFERS(float)
GLINT_TRANSFERS(double)
GLINT_TRANSFERS(std::complex<float>)
GLINT_TRANSFERS(std::complex<double>)

std::int64_t piece_size(const OnGpu::State& state, const Pieces& pieces) {
    // A piece takes a fraction of a millisecond on the link, many times the cost of a call. Several pieces are used, so
    // that most of the transfers overlap.
    constexpr std::int64_t min_bytes = std::int64_t(4) << 20, max_bytes = std::int64_t(64) << 20;
    if (pieces.bytes_each == 0) return pieces.total;
    const std::int64_t room = std::int64_t(state.room()), all = pieces.total * pieces.bytes_each;
    std::int64_t size = pieces.total;
    if (all > room) size = room / pieces.bytes_each / (pieces.overlap ? 2 : 1);
    if (pieces.overlap) size = std::min(size, std::clamp(all / 8, min_bytes, max_bytes) / pieces.bytes_each);
    return size >= pieces.total ? pieces.total : whole_granules(size, pieces);
}

void wait_quietly(const OnGpu::State& state) noexcept {
    if (gpu::forked() || state.home().released) return;
    const gpu::detail::Current current(state.home(), std::nothrow);
    state.home().driver->cuStreamSynchronize(state.stream.state().stream);
    if (state.second_stream) state.home().driver->cuStreamSynchronize(state.second_stream->state().stream);
}

}  // namespace glint::arrays
