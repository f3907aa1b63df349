// Bindings of random arrays; glint/offload/random.py prepares the arguments.
// SPDX-License-Identifier: MIT
#include "glint/arrays/random.hpp"

#include <nanobind/stl/shared_ptr.h>

#include "bindings.hpp"
#include "device_array.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

void random(const SessionHandle& handle, const std::string& dtype, bool normal, std::uint64_t seed, std::int64_t first,
            nb::handle out) {
    with_real(dtype, [&]<class T>(T) {
        Arguments arguments;
        const arrays::Operand<T> to = arguments.out<T>(out);
        const auto kind = normal ? arrays::Distribution::normal : arrays::Distribution::uniform;
        handle->with([&, shared = arguments.shared()](offload::Session& session) {
            arrays::random<T>(session, kind, seed, to, first);
            if (shared) session.synchronize();
        });
    });
}

}  // namespace

void bind_random(nb::module_& m) {
    m.def("random", &random, "session"_a, "dtype"_a, "normal"_a, "seed"_a, "first"_a, "out"_a);
}

}  // namespace glint::python
