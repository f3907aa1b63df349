// Linear systems, eigenvalues of symmetric matrices and QR decompositions on the CPU or the GPU, as the session
// decides.
// SPDX-License-Identifier: MIT
#include "arrays/check.hpp"
#include "arrays/cpu.hpp"
#include "arrays/on_host.hpp"

namespace glint::arrays {
namespace {

void require_matrix(const char* what, const Shape& shape) {
    if (shape.dimensions != 2) refuse(what, "a matrix is needed", shape);
}

void require_square(const char* what, const Shape& shape) {
    require_matrix(what, shape);
    if (shape[0] != shape[1]) refuse(what, "a square matrix is needed", shape);
}

}  // namespace

template <class T>
void solve(Session& session, const Operand<const T>& a, const Operand<const T>& b, const Operand<T>& x) {
    require_square("solve: a", a.shape());
    require_matrix("solve: b", b.shape());
    if (b.shape()[0] != a.shape()[0])
        refuse("solve: b", "with an a of " + words(a.shape()) + " it must have as many rows", b.shape());
    require_shape("solve: x", b.shape(), x.shape());
    if (b.shape().count() == 0) return;
    session.run(
        solve_work<T>(a.shape(), b.shape()[1], residency<T>({&a, &b}, x.on_device())),
        [&] {
            const InputOnHost<T> matrix(session, a), right(session, b);
            ResultOnHost<T> result(session, x);
            cpu::solve<T>(matrix.view(), right.view(), result.view(), session.threads());
            result.finish();
        },
        [&] { on_gpu(session).template solve<T>(a, b, x); });
}

template <class T>
void eigh(Session& session, const Operand<const T>& a, const Operand<T>& w, const Operand<T>& v) {
    require_square("eigh: a", a.shape());
    require_shape("eigh: w", {a.shape()[0]}, w.shape());
    if (v) require_shape("eigh: v", a.shape(), v.shape());
    if (a.shape().count() == 0) return;
    session.run(
        eigh_work<T>(a.shape(), bool(v), residency<T>({&a}, w.on_device())),
        [&] {
            const InputOnHost<T> matrix(session, a);
            ResultOnHost<T> values(session, w), vectors(session, v);
            cpu::eigh<T>(matrix.view(), values.view(), v ? &vectors.view() : nullptr, session.threads());
            values.finish(), vectors.finish();
        },
        [&] { on_gpu(session).template eigh<T>(a, w, v); });
}

template <class T>
void qr(Session& session, const Operand<const T>& a, const Operand<T>& q, const Operand<T>& r) {
    require_matrix("qr: a", a.shape());
    const std::int64_t m = a.shape()[0], n = a.shape()[1], k = std::min(m, n);
    require_shape("qr: q", {m, k}, q.shape());
    require_shape("qr: r", {k, n}, r.shape());
    if (k == 0) return;
    session.run(
        qr_work<T>(a.shape(), residency<T>({&a}, q.on_device())),
        [&] {
            const InputOnHost<T> matrix(session, a);
            ResultOnHost<T> columns(session, q), upper(session, r);
            cpu::qr<T>(matrix.view(), columns.view(), upper.view(), session.threads());
            columns.finish(), upper.finish();
        },
        [&] { on_gpu(session).template qr<T>(a, q, r); });
}

#define GLINT_DENSE(T)                                                                                     \
    template void solve<T>(Session&, const Operand<const T>&, const Operand<const T>&, const Operand<T>&); \
    template void eigh<T>(Session&, const Operand<const T>&, const Operand<T>&, const Operand<T>&);        \
    template void qr<T>(Session&, const Operand<const T>&, const Operand<T>&, const Operand<T>&);
GLINT_DENSE(float)
GLINT_DENSE(double)
#undef GLINT_DENSE

}  // namespace glint::arrays
