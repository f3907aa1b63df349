// Functions compiled once per instruction set, and the choice among them.
//
// A file named *.isa.cpp is compiled once per set. GLINT_ISA is defined as the set's name, and the file puts all its
// definitions into `namespace glint::GLINT_ISA`. It must not use inline functions or templates of foreign headers
// (std::vector, std::min, ...): the linker could keep the copy that was compiled for AVX-512 and call it everywhere.
// Raw pointers, plain loops and builtins are fine; tools/check_isa.sh checks it.
// SPDX-License-Identifier: MIT
#pragma once

namespace glint {

enum class Isa { sse2, avx2, avx512, neon };

/// See active_isa() of glint/isa.hpp.
Isa active_isa_id();

}  // namespace glint

// clang-format off
/// Declares a function in the namespace of every set: GLINT_PER_ISA(void filter(const float* in, float* out);)
#if defined(__x86_64__)
#define GLINT_PER_ISA(...)               \
    namespace sse2 { __VA_ARGS__ }       \
    namespace avx2 { __VA_ARGS__ }       \
    namespace avx512 { __VA_ARGS__ }
/// Returns the function of that name for the active set: GLINT_PICK(filter)(in, out).
#define GLINT_PICK(name)                                                       \
    (::glint::active_isa_id() == ::glint::Isa::avx512 ? avx512::name           \
     : ::glint::active_isa_id() == ::glint::Isa::avx2 ? avx2::name : sse2::name)
#else
#define GLINT_PER_ISA(...) namespace neon { __VA_ARGS__ }
#define GLINT_PICK(name) neon::name
#endif
// clang-format on
