// FFTW 3, loaded if it is installed, and a cache of its plans.
// SPDX-License-Identifier: MIT
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>

namespace glint::arrays::cpu {

enum class Transform { forward, backward, from_real, to_real };

/// `count` transforms of n elements (of the real side), with the distances between elements and between transforms.
struct Lines {
    Transform transform;
    std::int64_t n, in_apart, out_apart, count, in_step, out_step;
    int threads;  // per transform
    bool operator==(const Lines&) const = default;
};

/// A plan for elements of type T. Does not overwrite `in`, unless it is `out`.
template <class T>
class FftPlan {
  public:
    /// Plans for these arrays and any arrays of the same alignment; does not access their elements. Throws OptionError
    /// with why_no_fft() if there is no FFTW.
    static FftPlan make(const Lines& lines, const void* in, void* out);
    bool fits(const Lines& lines, const void* in, const void* out) const;
    void run(const void* in, void* out) const;

  private:
    struct Made;
    std::shared_ptr<const Made> made_;
};

/// Whether one transform can use several threads.
template <class T>
bool fft_has_threads();

}  // namespace glint::arrays::cpu
