// Singular value decompositions on the CPU or the GPU, as the session decides.
// SPDX-License-Identifier: MIT
#include "arrays/check.hpp"
#include "arrays/cpu.hpp"
#include "arrays/on_host.hpp"

namespace glint::arrays {

template <class T>
void svd(Session& session, const Operand<const T>& a, const Operand<T>& s, const Operand<T>& u, const Operand<T>& vt) {
    if (a.shape().dimensions != 2) refuse("svd: a", "a matrix is needed", a.shape());
    const std::int64_t m = a.shape()[0], n = a.shape()[1], k = std::min(m, n);
    require_shape("svd: s", {k}, s.shape());
    if (bool(u) != bool(vt)) throw OptionError("svd: give both u and vt, or neither");
    const bool all = u && u.shape() == Shape{m, m} && vt.shape() == Shape{n, n};
    if (u && !all) require_shape("svd: u", {m, k}, u.shape()), require_shape("svd: vt", {k, n}, vt.shape());
    if (k == 0) {
        if (all && m + n > 0)
            throw OptionError("svd: the vectors of a matrix without elements, " + words(a.shape()) +
                              ", are undefined: call svd without u and vt");
        return;
    }
    session.run(
        svd_work<T>(a.shape(), bool(u), residency<T>({&a}, s.on_device())),
        [&] {
            const InputOnHost<T> x(session, a);
            ResultOnHost<T> values(session, s), left(session, u), right(session, vt);
            cpu::svd<T>(x.view(), values.view(), u ? &left.view() : nullptr, u ? &right.view() : nullptr,
                        session.threads());
            values.finish(), left.finish(), right.finish();
        },
        [&] { on_gpu(session).template svd<T>(a, s, u, vt); });
}

template void svd<float>(Session&, const Operand<const float>&, const Operand<float>&, const Operand<float>&,
                         const Operand<float>&);
template void svd<double>(Session&, const Operand<const double>&, const Operand<double>&, const Operand<double>&,
                          const Operand<double>&);

}  // namespace glint::arrays
