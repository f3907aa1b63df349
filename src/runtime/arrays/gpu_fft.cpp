// Fourier transforms on a GPU, by cuFFT. Work areas are allocated from the context's pool, so that they count against
// its limit.
// SPDX-License-Identifier: MIT
#include "arrays/transfer.hpp"

namespace glint::arrays {
namespace {

template <class T>
using Complex = std::complex<T>;

template <class In, class Out>
struct FourierKind;
#define GLINT_KIND(In, Out, of_type, call, ...)                                                       \
    template <>                                                                                       \
    struct FourierKind<In, Out> {                                                                     \
        static constexpr int type = lib::cufft::of_type;                                              \
        static constexpr const char* name = #call;                                                    \
        static lib::Status run(lib::Plan plan, void* in, void* out, [[maybe_unused]] int direction) { \
            return cufft().call(plan, static_cast<lib::Of<In>*>(in),                                  \
                                static_cast<lib::Of<Out>*>(out) __VA_OPT__(, ) __VA_ARGS__);          \
        }                                                                                             \
    };
GLINT_KIND(Complex<float>, Complex<float>, c2c, cufftExecC2C, direction)
GLINT_KIND(float, Complex<float>, r2c, cufftExecR2C)
GLINT_KIND(Complex<float>, float, c2r, cufftExecC2R)
GLINT_KIND(Complex<double>, Complex<double>, z2z, cufftExecZ2Z, direction)
GLINT_KIND(double, Complex<double>, d2z, cufftExecD2Z)
GLINT_KIND(Complex<double>, double, z2d, cufftExecZ2D)
#undef GLINT_KIND

template <class T>
struct RealOf {
    using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
    using type = T;
};

/// Elements of one transform.
std::int64_t count_of(const Shape& shape, int rank) {
    std::int64_t n = 1;
    for (int k = shape.dimensions - rank; k < shape.dimensions; ++k) n *= shape[k];
    return n;
}

/// A transform of the last dimensions, for many arrays.
template <class In, class Out>
class Transform {
    using Real = typename RealOf<Out>::type;
    static constexpr bool to_real = std::is_same_v<Out, Real>;

  public:
    Transform(OnGpu::State& state, const Operand<const In>& in, const Operand<Out>& out, int rank, bool inverse)
        : state_(state),
          in_(in),
          out_(out),
          rank_(rank),
          inverse_(inverse),
          in_count_(count_of(in.shape(), rank)),
          out_count_(count_of(out.shape(), rank)) {
        const Shape& whole = std::is_same_v<In, Real> ? in.shape() : out.shape();
        height_ = rank == 2 ? whole[whole.dimensions - 2] : 1, width_ = whole[whole.dimensions - 1];
        // cuFFT overwrites its input when it transforms to real numbers, and needs aligned input when it transforms
        // real numbers.
        copies_ =
            in.on_device() && (to_real || in.device_array().buffer.read_on(state.stream) % (2 * sizeof(Real)) != 0);
    }

    void run() {
        const std::int64_t in_bytes = in_count_ * std::int64_t(sizeof(In)),
                           out_bytes = out_count_ * std::int64_t(sizeof(Out)), work = std::max(in_bytes, out_bytes);
        const Pieces pieces{
            .total = out_.shape().count() / out_count_,
            .bytes_each = work + (in_.on_device() && !copies_ ? 0 : in_bytes) + (out_.on_device() ? 0 : out_bytes),
            .granule = 2,  // keeps pieces of real arrays aligned
            .overlap = !out_.on_device()};
        in_pieces(
            state_, pieces, [&](const gpu::Stream& stream, std::int64_t most) { return slot(stream, most); },
            [&](PieceBuffers& slot, const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
                start(slot, stream, first, n);
            },
            [&](PieceBuffers& slot, const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
                slot.out.finish(stream, first * out_count_, n * out_count_);
            });
        if (out_.on_device() && !in_.on_device()) state_.stream.synchronize();  // the caller may reuse pinned input
    }

  private:
    struct PieceBuffers {
        Source<In> in;
        Sink<Out> out;
        gpu::Buffer<In> copy;
        gpu::Buffer<std::byte> work;
    };

    PieceBuffers slot(const gpu::Stream& stream, std::int64_t most) {
        PieceBuffers made{{stream, in_, most * in_count_}, {stream, out_, most * out_count_}, {}, {}};
        if (copies_) made.copy = gpu::Buffer<In>(stream, std::size_t(most * in_count_));
        made.work = state_.fft_work_for(stream, plan(most).work_bytes);
        return made;
    }

    FftPlan& plan(std::int64_t count) {
        FftPlan wanted{.type = FourierKind<In, Out>::type, .rank = rank_, .count = count};
        wanted.extent[0] = rank_ == 2 ? height_ : width_, wanted.extent[1] = rank_ == 2 ? width_ : 0;
        return state_.plan_for(wanted);
    }

    std::uint64_t source(PieceBuffers& slot, const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
        if (!copies_) return slot.in.read(stream, first * in_count_, n * in_count_);
        auto copy = slot.copy.view(0, std::size_t(n * in_count_));
        gpu::copy(stream, copy,
                  in_.device_array().buffer.view(std::size_t(first * in_count_), std::size_t(n * in_count_)));
        return copy.write_on(stream);
    }

    void start(PieceBuffers& slot, const gpu::Stream& stream, std::int64_t first, std::int64_t n) {
        FftPlan& plan = this->plan(n);
        if (slot.work.bytes() < plan.work_bytes)
            slot.work = {}, slot.work = state_.fft_work_for(stream, plan.work_bytes);
        const std::uint64_t from = source(slot, stream, first, n), to = slot.out.write(stream, first * out_count_);
        if (to_real) {
            const std::int64_t threads = n * (height_ / 2 + 1) * (width_ % 2 == 0 ? 2 : 1);
            launch(stream, state_.kernel<Real>("arrays_mirror"), (threads + map_threads - 1) / map_threads, map_threads,
                   0, from, (long long)height_, (long long)width_, (long long)n);
        }
        execute(plan, slot, stream, from, to);
        if (inverse_)
            scale(state_, stream, to, Real(1) / Real(height_ * width_),
                  n * out_count_ * std::int64_t(sizeof(Out) / sizeof(Real)));
    }

    void execute(FftPlan& plan, PieceBuffers& slot, const gpu::Stream& stream, std::uint64_t from, std::uint64_t to) {
        const std::uint64_t work = plan.work_bytes ? slot.work.write_on(stream) : 0;
        const auto current = state_.current();
        if (plan.bound_stream != stream.state().stream) {
            plan.bound_stream = nullptr;
            state_.check(Library::cufft, "cufftSetStream", cufft().cufftSetStream(plan.plan, stream.state().stream));
            plan.bound_stream = stream.state().stream;
        }
        if (plan.bound_work != work) {
            plan.bound_work = 0;
            state_.check(Library::cufft, "cufftSetWorkArea",
                         cufft().cufftSetWorkArea(plan.plan, reinterpret_cast<void*>(work)));
            plan.bound_work = work;
        }
        using This = FourierKind<In, Out>;
        state_.check(Library::cufft, This::name,
                     This::run(plan.plan, reinterpret_cast<void*>(from), reinterpret_cast<void*>(to),
                               inverse_ ? lib::cufft::inverse : lib::cufft::forward));
    }

    OnGpu::State& state_;
    const Operand<const In>& in_;
    const Operand<Out>& out_;
    const int rank_;
    const bool inverse_;
    const std::int64_t in_count_, out_count_;
    std::int64_t height_ = 1, width_ = 1;  // of the full array
    bool copies_ = false;
};

}  // namespace

template <class T>
void OnGpu::fft(const Operand<const std::complex<T>>& in, const Operand<std::complex<T>>& out,
                const FftOptions& options) {
    Transform<std::complex<T>, std::complex<T>>(*state_, in, out, options.rank, options.inverse).run();
}

template <class T>
void OnGpu::rfft(const Operand<const T>& in, const Operand<std::complex<T>>& out, int rank) {
    Transform<T, std::complex<T>>(*state_, in, out, rank, false).run();
}

template <class T>
void OnGpu::irfft(const Operand<const std::complex<T>>& in, const Operand<T>& out, int rank) {
    Transform<std::complex<T>, T>(*state_, in, out, rank, true).run();
}

#define GLINT_FFTS(T)                                                                                \
    template void OnGpu::fft(const Operand<const std::complex<T>>&, const Operand<std::complex<T>>&, \
                             const FftOptions&);                                                     \
    template void OnGpu::rfft(const Operand<const T>&, const Operand<std::complex<T>>&, int);        \
    template void OnGpu::irfft(const Operand<const std::complex<T>>&, const Operand<T>&, int);
GLINT_FFTS(float)
GLINT_FFTS(double)

}  // namespace glint::arrays
