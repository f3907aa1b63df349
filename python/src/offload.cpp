// Bindings of sessions: decisions between CPU and GPU, user functions on either, statistics.
// SPDX-License-Identifier: MIT
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstring>

#include "bindings.hpp"
#include "glint/arrays/calibrate.hpp"
#include "glint/environment.hpp"
#include "glint/offload/backends.hpp"
#include "session.hpp"
#include "text.hpp"
#include "works.hpp"

namespace glint::python {
namespace {

using offload::Decision;
using offload::Session;
using offload::Work;

const char* to_name(offload::Basis basis) {
    constexpr const char* names[] = {"measured", "estimated", "rules", "forced"};
    return names[int(basis)];
}

/// A Python function that C++ may release from any thread.
std::shared_ptr<nb::object> held_function(nb::object function) {
    return {new nb::object(std::move(function)), [](nb::object* object) {
                const nb::gil_scoped_acquire acquire;
                delete object;
            }};
}

/// May be called from any thread.
std::function<void(const std::string&)> log_of(nb::object function) {
    if (function.is_none()) return {};
    return [held = held_function(std::move(function))](const std::string& words) {
        const nb::gil_scoped_acquire acquire;
        try {
            (*held)(words);
        } catch (nb::python_error& error) {
            error.discard_as_unraisable("glint's log");
        }
    };
}

/// Called in the waiting thread. Its exceptions end the wait.
std::function<void(double, std::uint64_t, std::uint64_t)> on_wait_of(nb::object function) {
    if (function.is_none()) return {};
    return
        [held = held_function(std::move(function))](double elapsed_s, std::uint64_t available, std::uint64_t required) {
            const nb::gil_scoped_acquire acquire;
            (*held)(elapsed_s, available, required);
        };
}

/// A failure of the GPU, as in out_of_memory.py: (out of memory, message, asked, free, beyond the limit).
using Failure = std::tuple<bool, std::string, std::uint64_t, std::uint64_t, bool>;

/// Calls act(error) with the failure as a C++ exception.
template <class Act>
auto with_error(const Failure& failure, const Act& act) {
    const auto& [full, words, asked, free, beyond_limit] = failure;
    return full ? act(gpu::OutOfMemory(2, words, asked, beyond_limit, free)) : act(gpu::GpuError(0, words));
}

/// Records the failure. Returns whether the CPU may do the operation. `at_once`: the CPU does it now, without another
/// attempt on the GPU.
bool recover(SharedSession& shared, const std::string& operation, const Failure& failure, bool at_once) {
    return shared.with([&](Session& session) {
        return with_error(failure, [&](const gpu::GpuError& error) {
            const bool may = session.recover(operation, error);
            if (may && at_once) session.fall_back(operation, error);
            return may;
        });
    });
}

/// Records that the CPU has done an operation that failed on the GPU.
void fall_back(SharedSession& shared, const std::string& operation, const Failure& failure) {
    shared.with([&](Session& session) {
        with_error(failure, [&](const gpu::GpuError& error) { session.fall_back(operation, error); });
    });
}

/// Continues the checksum `before` with more bytes. Eight independent chains of multiplications are about as fast as
/// memory.
std::uint64_t checksum(const nb::ndarray<nb::ro, const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& bytes,
                       std::uint64_t before) {
    const std::uint8_t* data = bytes.data();
    const std::size_t n = bytes.size();
    const nb::gil_scoped_release release;
    constexpr std::uint64_t prime = 0x9E3779B97F4A7C15;
    constexpr std::size_t lanes = 8;
    const auto mixed = [](std::uint64_t sum, std::uint64_t word) {
        sum = (sum ^ word) * prime;
        return sum ^ (sum >> 29);
    };
    std::uint64_t sums[lanes];
    for (std::size_t k = 0; k < lanes; ++k) sums[k] = mixed(before, k + n);
    std::size_t at = 0;
    for (; at + 8 * lanes <= n; at += 8 * lanes)
        for (std::size_t k = 0; k < lanes; ++k) {
            std::uint64_t word;
            std::memcpy(&word, data + at + 8 * k, 8);
            sums[k] = mixed(sums[k], word);
        }
    for (; at < n; ++at) sums[at % lanes] = mixed(sums[at % lanes], data[at]);
    std::uint64_t all = before;
    for (const std::uint64_t sum : sums) all = mixed(all, sum);
    return all;
}

/// Runs one of two Python functions, for CPU and GPU, as the session decides. `on_gpu` returns None or its Failure;
/// other exceptions are passed to the caller. Returns false after a failure without a fallback. Other threads may use
/// the session while the function runs, including threads that it starts.
bool run_either(SharedSession& shared, const Work& work, nb::callable on_cpu, nb::callable on_gpu) {
    const Session::Running running = shared.with([&](Session& session) { return session.begin(work); });
    const auto run = [&](Backend side, const nb::callable& function) -> std::optional<Failure> {
        const nb::object failure = function();
        if (!failure.is_none()) return nb::cast<Failure>(failure);
        const auto ended = std::chrono::steady_clock::now();
        shared.with([&](Session& session) { session.end(running, side, ended); });
        return {};
    };
    if (running.decision.choice == Backend::gpu) {
        const SharedSession::GpuUse use(shared);
        const std::optional<Failure> failure = run(Backend::gpu, on_gpu);
        if (!failure) return true;
        if (!recover(shared, std::string(work.operation->name), *failure, true)) return false;
    }
    run(Backend::cpu, on_cpu);
    return true;
}

/// Runs a Python function that has no version for the GPU, and measures it. Other threads may use the session
/// meanwhile.
void run_on_cpu(SharedSession& shared, const Work& work, nb::callable function) {
    Session::Running running;
    running.decision.work = work, running.decision.choice = Backend::cpu,
    running.decision.basis = offload::Basis::forced;
    running.timed = true, running.began = std::chrono::steady_clock::now();
    function();
    const auto ended = std::chrono::steady_clock::now();
    shared.with([&](Session& session) { session.end(running, Backend::cpu, ended); });
}

void bind_decisions(nb::module_& m) {
    nb::class_<offload::Terms>(m, "Terms")
        .def_ro("wait_s", &offload::Terms::wait_s)
        .def_ro("context_s", &offload::Terms::context_s)
        .def_ro("library_s", &offload::Terms::library_s)
        .def_ro("upload_s", &offload::Terms::upload_s)
        .def_ro("launch_s", &offload::Terms::launch_s)
        .def_ro("compute_s", &offload::Terms::compute_s)
        .def_ro("download_s", &offload::Terms::download_s)
        .def_prop_ro("total_s", &offload::Terms::total);
    nb::class_<Decision>(m, "Decision")
        .def_prop_ro("choice", [](const Decision& d) { return to_name(d.choice); })
        .def_ro("speedup", &Decision::speedup)
        .def_prop_ro("confidence", &Decision::confidence)
        .def_prop_ro("basis", [](const Decision& d) { return to_name(d.basis); })
        .def_prop_ro("forced_by", [](const Decision& d) { return in_python(d.forced_by); })
        .def_ro("cpu", &Decision::cpu)
        .def_ro("gpu", &Decision::gpu)
        .def_prop_ro("operation", [](const Decision& d) { return std::string(d.work.operation->name); })
        .def_prop_ro("size", [](const Decision& d) { return d.work.size; })
        .def_prop_ro("unit", [](const Decision& d) { return std::string(d.work.operation->unit); })
        .def_ro("flips_at", &Decision::flips_at)
        .def_prop_ro("reason", [](const Decision& d) { return in_python(d.reason()); })
        .def("table", &Decision::table)
        .def("__str__", [](const Decision& d) { return in_python(d.reason()) + "\n" + d.table(); });
    nb::class_<arrays::Expression>(m, "Expression");  // completed in expressions.cpp
    nb::class_<Work>(m, "Work")
        .def_ro("size", &Work::size)
        .def_ro("flops", &Work::flops)
        .def_ro("bytes", &Work::bytes)
        .def_rw("bytes_to_gpu", &Work::bytes_to_gpu)
        .def_ro("bytes_from_gpu", &Work::bytes_from_gpu)
        .def_ro("gpu_bytes", &Work::gpu_bytes);
    m.def("array_work", &array_work, "name"_a, "shapes"_a, "double_precision"_a, "expression"_a, "inputs_on_gpu"_a,
          "result_on_gpu"_a, "expected_reuse"_a);
    m.def(
        "own_work",
        [](const std::string& name, const std::string& unit, double flops_power, double bytes_power, double rule_size,
           double size, double flops, double bytes, std::uint64_t to_gpu, std::uint64_t from_gpu, std::uint64_t to_host,
           std::uint64_t to_return) {
            Work work;
            work.operation = own_operation(name, unit, flops_power, bytes_power, rule_size);
            work.size = size, work.flops = flops, work.bytes = bytes;
            work.bytes_to_gpu = to_gpu, work.bytes_from_gpu = from_gpu;
            work.bytes_to_host = to_host, work.bytes_to_return = to_return;
            work.gpu_bytes = to_gpu + from_gpu + to_host + to_return;
            return work;
        },
        "name"_a, "unit"_a, "flops_power"_a, "bytes_power"_a, "rule_size"_a, "size"_a, "flops"_a, "bytes"_a,
        "bytes_to_gpu"_a, "bytes_from_gpu"_a, "bytes_to_host"_a, "bytes_to_return"_a);
}

void bind_session(nb::module_& m) {
    nb::class_<SharedSession>(m, "Session")
        .def(nb::new_([](const std::string& choice, std::uint64_t gpu_memory_bytes, double gpu_timeout_s,
                         std::uint64_t min_bytes, bool oom_safe, int threads, int device, std::optional<bool> unified,
                         nb::object log, nb::object on_wait) {
                 Running::refuse_forked_child();
                 offload::SessionOptions options;
                 options.choice = backend_named(choice).value(), options.gpu_memory_bytes = gpu_memory_bytes;
                 options.gpu_timeout_s = gpu_timeout_s, options.min_bytes = min_bytes;
                 options.oom_safe = oom_safe, options.threads = threads, options.log = log_of(std::move(log));
                 options.device = device, options.unified = unified, options.on_wait = on_wait_of(std::move(on_wait));
                 return std::make_shared<SharedSession>(options);
             }),
             "choice"_a, "gpu_memory_bytes"_a, "gpu_timeout_s"_a, "least_bytes"_a, "oom_safe"_a, "threads"_a,
             "device"_a, "unified"_a.none(), "log"_a.none(), "on_wait"_a.none())
        .def("decide",
             [](SharedSession& s, const Work& work) { return s.with([&](Session& x) { return x.decide(work); }); })
        .def("explain",
             [](SharedSession& s, const Work& work) { return s.with([&](Session& x) { return x.explain(work); }); })
        .def("open_gpu", [](SharedSession& s) { return s.with([](Session& x) { return x.context().ordinal(); }); })
        .def("close_gpu", [](SharedSession& s) { s.with([](Session& x) { x.close_gpu(); }); })
        .def("synchronize", [](SharedSession& s) { s.with([](Session& x) { x.synchronize(); }); })
        .def("clean_up", [](SharedSession& s) { s.with([](Session& x) { x.clean_up(); }); })
        .def("save", [](SharedSession& s) { return s.with([](Session& x) { return x.save(); }); })
        .def("recover", &recover, "operation"_a, "failure"_a, "at_once"_a)
        .def("fall_back", &fall_back, "operation"_a, "failure"_a)
        .def("statistics_json",
             [](SharedSession& s) { return s.with([](Session& x) { return offload::as_json(x.statistics()); }); })
        .def("reset_statistics", [](SharedSession& s) { s.with([](Session& x) { x.reset_statistics(); }); })
        .def("calibrate",
             [](SharedSession& s) {
                 return s.with([](Session& x) {
                     std::string why_no_gpu;
                     auto rows = arrays::calibrate(x, &why_no_gpu);
                     return std::pair(std::move(rows), std::move(why_no_gpu));
                 });
             })
        .def("self_test", [](SharedSession& s) { return s.with([](Session& x) { return arrays::self_test(x); }); })
        .def_prop_ro("gpu_open", [](SharedSession& s) { return s.with([](Session& x) { return x.gpu_open(); }); })
        .def_prop_ro("threads", [](SharedSession& s) { return s.with([](Session& x) { return x.threads(); }); })
        .def_prop_rw(
            "choice", [](SharedSession& s) { return s.with([](Session& x) { return to_name(x.choice()); }); },
            [](SharedSession& s, const std::string& name) {
                s.with([choice = backend_named(name).value()](Session& x) { x.set_choice(choice); });
            })
        .def_prop_rw(
            "oom_safe", [](SharedSession& s) { return s.with([](Session& x) { return x.oom_safe(); }); },
            [](SharedSession& s, bool on) { s.with([on](Session& x) { x.set_oom_safe(on); }); })
        .def_prop_ro("device", [](SharedSession& s) { return s.with([](Session& x) { return x.device(); }); })
        .def_prop_rw(
            "unified", [](SharedSession& s) { return s.with([](Session& x) { return x.unified(); }); },
            [](SharedSession& s, bool on) { s.with([on](Session& x) { x.set_unified(on); }); });
    m.def("set_process_oom_safe", &offload::set_process_oom_safe, "on"_a);
    m.def("process_oom_safe", &offload::process_oom_safe);
    m.def("checksum", &checksum, "bytes"_a, "before"_a);
    m.def("run_on_cpu", &run_on_cpu, "session"_a, "work"_a, "function"_a);
    m.def("set_unified", &offload::set_unified_by_default, "on"_a);
    m.def("unified", &offload::unified_by_default);
    m.def("run_either", &run_either, "session"_a, "work"_a, "on_cpu"_a, "on_gpu"_a);
}

void bind_machine(nb::module_& m) {
    nb::class_<arrays::CalibrationRow>(m, "CalibrationRow")
        .def_ro("operation", &arrays::CalibrationRow::operation)
        .def_ro("size", &arrays::CalibrationRow::size)
        .def_ro("unit", &arrays::CalibrationRow::unit)
        .def_ro("cpu_s", &arrays::CalibrationRow::cpu_s)
        .def_ro("gpu_s", &arrays::CalibrationRow::gpu_s)
        .def_ro("gpu_resident_s", &arrays::CalibrationRow::gpu_resident_s);
    nb::class_<arrays::SelfTestRow>(m, "SelfTestRow")
        .def_ro("operation", &arrays::SelfTestRow::operation)
        .def_ro("backend", &arrays::SelfTestRow::backend)
        .def_ro("error", &arrays::SelfTestRow::error)
        .def_ro("bound", &arrays::SelfTestRow::bound)
        .def_ro("why_not", &arrays::SelfTestRow::why_not)
        .def_prop_ro("ok", &arrays::SelfTestRow::ok);
    nb::class_<environment::Setting>(m, "Setting")
        .def_ro("name", &environment::Setting::name)
        .def_ro("value", &environment::Setting::value)
        .def_ro("is_set", &environment::Setting::is_set)
        .def_ro("problem", &environment::Setting::problem);
    nb::class_<offload::BackendDevice>(m, "BackendDevice")
        .def_ro("name", &offload::BackendDevice::name)
        .def_ro("total_bytes", &offload::BackendDevice::total_bytes)
        .def_ro("free_bytes", &offload::BackendDevice::free_bytes);
    nb::class_<offload::BackendInfo>(m, "BackendInfo")
        .def_ro("name", &offload::BackendInfo::name)
        .def_ro("devices", &offload::BackendInfo::devices)
        .def_ro("detail", &offload::BackendInfo::detail)
        .def_ro("why_not", &offload::BackendInfo::why_not)
        .def_ro("instruction_set", &offload::BackendInfo::instruction_set)
        .def_ro("instruction_sets", &offload::BackendInfo::instruction_sets)
        .def_ro("threads", &offload::BackendInfo::threads)
        .def_prop_ro("usable", &offload::BackendInfo::usable);
    m.def("settings", &environment::settings);
    m.def("detect_backends", &offload::detect_backends, nb::call_guard<nb::gil_scoped_release>());
    m.def("best_backend", &offload::best_backend, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_offload(nb::module_& m) {
    bind_decisions(m);
    bind_session(m);
    bind_machine(m);
}

}  // namespace glint::python
