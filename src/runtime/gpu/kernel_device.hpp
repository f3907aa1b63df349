// GLINT_KERNEL under nvcc: an extern "C" __global__ function with the parameters of the kernel's compute() or phase().
// SPDX-License-Identifier: MIT
#pragma once

namespace glint::gpu::detail {

template <int n, class List>
struct TypeAt;
template <int n, class First, class... Rest>
struct TypeAt<n, Types<First, Rest...>> : TypeAt<n - 1, Types<Rest...>> {};
template <class First, class... Rest>
struct TypeAt<0, Types<First, Rest...>> {
    using type = First;
};
template <class Kernel, int n>
using Parameter = typename TypeAt<n, typename SignatureOf<Kernel>::Parameters>::type;

/// Minimum of resident blocks per multiprocessor, if the kernel defines it: fewer leave more registers per thread.
template <class Kernel>
constexpr unsigned min_blocks = [] {
    if constexpr (requires { Kernel::min_blocks; })
        return Kernel::min_blocks;
    else
        return 0u;
}();

template <class Kernel, class... P>
__device__ __forceinline__ void run_thread(P... parameters) {
    const Index index{blockIdx.x, threadIdx.x, blockDim.x, gridDim.x};
    if constexpr (SignatureOf<Kernel>::scratch) {
        extern __shared__ __align__(16) unsigned char glint_scratch[];
        const Scratch scratch{glint_scratch};
        if constexpr (HasPhases<Kernel>) {
            typename Kernel::PerThread own{};
            // Unrolled if there are few phases, so that each phase is compiled separately.
#pragma unroll(Kernel::phases <= 4 ? Kernel::phases : 1)
            for (int phase = 0; phase < Kernel::phases; ++phase) {
                if (phase > 0) __syncthreads();
                Kernel::phase(phase, own, index, scratch, parameters...);
            }
        } else {
            if constexpr (HasStage<Kernel>) {
                Kernel::stage(index, scratch, parameters...);
                __syncthreads();
            }
            Kernel::compute(index, scratch, parameters...);
        }
    } else {
        Kernel::compute(index, parameters...);
    }
}

}  // namespace glint::gpu::detail

// A __global__ function with C linkage cannot be a template, so its parameters are listed by macros: "T0 p0, T1 p1,
// ...".
#define GLINT_PARAMETER(kernel, n) ::glint::gpu::detail::Parameter<kernel, n> p##n
#define GLINT_PARAMETERS_1(k) GLINT_PARAMETER(k, 0)
#define GLINT_PARAMETERS_2(k) GLINT_PARAMETERS_1(k), GLINT_PARAMETER(k, 1)
#define GLINT_PARAMETERS_3(k) GLINT_PARAMETERS_2(k), GLINT_PARAMETER(k, 2)
#define GLINT_PARAMETERS_4(k) GLINT_PARAMETERS_3(k), GLINT_PARAMETER(k, 3)
#define GLINT_PARAMETERS_5(k) GLINT_PARAMETERS_4(k), GLINT_PARAMETER(k, 4)
#define GLINT_PARAMETERS_6(k) GLINT_PARAMETERS_5(k), GLINT_PARAMETER(k, 5)
#define GLINT_PARAMETERS_7(k) GLINT_PARAMETERS_6(k), GLINT_PARAMETER(k, 6)
#define GLINT_PARAMETERS_8(k) GLINT_PARAMETERS_7(k), GLINT_PARAMETER(k, 7)
#define GLINT_PARAMETERS_9(k) GLINT_PARAMETERS_8(k), GLINT_PARAMETER(k, 8)
#define GLINT_PARAMETERS_10(k) GLINT_PARAMETERS_9(k), GLINT_PARAMETER(k, 9)
#define GLINT_PARAMETERS_11(k) GLINT_PARAMETERS_10(k), GLINT_PARAMETER(k, 10)
#define GLINT_PARAMETERS_12(k) GLINT_PARAMETERS_11(k), GLINT_PARAMETER(k, 11)
#define GLINT_PARAMETERS_13(k) GLINT_PARAMETERS_12(k), GLINT_PARAMETER(k, 12)
#define GLINT_PARAMETERS_14(k) GLINT_PARAMETERS_13(k), GLINT_PARAMETER(k, 13)
#define GLINT_PARAMETERS_15(k) GLINT_PARAMETERS_14(k), GLINT_PARAMETER(k, 14)
#define GLINT_PARAMETERS_16(k) GLINT_PARAMETERS_15(k), GLINT_PARAMETER(k, 15)
#define GLINT_PARAMETERS_17(k) GLINT_PARAMETERS_16(k), GLINT_PARAMETER(k, 16)
#define GLINT_PARAMETERS_18(k) GLINT_PARAMETERS_17(k), GLINT_PARAMETER(k, 17)
#define GLINT_PARAMETERS_19(k) GLINT_PARAMETERS_18(k), GLINT_PARAMETER(k, 18)
#define GLINT_PARAMETERS_20(k) GLINT_PARAMETERS_19(k), GLINT_PARAMETER(k, 19)
#define GLINT_PARAMETERS_21(k) GLINT_PARAMETERS_20(k), GLINT_PARAMETER(k, 20)
#define GLINT_PARAMETERS_22(k) GLINT_PARAMETERS_21(k), GLINT_PARAMETER(k, 21)
#define GLINT_PARAMETERS_23(k) GLINT_PARAMETERS_22(k), GLINT_PARAMETER(k, 22)
#define GLINT_PARAMETERS_24(k) GLINT_PARAMETERS_23(k), GLINT_PARAMETER(k, 23)
#define GLINT_ARGUMENTS_1 p0
#define GLINT_ARGUMENTS_2 GLINT_ARGUMENTS_1, p1
#define GLINT_ARGUMENTS_3 GLINT_ARGUMENTS_2, p2
#define GLINT_ARGUMENTS_4 GLINT_ARGUMENTS_3, p3
#define GLINT_ARGUMENTS_5 GLINT_ARGUMENTS_4, p4
#define GLINT_ARGUMENTS_6 GLINT_ARGUMENTS_5, p5
#define GLINT_ARGUMENTS_7 GLINT_ARGUMENTS_6, p6
#define GLINT_ARGUMENTS_8 GLINT_ARGUMENTS_7, p7
#define GLINT_ARGUMENTS_9 GLINT_ARGUMENTS_8, p8
#define GLINT_ARGUMENTS_10 GLINT_ARGUMENTS_9, p9
#define GLINT_ARGUMENTS_11 GLINT_ARGUMENTS_10, p10
#define GLINT_ARGUMENTS_12 GLINT_ARGUMENTS_11, p11
#define GLINT_ARGUMENTS_13 GLINT_ARGUMENTS_12, p12
#define GLINT_ARGUMENTS_14 GLINT_ARGUMENTS_13, p13
#define GLINT_ARGUMENTS_15 GLINT_ARGUMENTS_14, p14
#define GLINT_ARGUMENTS_16 GLINT_ARGUMENTS_15, p15
#define GLINT_ARGUMENTS_17 GLINT_ARGUMENTS_16, p16
#define GLINT_ARGUMENTS_18 GLINT_ARGUMENTS_17, p17
#define GLINT_ARGUMENTS_19 GLINT_ARGUMENTS_18, p18
#define GLINT_ARGUMENTS_20 GLINT_ARGUMENTS_19, p19
#define GLINT_ARGUMENTS_21 GLINT_ARGUMENTS_20, p20
#define GLINT_ARGUMENTS_22 GLINT_ARGUMENTS_21, p21
#define GLINT_ARGUMENTS_23 GLINT_ARGUMENTS_22, p22
#define GLINT_ARGUMENTS_24 GLINT_ARGUMENTS_23, p23

#define GLINT_KERNEL(name, number, ...)                                                                       \
    using name##_kernel = __VA_ARGS__;                                                                        \
    static_assert(::glint::gpu::detail::SignatureOf<name##_kernel>::count == number, "number of parameters"); \
    extern "C" __global__ void __launch_bounds__(name##_kernel::max_threads,                                  \
                                                 ::glint::gpu::detail::min_blocks<name##_kernel>)             \
        name(GLINT_PARAMETERS_##number(name##_kernel)) {                                                      \
        ::glint::gpu::detail::run_thread<name##_kernel>(GLINT_ARGUMENTS_##number);                            \
    }
