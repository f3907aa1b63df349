// Compiles user-defined kernels, and keeps them with the session's GPU.
// SPDX-License-Identifier: MIT
#include "glint/arrays/kernel.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <tuple>

#include "arrays/libraries.hpp"
#include "glint/error.hpp"
#include "gpu/stream_state.hpp"

namespace glint::arrays {
namespace {

void require(lib::Status status, const char* call) {
    constexpr lib::Status out_of_memory = 1;
    if (status == lib::success) return;
    const std::string what = fmt::format("{} failed with NVRTC's error {}", call, status);
    if (status == out_of_memory) throw gpu::GpuError(status, what + ", a lack of host memory");
    throw gpu::GpuError(status, what + ": install one NVRTC of CUDA 12 or 13 with its libnvrtc-builtins beside it");
}

class Program {
  public:
    explicit Program(const KernelSource& kernel) {
        require(nvrtc().nvrtcCreateProgram(&program_, kernel.source.c_str(), (kernel.name + ".cu").c_str(), 0, nullptr,
                                           nullptr),
                "nvrtcCreateProgram");
    }
    ~Program() { nvrtc().nvrtcDestroyProgram(&program_); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    operator lib::Program() const { return program_; }

    std::string log() const {
        std::size_t bytes = 0;
        require(nvrtc().nvrtcGetProgramLogSize(program_, &bytes), "nvrtcGetProgramLogSize");
        std::string words(bytes, '\0');
        if (bytes > 0) require(nvrtc().nvrtcGetProgramLog(program_, words.data()), "nvrtcGetProgramLog");
        return words.substr(0, words.find('\0'));
    }

  private:
    lib::Program program_ = nullptr;
};

/// A kernel on a GPU. The module refers to the code.
struct Loaded {
    Loaded(const gpu::Context& context, const KernelSource& of, std::vector<unsigned char> machine_code)
        : code(std::move(machine_code)), module(context, code) {
        get(of, 0);
        const gpu::detail::ContextState& home = context.state();
        const gpu::detail::Current current(home);
        constexpr std::size_t most = 4096;  // more pointers than the 32 KiB of parameters could hold
        std::size_t offset = 0, size = 0;
        while (home.driver->cuFuncGetParamInfo && sizes.size() < most &&
               home.driver->cuFuncGetParamInfo(static_cast<cu::Function>(kernel.function), sizes.size(), &offset,
                                               &size) == cu::success)
            sizes.push_back(size);
        knows_sizes = home.driver->cuFuncGetParamInfo != nullptr;
    }
    void get(const KernelSource& of, unsigned dynamic_bytes) {
        try {
            kernel = module.kernel(of.name, int(dynamic_bytes));
        } catch (const gpu::GpuError& error) {
            if (error.code != cu::not_found) throw;
            throw OptionError(fmt::format(
                "the source has no kernel {}: declare it as extern \"C\" __global__ void {}(...)", of.name, of.name));
        }
        shared_bytes = dynamic_bytes;
    }

    std::vector<unsigned char> code;
    gpu::Module module;
    gpu::Kernel kernel;
    unsigned shared_bytes = 0;       // maximum of a launch
    std::vector<std::size_t> sizes;  // of the parameters
    bool knows_sizes = false;
};

/// The kernels that a session has compiled for its GPU.
class UserKernels {
  public:
    explicit UserKernels(const gpu::Context& context) : context_(context) {}
    Loaded& find(const KernelSource& of) {
        std::unique_ptr<Loaded>& known = loaded_[{of.source, of.name, fmt::format("{}", fmt::join(of.options, "\n"))}];
        if (!known) {
            const std::string& capability = context_.state().capability;  // "9.0"
            const int major = std::stoi(capability), minor = std::stoi(capability.substr(capability.find('.') + 1));
            known = std::make_unique<Loaded>(context_, of, compile(of, 10 * major + minor));
        }
        return *known;
    }
    void drop_caches() {}  // code is small, and outside the pool

  private:
    gpu::Context context_;
    std::map<std::tuple<std::string, std::string, std::string>, std::unique_ptr<Loaded>> loaded_;
};

Loaded& loaded(offload::Session& session, const KernelSource& kernel) {
    return session
        .keep<UserKernels>([](const gpu::Context& context, const gpu::Stream&) {
            return UserKernels(gpu::detail::non_owning_context(context.shared_state()));
        })
        .find(kernel);
}

void require_arguments(const Loaded& kernel, const std::string& name, const std::vector<KernelArgument>& arguments) {
    if (!kernel.knows_sizes) return;
    if (kernel.sizes.size() != arguments.size())
        throw OptionError(fmt::format("the kernel {} has {} parameters, and {} arguments were given", name,
                                      kernel.sizes.size(), arguments.size()));
    for (std::size_t k = 0; k < arguments.size(); ++k)
        if (kernel.sizes[k] != arguments[k].bytes.size())
            throw OptionError(
                fmt::format("parameter {} of the kernel {} has {} bytes, and an argument of {} was given: give {}", k,
                            name, kernel.sizes[k], arguments[k].bytes.size(), "a number of exactly its type"));
}

}  // namespace

std::vector<unsigned char> compile(const KernelSource& kernel, int capability) {
    const Nvrtc& library = nvrtc();
    const Program program(kernel);
    const std::string architecture = fmt::format("--gpu-architecture=sm_{}", capability);
    std::vector<const char*> options{architecture.c_str()};
    for (const std::string& option : kernel.options) options.push_back(option.c_str());
    constexpr lib::Status invalid_option = 5, compilation = 6;
    const lib::Status status = library.nvrtcCompileProgram(program, int(options.size()), options.data());
    if (status == compilation || status == invalid_option)
        throw OptionError(fmt::format("the kernel {} does not compile for GPUs of compute capability {}.{}{}:\n{}",
                                      kernel.name, capability / 10, capability % 10,
                                      status == invalid_option ? " (NVRTC refuses an option)" : "", program.log()));
    require(status, "nvrtcCompileProgram");
    std::size_t bytes = 0;
    require(library.nvrtcGetCUBINSize(program, &bytes), "nvrtcGetCUBINSize");
    std::vector<unsigned char> code(bytes);
    require(library.nvrtcGetCUBIN(program, reinterpret_cast<char*>(code.data())), "nvrtcGetCUBIN");
    return code;
}

std::vector<std::size_t> parameter_bytes(offload::Session& session, const KernelSource& kernel) {
    return loaded(session, kernel).sizes;
}

void launch(offload::Session& session, const KernelSource& kernel, unsigned blocks, unsigned threads,
            std::vector<KernelArgument> arguments, unsigned shared_bytes) {
    if (blocks == 0 || threads == 0)
        throw OptionError(fmt::format("a launch of the kernel {} with {} blocks of {} threads: give 1 or more of both",
                                      kernel.name, blocks, threads));
    Loaded& found = loaded(session, kernel);
    require_arguments(found, kernel.name, arguments);
    if (shared_bytes > found.shared_bytes) found.get(kernel, shared_bytes);
    const gpu::Stream& stream = session.stream();
    std::vector<void*> pointers;
    for (KernelArgument& argument : arguments) {
        argument.bind(stream);
        pointers.push_back(argument.bytes.data());
    }
    gpu::launch(stream, found.kernel, blocks, threads, shared_bytes, pointers.data());
}

}  // namespace glint::arrays
