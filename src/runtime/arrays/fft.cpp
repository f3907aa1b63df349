// Fourier transforms on the CPU or the GPU, as the session decides.
// SPDX-License-Identifier: MIT
#include "arrays/check.hpp"
#include "arrays/cpu.hpp"
#include "arrays/on_host.hpp"

namespace glint::arrays {
namespace {

void require_rank(const Shape& shape, int rank) {
    if (rank != 1 && rank != 2) throw OptionError("fft: a rank of " + std::to_string(rank) + ": 1 or 2 are possible");
    if (shape.dimensions < rank) refuse("fft", std::to_string(rank) + " dimensions are needed", shape);
    for (int k = shape.dimensions - rank; k < shape.dimensions; ++k)
        if (shape[k] == 0) refuse("fft", "at least one element along each transformed dimension is needed", shape);
}

Shape half_of(const Shape& real) {
    Shape half = real;
    std::int64_t& last = half.extent[half.dimensions - 1];
    last = last / 2 + 1;
    return half;
}

}  // namespace

template <class T>
void fft(Session& session, const Operand<const std::complex<T>>& in, const Operand<std::complex<T>>& out,
         const FftOptions& options) {
    require_rank(in.shape(), options.rank);
    require_shape("fft: out", in.shape(), out.shape());
    if (in.shape().count() == 0) return;
    const Residency at = residency<std::complex<T>>({&in}, out.on_device());
    session.run(
        fft_work<T>(in.shape(), options.rank, false, at),
        [&] {
            const InputOnHost<std::complex<T>> x(session, in);
            ResultOnHost<std::complex<T>> y(session, out);
            cpu::fft<T>(x.view(), y.view(), options, session.threads());
            y.finish();
        },
        [&] { on_gpu(session).template fft<T>(in, out, options); });
}

template <class T>
void rfft(Session& session, const Operand<const T>& in, const Operand<std::complex<T>>& out, int rank) {
    require_rank(in.shape(), rank);
    require_shape("rfft: out", half_of(in.shape()), out.shape());
    if (in.shape().count() == 0) return;
    session.run(
        fft_work<T>(in.shape(), rank, true, residency<T>({&in}, out.on_device())),
        [&] {
            const InputOnHost<T> x(session, in);
            ResultOnHost<std::complex<T>> y(session, out);
            cpu::rfft<T>(x.view(), y.view(), rank, session.threads());
            y.finish();
        },
        [&] { on_gpu(session).template rfft<T>(in, out, rank); });
}

template <class T>
void irfft(Session& session, const Operand<const std::complex<T>>& in, const Operand<T>& out, int rank) {
    require_rank(out.shape(), rank);
    require_shape("irfft: in", half_of(out.shape()), in.shape());
    if (out.shape().count() == 0) return;
    session.run(
        fft_work<T>(out.shape(), rank, true, residency<std::complex<T>>({&in}, out.on_device())),
        [&] {
            const InputOnHost<std::complex<T>> x(session, in);
            ResultOnHost<T> y(session, out);
            cpu::irfft<T>(x.view(), y.view(), rank, session.threads());
            y.finish();
        },
        [&] { on_gpu(session).template irfft<T>(in, out, rank); });
}

#define GLINT_FFT(T)                                                                                       \
    template void fft<T>(Session&, const Operand<const std::complex<T>>&, const Operand<std::complex<T>>&, \
                         const FftOptions&);                                                               \
    template void rfft<T>(Session&, const Operand<const T>&, const Operand<std::complex<T>>&, int);        \
    template void irfft<T>(Session&, const Operand<const std::complex<T>>&, const Operand<T>&, int);
GLINT_FFT(float)
GLINT_FFT(double)
#undef GLINT_FFT

}  // namespace glint::arrays
