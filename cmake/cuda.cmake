# Kernels for GPUs: nvcc compiles each .cu to a fatbin, which is embedded in the library. No CUDA runtime is linked.
# Without a working nvcc, everything but the kernels is built.
#   GLINT_CUDA_ARCHITECTURES  compute capabilities to build machine code for; all: "75;80;86;89;90;100;120"
#   GLINT_CUDA_PTX            minimum compute capability of other GPUs: the driver compiles the kernels at first use
# GLINT_CUDA=SIMULATED embeds stand-ins that only the simulated server runs: for tests without nvcc, and for quick
# sanitizer builds.
set(GLINT_CUDA_ARCHITECTURES "90" CACHE STRING "Compute capabilities to build kernels for")
set(GLINT_CUDA_PTX "75" CACHE STRING "Minimum compute capability that the kernels run on")
find_path(GLINT_CUDA_INCLUDE cudaTypedefs.h HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
  PATH_SUFFIXES include)
file(GLOB glint_own_nvcc ${PROJECT_SOURCE_DIR}/.nvcc/lib/python3*/site-packages/nvidia/cu13)  # by `./dev setup gpu`
find_program(GLINT_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda ${glint_own_nvcc}
  PATH_SUFFIXES bin)

set(glint_gencode "")
foreach(arch ${GLINT_CUDA_ARCHITECTURES})
  list(APPEND glint_gencode -gencode arch=compute_${arch},code=sm_${arch})
endforeach()
list(APPEND glint_gencode -gencode arch=compute_${GLINT_CUDA_PTX},code=compute_${GLINT_CUDA_PTX})

# Warns about an nvcc that does not compile for these GPUs (too old, broken, or without a supported host compiler), and
# does not use it.
if(GLINT_CUDA AND GLINT_NVCC AND NOT GLINT_NVCC_COMPILES STREQUAL "${GLINT_NVCC} ${glint_gencode}")
  set(trial ${PROJECT_BINARY_DIR}/CMakeFiles/nvcc_trial)
  file(WRITE ${trial}.cu "#include <cstdint>\n__global__ void add(std::int64_t* sum) { *sum += 1; }\n")
  execute_process(COMMAND ${GLINT_NVCC} -c -std=c++20 ${glint_gencode} -o ${trial}.o ${trial}.cu RESULT_VARIABLE failed
    OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    message(WARNING "${GLINT_NVCC} does not compile: glint is built without kernels for GPUs. "
      "To use another nvcc, set -DGLINT_NVCC=PATH. Its output:\n${said}")
    set(GLINT_NVCC GLINT_NVCC-NOTFOUND CACHE FILEPATH "nvcc" FORCE)
  else()
    set(GLINT_NVCC_COMPILES "${GLINT_NVCC} ${glint_gencode}" CACHE INTERNAL "the nvcc that was tried, and what for")
  endif()
endif()

# glint_add_fatbins(TARGET FUNCTION sources.cu...): defines `std::span<const unsigned char> glint::FUNCTION(int k)`,
# which returns the fatbin of source k; empty spans without nvcc. The caller may set GLINT_KERNEL_MATH, nvcc's options
# for arithmetic.
function(glint_add_fatbins target function)
  if(NOT DEFINED GLINT_KERNEL_MATH)
    # Divisions and roots to 2 ulp. No other approximations: NaN and infinity stay meaningful.
    set(GLINT_KERNEL_MATH -prec-div=false -prec-sqrt=false -ftz=true)
  endif()
  set(declarations "")
  set(spans "")
  set(k 0)
  if(GLINT_CUDA STREQUAL SIMULATED)
    # The format: tests/simgpu/image.hpp.
    string(APPEND declarations "static const unsigned char image[] = \"SIMGPU IMAGE 1\\n\";\n")
    list(LENGTH ARGN count)
    while(k LESS count)
      string(APPEND spans "        case ${k}: return image;\n")
      math(EXPR k "${k} + 1")
    endwhile()
  elseif(GLINT_CUDA AND GLINT_NVCC)
    foreach(source ${ARGN})
      get_filename_component(name ${source} NAME_WE)
      get_filename_component(source ${source} ABSOLUTE)
      set(fatbin ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
      # Compiles an object and extracts the fatbin. The bytes are those of nvcc -fatbin, which ccache cannot cache.
      add_custom_command(OUTPUT ${fatbin} DEPENDS ${source} DEPFILE ${fatbin}.d VERBATIM
        COMMENT "Building CUDA kernels ${name}"
        COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${GLINT_NVCC} -c -std=c++20 -O3 --expt-relaxed-constexpr
        ${GLINT_KERNEL_MATH} ${glint_gencode} ${GLINT_SOURCE_INCLUDES} -I${PROJECT_SOURCE_DIR}/include
        -I${PROJECT_BINARY_DIR}/generated -MD -MF ${fatbin}.d -MT ${fatbin} -o ${fatbin}.o ${source}
        COMMAND ${CMAKE_OBJCOPY} -O binary -j .nv_fatbin ${fatbin}.o ${fatbin})
      file(CONFIGURE OUTPUT ${fatbin}.S @ONLY CONTENT [[
    .section .rodata
    .balign 16
    .global glint_fatbin_@name@_begin
    .hidden glint_fatbin_@name@_begin
glint_fatbin_@name@_begin:
    .incbin "@fatbin@"
    .global glint_fatbin_@name@_end
    .hidden glint_fatbin_@name@_end
glint_fatbin_@name@_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
]])
      set_source_files_properties(${fatbin}.S PROPERTIES OBJECT_DEPENDS ${fatbin})
      target_sources(${target} PRIVATE ${fatbin}.S)
      string(APPEND declarations
        "extern \"C\" const unsigned char glint_fatbin_${name}_begin[], glint_fatbin_${name}_end[];\n")
      string(APPEND spans "        case ${k}: return {glint_fatbin_${name}_begin, glint_fatbin_${name}_end};\n")
      math(EXPR k "${k} + 1")
    endforeach()
  elseif(GLINT_CUDA)
    message(STATUS "No nvcc found: glint is built without kernels for GPUs")
  endif()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT [[
// Written by cmake/cuda.cmake.
#include <span>
@declarations@
namespace glint {
std::span<const unsigned char> @function@(int k) {
    switch (k) {
@spans@        default: return {};
    }
}
}  // namespace glint
]])
  set_source_files_properties(${table} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${table})
endfunction()
