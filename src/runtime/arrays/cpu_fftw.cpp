// Loads FFTW 3 by dlopen. FFTW is under the GPL, and glint neither contains nor distributes any of it. The declarations
// are our own, written from FFTW's manual.
// SPDX-License-Identifier: MIT
#include "arrays/cpu_fftw.hpp"

#include <dlfcn.h>

#include <list>
#include <mutex>
#include <type_traits>
#include <vector>

#include "arrays/cpu.hpp"
#include "arrays/cpu_parallel.hpp"
#include "glint/error.hpp"

namespace glint::arrays::cpu {
namespace {

struct Dimension {  // fftw_iodim64
    std::ptrdiff_t n, in_apart, out_apart;
};
constexpr int forward = -1, backward = 1;
constexpr unsigned preserve_input = 1u << 4, estimate = 1u << 6;

template <class T>
constexpr bool is_float = std::is_same_v<T, float>;

/// Runs the parts of one transform in our threads; FFTW itself would start a new thread for each part.
void run_parts(void* (*work)(char*), char* parts, std::size_t bytes, int count, void*) {
    parallel(0, count, [&](std::int64_t k) { work(parts + std::size_t(k) * bytes); });
}

/// The functions of libfftw3f.so.3 or libfftw3.so.3.
template <class T>
struct Library {
    using Complex = std::complex<T>;
    using Plan = void*;
    Plan (*plan_dft)(int, const Dimension*, int, const Dimension*, Complex*, Complex*, int, unsigned);
    Plan (*plan_r2c)(int, const Dimension*, int, const Dimension*, T*, Complex*, unsigned);
    Plan (*plan_c2r)(int, const Dimension*, int, const Dimension*, Complex*, T*, unsigned);
    void (*execute_dft)(Plan, Complex*, Complex*);
    void (*execute_r2c)(Plan, T*, Complex*);
    void (*execute_c2r)(Plan, Complex*, T*);
    void (*destroy)(Plan);
    int (*alignment_of)(T*);
    void (*plan_with_threads)(int) = nullptr;  // null: not available
    std::mutex planner;                        // one plan at a time is created or destroyed
    std::string missing;                       // why the library cannot be used

    Library() {
        const std::string name = is_float<T> ? "libfftw3f" : "libfftw3";
        void* library = dlopen((name + ".so.3").c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            missing = dlerror();
            return;
        }
        find(library, "plan_guru64_dft", plan_dft);
        find(library, "plan_guru64_dft_r2c", plan_r2c);
        find(library, "plan_guru64_dft_c2r", plan_c2r);
        find(library, "execute_dft", execute_dft);
        find(library, "execute_dft_r2c", execute_r2c);
        find(library, "execute_dft_c2r", execute_c2r);
        find(library, "destroy_plan", destroy);
        find(library, "alignment_of", alignment_of);
        if (missing.empty()) start_threads((name + "_threads.so.3").c_str());
    }

    static Library& get() {
        static Library& library = *new Library;  // plans may be kept in other static objects
        return library;
    }

  private:
    template <class Function>
    bool find(void* library, const char* what, Function& function) {
        const std::string name = std::string(is_float<T> ? "fftwf_" : "fftw_") + what;
        function = reinterpret_cast<Function>(dlsym(library, name.c_str()));
        if (!function && missing.empty()) missing = "FFTW lacks " + name;
        return function;
    }

    /// Without threads, or with an FFTW before 3.3.9, each transform uses one thread.
    void start_threads(const char* name) {
        void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library) return;
        int (*init)();
        void (*set_callback)(void (*)(void* (*)(char*), char*, std::size_t, int, void*), void*);
        void (*with_threads)(int);
        if (find(library, "init_threads", init) && find(library, "threads_set_callback", set_callback) &&
            find(library, "plan_with_nthreads", with_threads) && init()) {
            set_callback(run_parts, nullptr);
            plan_with_threads = with_threads;
        }
        missing.clear();
    }
};

std::string why(const std::string& missing) {
    if (missing.empty()) return {};
    return missing +
           ". FFTW 3 computes Fourier transforms on the CPU: apt-get install libfftw3-single3 libfftw3-double3";
}

}  // namespace

std::string why_no_fft() {
    const std::string of_float = why(Library<float>::get().missing);
    return of_float.empty() ? why(Library<double>::get().missing) : of_float;
}

template <class T>
bool fft_has_threads() {
    return Library<T>::get().plan_with_threads;
}

template <class T>
struct FftPlan<T>::Made {
    Lines lines;
    int in_alignment, out_alignment;  // for SIMD code: FFTW requires the same at every run
    bool in_place;
    void* plan = nullptr;

    Made(const Lines& what, const void* in, const void* out)
        : lines(what), in_alignment(alignment(in)), out_alignment(alignment(out)), in_place(in == out) {}
    Made(const Made&) = delete;
    ~Made() {
        Library<T>& library = Library<T>::get();
        if (!plan) return;
        const std::lock_guard lock(library.planner);
        library.destroy(plan);
    }

    static int alignment(const void* p) {
        return Library<T>::get().alignment_of(static_cast<T*>(const_cast<void*>(p)));
    }
    bool same(const Made& other) const {
        return lines == other.lines && in_alignment == other.in_alignment && out_alignment == other.out_alignment &&
               in_place == other.in_place;
    }

    /// Estimated, not measured: measuring takes 0.03 to 10 s for plans 1.1 to 1.8 times as fast.
    void make_plan(void* in, void* out) {
        using Complex = std::complex<T>;
        Library<T>& library = Library<T>::get();
        const Dimension line{lines.n, lines.in_apart, lines.out_apart},
            many{lines.count, lines.in_step, lines.out_step};
        const int rank = lines.count > 1 ? 1 : 0;
        const std::lock_guard lock(library.planner);
        if (library.plan_with_threads) library.plan_with_threads(lines.threads);
        const auto x = static_cast<Complex*>(in), y = static_cast<Complex*>(out);
        if (lines.transform == Transform::from_real)
            plan = library.plan_r2c(1, &line, rank, &many, static_cast<T*>(in), y, estimate | preserve_input);
        else if (lines.transform == Transform::to_real)
            plan = library.plan_c2r(1, &line, rank, &many, x, static_cast<T*>(out), estimate | preserve_input);
        else
            plan = library.plan_dft(1, &line, rank, &many, x, y,
                                    lines.transform == Transform::forward ? forward : backward,
                                    in_place ? estimate : estimate | preserve_input);
        if (!plan)
            throw OptionError("FFTW cannot transform " + std::to_string(lines.count) + " times " +
                              std::to_string(lines.n) + " elements");
    }
};

template <class T>
FftPlan<T> FftPlan<T>::make(const Lines& lines, const void* in, void* out) {
    constexpr std::size_t most = 64;
    static std::mutex mutex;
    static auto& kept = *new std::list<FftPlan>;  // the most recently used plan first
    if (!Library<T>::get().missing.empty()) throw OptionError(why_no_fft());
    const auto made = std::make_shared<Made>(lines, in, out);
    FftPlan plan, old;
    {
        const std::lock_guard lock(mutex);
        for (auto it = kept.begin(); it != kept.end(); ++it)
            if (it->made_->same(*made)) {
                kept.splice(kept.begin(), kept, it);
                return *it;
            }
    }
    made->make_plan(const_cast<void*>(in), out);
    plan.made_ = made;
    const std::lock_guard lock(mutex);
    kept.push_front(plan);
    if (kept.size() > most) {
        old = std::move(kept.back());
        kept.pop_back();
    }
    return plan;
}

template <class T>
bool FftPlan<T>::fits(const Lines& lines, const void* in, const void* out) const {
    return made_ && made_->lines == lines && made_->in_alignment == Made::alignment(in) &&
           made_->out_alignment == Made::alignment(out) && made_->in_place == (in == out);
}

template <class T>
void FftPlan<T>::run(const void* in, void* out) const {
    using Complex = std::complex<T>;
    const Library<T>& library = Library<T>::get();
    void* const from = const_cast<void*>(in);
    if (made_->lines.transform == Transform::from_real)
        library.execute_r2c(made_->plan, static_cast<T*>(from), static_cast<Complex*>(out));
    else if (made_->lines.transform == Transform::to_real)
        library.execute_c2r(made_->plan, static_cast<Complex*>(from), static_cast<T*>(out));
    else
        library.execute_dft(made_->plan, static_cast<Complex*>(from), static_cast<Complex*>(out));
}

template class FftPlan<float>;
template class FftPlan<double>;
template bool fft_has_threads<float>();
template bool fft_has_threads<double>();

}  // namespace glint::arrays::cpu
