// Modules: loading machine code, looking up kernels, launching them.
// SPDX-License-Identifier: MIT
#include "gpu/stream_state.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace detail {

struct ModuleState : Resource {
    explicit ModuleState(const Context& of) : context(non_owning_context(of.shared_state())) {
        context.state().require_usable("a Module");
    }
    ~ModuleState() override { context.state().remove(Resource::Rank::module, this); }
    void drop() noexcept override {
        if (module) context.state().driver->cuModuleUnload(module);
        module = nullptr;
    }

    Context context;
    cu::Module module = nullptr;
};

namespace {

int attribute(const ContextState& home, cu::Function function, int which) {
    int value = 0;
    home.check(home.driver->cuFuncGetAttribute(&value, which, function), "cuFuncGetAttribute");
    return value;
}

}  // namespace
}  // namespace detail

Module::Module(const Context& context, std::span<const unsigned char> fatbin)
    : state_(std::make_shared<detail::ModuleState>(context)) {
    detail::ContextState& home = context.state();
    if (fatbin.empty()) throw GpuError(cu::invalid_value, home.label() + ": an empty fatbin holds no kernels");
    const detail::Current current(home);
    const cu::Result result = home.driver->cuModuleLoadData(&state_->module, fatbin.data());
    if (result == cu::no_binary_for_gpu)
        throw GpuError(result, text(home.label(), ": the kernels were not built for its compute capability ",
                                    home.capability, ": build them for it (CMAKE_CUDA_ARCHITECTURES)"));
    home.check(result, "cuModuleLoadData");
    home.add(detail::Resource::Rank::module, state_.get());
}

Kernel Module::kernel(const std::string& name, int dynamic_shared_bytes) const {
    detail::ContextState& home = state_->context.state();
    home.require_usable("this Module");
    const detail::Current current(home);
    cu::Function function = nullptr;
    const cu::Result found = home.driver->cuModuleGetFunction(&function, state_->module, name.c_str());
    if (found == cu::not_found) throw GpuError(found, text(home.label(), ": the module has no kernel ", name));
    home.check(found, "cuModuleGetFunction");
    constexpr int without_asking = 48 << 10;
    if (dynamic_shared_bytes > without_asking)
        home.check(home.driver->cuFuncSetAttribute(function, cu::func_max_dynamic_shared, dynamic_shared_bytes),
                   text(name, " with ", dynamic_shared_bytes, " bytes of dynamic shared memory").c_str());
    return {.module = state_,
            .function = function,
            .registers = detail::attribute(home, function, cu::func_registers),
            .local_bytes = detail::attribute(home, function, cu::func_local_bytes),
            .shared_bytes = detail::attribute(home, function, cu::func_shared_bytes),
            .name = name};
}

void launch(const Stream& stream, const Kernel& kernel, unsigned blocks, unsigned threads, unsigned shared_bytes,
            void** arguments) {
    stream.state().require_usable();
    detail::ContextState& home = stream.context().state();
    if (!kernel.module) throw OptionError("a launch of an empty Kernel: create it with Module::kernel()");
    const detail::ContextState& of = kernel.module->context.state();
    of.require_usable(kernel.name.c_str());
    if (&of != &home && of.context != home.context)
        throw GpuError(cu::invalid_context,
                       of.ordinal == home.ordinal
                           ? text(kernel.name, " is a kernel of another context of ", of.label(),
                                  " than the stream: load a Module in each context")
                           : text(kernel.name, " is a kernel of ", of.label(), ", and the stream is of ", home.label(),
                                  ": load a Module on each GPU"));
    const detail::Current current(home);
    ++stream.state().uses;  // a launch may use an address again without recording another use of the buffer
    const cu::Result result =
        home.driver->cuLaunchKernel(static_cast<cu::Function>(kernel.function), blocks, 1, 1, threads, 1, 1,
                                    shared_bytes, stream.state().stream, arguments, nullptr);
    if (result != cu::success)
        home.check(result, text("launch of ", kernel.name, " (", blocks, " blocks of ", threads, " threads, ",
                                shared_bytes, " bytes of shared memory)")
                               .c_str());
}

}  // namespace glint::gpu
