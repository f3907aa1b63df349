// libnvrtc.so.13 of the simulated server: the functions of src/runtime/arrays/nvrtc_list.inc.
//
// It does not compile. A source with a __global__ function and equal numbers of opening and closing braces becomes an
// image with its kernels' names. The kernels of these names are in the library of SIMGPU_KERNELS.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "arrays/library_abi.hpp"
#include "device_part.hpp"
#include "image.hpp"

namespace lib = glint::arrays::lib;
using namespace simgpu;

namespace {

struct Program {
    std::string source, log;
    bool compiled = false;
};
Program& of(lib::Program program) { return *reinterpret_cast<Program*>(program); }

constexpr lib::Status invalid_program = 4, invalid_option = 5, compilation = 6;

}  // namespace

EXPORTED lib::Status nvrtcCreateProgram(lib::Program* program, const char* source, const char*, int, const char* const*,
                                        const char* const*) {
    if (const int fault = planned("nvrtcCreateProgram")) return fault;
    *program = reinterpret_cast<lib::Program>(new Program{source, "", false});
    return lib::success;
}

EXPORTED lib::Status nvrtcDestroyProgram(lib::Program* program) {
    delete reinterpret_cast<Program*>(*program);
    *program = nullptr;
    return lib::success;
}

EXPORTED lib::Status nvrtcCompileProgram(lib::Program handle, int count, const char* const* options) {
    if (const int fault = planned("nvrtcCompileProgram")) return fault;
    Program& program = of(handle);
    for (int k = 0; k < count; ++k)
        if (options[k][0] != '-') return program.log = std::string("unrecognized option ") + options[k], invalid_option;
    const auto braces = [&](char c) { return std::count(program.source.begin(), program.source.end(), c); };
    if (program.source.find("__global__") == program.source.npos) return program.log = "error: no kernel", compilation;
    if (braces('{') != braces('}')) return program.log = "error: expected a \"}\"", compilation;
    program.compiled = true;
    return lib::success;
}

EXPORTED lib::Status nvrtcGetProgramLogSize(lib::Program program, size_t* bytes) {
    *bytes = of(program).log.size() + 1;
    return lib::success;
}

EXPORTED lib::Status nvrtcGetProgramLog(lib::Program program, char* log) {
    std::strcpy(log, of(program).log.c_str());
    return lib::success;
}

EXPORTED lib::Status nvrtcGetCUBINSize(lib::Program program, size_t* bytes) {
    *bytes = sizeof simulated_image;
    return of(program).compiled ? lib::success : invalid_program;
}

EXPORTED lib::Status nvrtcGetCUBIN(lib::Program, char* code) {
    std::memcpy(code, simulated_image, sizeof simulated_image);
    return lib::success;
}
