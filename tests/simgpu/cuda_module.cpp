// Modules and functions. The image lists the kernels; the library SIMGPU_KERNELS contains the same kernels for the
// host.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include "api.hpp"
#include "image.hpp"
#include "process.hpp"

namespace simgpu::api {
namespace {

using glint::gpu::SimulatedKernel;

/// Returns the setting for messages.
std::string kernels_file() { return "SIMGPU_KERNELS=" + setting("SIMGPU_KERNELS"); }

void* kernel_library() {
    static void* library = [] {
        const std::string path = setting("SIMGPU_KERNELS");
        if (path.empty())
            broken("SIMGPU_KERNELS, which names the library of simulated kernels, is unset: tests/simgpu/run sets it");
        void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) broken("%s: %s", kernels_file().c_str(), dlerror());
        return handle;
    }();
    return library;
}

const SimulatedKernel* find_kernel(const std::string& name) {
    const auto* kernel =
        static_cast<const SimulatedKernel*>(dlsym(kernel_library(), ("simgpu_kernel_" + name).c_str()));
    if (kernel && kernel->version != SimulatedKernel::this_version)
        broken("%s was built with another gpu/kernel_abi.hpp", kernels_file().c_str());
    return kernel;
}

/// Returns the parameters in the layout of the compiler, in order.
std::map<unsigned, RecordedParameter> parameters_of(const SimulatedKernel& kernel) {
    std::map<unsigned, RecordedParameter> all;
    unsigned end = 0;
    for (unsigned i = 0; i < kernel.parameter_count; ++i) {
        const auto& p = kernel.parameters[i];
        const unsigned offset = (end + p.alignment - 1) / p.alignment * p.alignment;
        all[i] = {offset, p.size};
        end = offset + p.size;
    }
    return all;
}

/// nvcc and the host's compiler must agree on the layout of the structs that kernels take.
void compare_parameters(const Module& module, const SimulatedKernel& kernel, const char* name) {
    const auto recorded = recorded_parameters(module.code, name);
    if (!recorded.empty() && recorded != parameters_of(kernel))
        broken("kernel %s has other parameters in the fatbin than in %s", name, kernels_file().c_str());
}

}  // namespace

cu::Result cuModuleLoadData(cu::Module* handle, const void* image) {
    const auto code = code_for(image, server().devices[current()->device].capability);
    if (!code) return cu::no_binary_for_gpu;
    kernel_library();
    *handle = reinterpret_cast<cu::Module>(process().modules.add(new Module{current(), *code}));
    return cu::success;
}

cu::Result cuModuleUnload(cu::Module handle) {
    Module& module = process().modules.get(handle);
    synchronize_all();  // launched kernels run to their end
    process().functions.remove_if([&](const Function& function) { return function.module == &module; });
    process().modules.remove(module);
    module.code = {};
    return cu::success;
}

cu::Result cuModuleGetFunction(cu::Function* handle, cu::Module module_handle, const char* name) {
    const Module& module = process().modules.get(module_handle);
    if (!has_kernel(module.code, name)) return cu::not_found;
    const SimulatedKernel* kernel = find_kernel(name);
    if (!kernel && module.code.empty()) return cu::not_found;
    if (!kernel) broken("kernel %s is in the fatbin, and not in %s", name, kernels_file().c_str());
    compare_parameters(module, *kernel, name);
    *handle =
        reinterpret_cast<cu::Function>(process().functions.add(new Function{module.context, &module, kernel, name}));
    return cu::success;
}

cu::Result cuFuncGetAttribute(int* value, int attribute, cu::Function handle) {
    const Function& function = process().functions.get(handle);
    switch (attribute) {
        case 0: *value = int(function.kernel->max_threads); break;
        case cu::func_shared_bytes:
        case cu::func_local_bytes: *value = 0; break;
        case cu::func_registers: *value = 32; break;
        case cu::func_max_dynamic_shared: *value = function.max_dynamic_shared; break;
        default: bug("attribute %d of a function is not simulated", attribute);
    }
    return cu::success;
}

cu::Result cuFuncSetAttribute(cu::Function handle, int attribute, int value) {
    Function& function = process().functions.get(handle);
    if (attribute != cu::func_max_dynamic_shared) bug("attribute %d of a function cannot be set here", attribute);
    if (value < 0 || value > 227 * 1024) return cu::invalid_value;
    function.max_dynamic_shared = value;
    return cu::success;
}

cu::Result cuFuncGetParamInfo(cu::Function handle, size_t index, size_t* offset, size_t* size) {
    const SimulatedKernel& kernel = *process().functions.get(handle).kernel;
    if (index >= kernel.parameter_count) return cu::invalid_value;
    const RecordedParameter parameter = parameters_of(kernel).at(unsigned(index));
    *offset = parameter.offset;
    if (size) *size = parameter.size;
    return cu::success;
}

}  // namespace simgpu::api
