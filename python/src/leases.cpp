// Bindings of leases and of the view of all leases (glint/gpu.py).
// SPDX-License-Identifier: MIT
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings.hpp"
#include "glint/gpu/lease.hpp"
#include "glint/gpu/limit.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

using gpu::Lease;

/// A lease that Python may give back while other threads use it. It then ends with the last running call. The GIL
/// guards the pointer.
class HeldLease {
  public:
    explicit HeldLease(Lease lease) : lease_(std::make_shared<Lease>(std::move(lease))) {}

    /// Returns the lease, which the caller keeps during a call.
    std::shared_ptr<Lease> get() const {
        if (!lease_) throw OptionError("this lease was given back: ask for another");
        return lease_;
    }
    /// Calls act(lease) without the GIL.
    template <class Act>
    auto with(const Act& act) const {
        const std::shared_ptr<Lease> lease = get();
        const nb::gil_scoped_release release;
        return act(*lease);
    }
    void give_back() {
        std::shared_ptr<Lease> last = std::move(lease_);
        const nb::gil_scoped_release release;
        last.reset();
    }
    bool held() const { return lease_ != nullptr; }

  private:
    std::shared_ptr<Lease> lease_;
};

/// A turn to create a context, ended explicitly by Python.
struct Turn {
    gpu::Lease::CreationLock hold;
};

HeldLease acquire(std::uint64_t bytes, int gpus, double timeout_s, const std::vector<std::string>& avoid,
                  nb::handle on_wait, nb::handle log) {
    Running running;
    gpu::LeaseRequest request;
    request.bytes = bytes, request.gpus = gpus, request.timeout_s = timeout_s, request.avoid = avoid;
    request.on_wait = running.on_wait(on_wait), request.log = running.text(log), request.stop = running.stop();
    return HeldLease(running.run([&] { return gpu::acquire(request); }));
}

void bind_snapshot(nb::module_& m) {
    nb::class_<gpu::LeaseHolder>(m, "LeaseHolder")
        .def_ro("uid", &gpu::LeaseHolder::uid)
        .def_ro("pid", &gpu::LeaseHolder::pid)
        .def_ro("reserved_bytes", &gpu::LeaseHolder::reserved_bytes)
        .def_ro("held_bytes", &gpu::LeaseHolder::held_bytes)
        .def_ro("contexts", &gpu::LeaseHolder::contexts)
        .def_ro("since_s", &gpu::LeaseHolder::since_s)
        .def_ro("stopped", &gpu::LeaseHolder::stopped)
        .def_ro("elsewhere", &gpu::LeaseHolder::elsewhere)
        .def_ro("ended", &gpu::LeaseHolder::ended)
        .def_ro("kept_by", &gpu::LeaseHolder::kept_by);
    nb::class_<gpu::LeaseGpu>(m, "LeaseGpu")
        .def_ro("uuid", &gpu::LeaseGpu::uuid)
        .def_ro("name", &gpu::LeaseGpu::name)
        .def_ro("total_bytes", &gpu::LeaseGpu::total_bytes)
        .def_ro("free_bytes", &gpu::LeaseGpu::free_bytes)
        .def_ro("available_bytes", &gpu::LeaseGpu::available_bytes)
        .def_ro("utilization_percent", &gpu::LeaseGpu::utilization_percent)
        .def_ro("processes", &gpu::LeaseGpu::processes)
        .def_ro("strangers", &gpu::LeaseGpu::foreign_count)
        .def_ro("stranger_processes", &gpu::LeaseGpu::foreign_processes)
        .def_ro("holders", &gpu::LeaseGpu::holders);
    nb::class_<gpu::LeaseWaiter>(m, "LeaseWaiter")
        .def_ro("uid", &gpu::LeaseWaiter::uid)
        .def_ro("pid", &gpu::LeaseWaiter::pid)
        .def_ro("bytes", &gpu::LeaseWaiter::bytes)
        .def_ro("gpus", &gpu::LeaseWaiter::gpus)
        .def_ro("candidates", &gpu::LeaseWaiter::candidates)
        .def_ro("since_s", &gpu::LeaseWaiter::since_s)
        .def_ro("passes", &gpu::LeaseWaiter::passes)
        .def_ro("awake", &gpu::LeaseWaiter::awake);
    nb::class_<gpu::LeaseSnapshot>(m, "LeaseSnapshot")
        .def_ro("directory", &gpu::LeaseSnapshot::directory)
        .def_ro("why_no_directory", &gpu::LeaseSnapshot::why_no_directory)
        .def_ro("why_no_gpu", &gpu::LeaseSnapshot::why_no_gpu)
        .def_ro("gpus", &gpu::LeaseSnapshot::gpus)
        .def_ro("waiters", &gpu::LeaseSnapshot::waiters);
    m.def("snapshot_leases", &gpu::snapshot_leases, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_leases(nb::module_& m) {
    bind_snapshot(m);
    nb::class_<gpu::LeasedDevice>(m, "LeasedDevice")
        .def_ro("ordinal", &gpu::LeasedDevice::ordinal)
        .def_ro("uuid", &gpu::LeasedDevice::uuid)
        .def_ro("name", &gpu::LeasedDevice::name)
        .def_ro("context_bytes", &gpu::LeasedDevice::context_bytes);
    nb::class_<Turn>(m, "Turn").def("end", [](Turn& turn) { turn.hold.reset(); });
    nb::class_<HeldLease>(m, "Lease")
        .def_prop_ro("held", &HeldLease::held)
        .def_prop_ro("devices", [](HeldLease& held) { return held.with([](Lease& x) { return x.devices(); }); })
        .def_prop_ro("bytes", [](HeldLease& held) { return held.with([](Lease& x) { return x.bytes(); }); })
        .def_prop_ro("waited_s", [](HeldLease& held) { return held.with([](Lease& x) { return x.waited_s(); }); })
        .def_prop_ro("visible", [](HeldLease& held) { return held.with([](Lease& x) { return x.visible(); }); })
        .def_prop_ro("others_wait", [](HeldLease& held) { return held.with([](Lease& x) { return x.others_wait(); }); })
        .def(
            "publish_held",
            [](HeldLease& held, std::uint64_t bytes, std::size_t device) {
                held.with([&](Lease& x) { x.publish_held(bytes, device); });
            },
            "bytes"_a, "device"_a)
        .def(
            "shrink", [](HeldLease& held, std::uint64_t bytes) { held.with([&](Lease& x) { x.shrink(bytes); }); },
            "bytes"_a)
        .def(
            "turn_to_create",
            [](HeldLease& held, std::size_t device, double timeout_s, nb::handle on_wait, nb::handle log) {
                const std::shared_ptr<Lease> lease = held.get();
                Running running;
                gpu::LeaseRequest request;
                request.timeout_s = timeout_s, request.stop = running.stop();
                request.on_wait = running.on_wait(on_wait), request.log = running.text(log);
                return Turn{running.run([&] { return lease->lock_context_creation(device, request); })};
            },
            "device"_a, "timeout_s"_a, "on_wait"_a.none(), "log"_a.none())
        .def("give_back", &HeldLease::give_back);
    m.def("acquire", &acquire, "bytes"_a, "gpus"_a, "timeout_s"_a, "avoid"_a, "on_wait"_a.none(), "log"_a.none());
    m.def("parse_bytes", &gpu::parse_limit, "text"_a, "total_bytes"_a, "what"_a);
}

}  // namespace glint::python
