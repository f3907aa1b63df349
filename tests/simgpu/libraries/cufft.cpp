// libcufft.so.12 of the simulated server: the functions of src/runtime/arrays/cufft_list.inc.
// SPDX-License-Identifier: MIT
#include <map>

#include "arrays/library_abi.hpp"
#include "device_part.hpp"
#include "shapes.hpp"

namespace lib = glint::arrays::lib;
using namespace simgpu;

namespace {

struct Plan {
    DevicePart part;
    FourierShape shape{};
    int type = 0;
    long long count = 0;
    void* work = nullptr;
    bool made = false;
};

std::map<lib::Plan, Plan>& plans() {
    static auto& map = *new std::map<lib::Plan, Plan>;
    return map;
}

lib::Status status_of(cu::Result result) {
    return result == cu::success         ? lib::success
           : result == cu::out_of_memory ? lib::cufft::alloc_failed
                                         : lib::cufft::exec_failed;
}

lib::Status run(lib::Plan handle, const char* function, const char* kernel, int type, void* in, void* out,
                int direction) {
    if (const int fault = planned(function)) return fault;
    const auto found = plans().find(handle);
    if (found == plans().end() || !found->second.made) return lib::cufft::invalid_plan;
    Plan& plan = found->second;
    constexpr lib::Status invalid_type = 3, no_workspace = 13;
    if (plan.type != type) return invalid_type;
    if (!plan.work) return no_workspace;
    plan.shape.direction = direction;
    void* parameters[] = {&in, &out, &plan.work, &plan.shape};
    return status_of(plan.part.launch(kernel, plan.count, parameters));
}

}  // namespace

EXPORTED lib::Status cufftCreate(lib::Plan* plan) {
    if (const int fault = planned("cufftCreate")) return fault;
    static lib::Plan last = 0;
    DevicePart part;
    if (const cu::Result failed = part.open(1 << 20)) return status_of(failed);
    plans()[*plan = ++last].part = part;
    return lib::success;
}

EXPORTED lib::Status cufftDestroy(lib::Plan plan) {
    const auto found = plans().find(plan);
    if (found == plans().end()) return lib::cufft::invalid_plan;
    found->second.part.close();
    plans().erase(found);
    return lib::success;
}

EXPORTED lib::Status cufftSetStream(lib::Plan plan, cu::Stream stream) {
    plans().at(plan).part.set_stream(stream);
    return lib::success;
}

EXPORTED lib::Status cufftSetAutoAllocation(lib::Plan, int on) {
    constexpr lib::Status not_supported = 16;  // by the simulation
    return on ? not_supported : lib::success;
}

EXPORTED lib::Status cufftMakePlanMany64(lib::Plan handle, int rank, long long* n, long long* inembed, long long,
                                         long long, long long* onembed, long long, long long, int type, long long count,
                                         size_t* work_bytes) {
    if (const int fault = planned("cufftMakePlanMany64")) return fault;
    if (rank < 1 || rank > 2 || inembed || onembed || count < 1 || n[0] < 1) return lib::cufft::invalid_plan;
    Plan& plan = plans().at(handle);
    plan.shape = {rank == 2 ? n[0] : 1, n[rank - 1], 0};
    plan.type = type, plan.count = count, plan.made = true;
    const bool single = type == lib::cufft::c2c || type == lib::cufft::r2c || type == lib::cufft::c2r;
    *work_bytes = std::size_t(count * plan.shape.height * plan.shape.width) * (single ? 8 : 16);
    return lib::success;
}

EXPORTED lib::Status cufftSetWorkArea(lib::Plan plan, void* memory) {
    plans().at(plan).work = memory;
    return lib::success;
}

#define EXEC(function, kernel, type)                                                                               \
    EXPORTED lib::Status function(lib::Plan plan, void* in, void* out) {                                           \
        const int direction = lib::cufft::type == lib::cufft::r2c || lib::cufft::type == lib::cufft::d2z ? -1 : 1; \
        return run(plan, #function, kernel, lib::cufft::type, in, out, direction);                                 \
    }
EXEC(cufftExecR2C, "simlib_r2c", r2c)
EXEC(cufftExecC2R, "simlib_c2r", c2r)
EXEC(cufftExecD2Z, "simlib_d2z", d2z)
EXEC(cufftExecZ2D, "simlib_z2d", z2d)

EXPORTED lib::Status cufftExecC2C(lib::Plan plan, void* in, void* out, int direction) {
    return run(plan, "cufftExecC2C", "simlib_c2c", lib::cufft::c2c, in, out, direction);
}
EXPORTED lib::Status cufftExecZ2Z(lib::Plan plan, void* in, void* out, int direction) {
    return run(plan, "cufftExecZ2Z", "simlib_z2z", lib::cufft::z2z, in, out, direction);
}
