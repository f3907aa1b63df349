# Generates sources from the list of PSF models, glint/psf_models.inc: a header that includes all models, and for each
# model the files of its CPU fits and of its GPU kernels.

# glint_psf_models(LIST FOLDER): writes psf/models.hpp, (fit|joint)_MODEL.isa.cpp and (fit|joint)_MODEL.cu into FOLDER.
# Sets fit_isa_sources, fit_kernels and joint_kernels to their paths, in the order of PsfModel.
function(glint_psf_models list folder)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} lines REGEX "^GLINT_PSF_MODEL\\(")
  foreach(line ${lines})
    string(REGEX REPLACE "^GLINT_PSF_MODEL\\(([A-Za-z0-9_]+)\\).*" "\\1" model "${line}")
    string(APPEND includes "#include \"psf/${model}.hpp\"\n")
    file(CONFIGURE OUTPUT ${folder}/fit_${model}.isa.cpp CONTENT
      "#include \"fit/fit_model.hpp\"\n#include \"psf/${model}.hpp\"\n\nGLINT_FIT_MODEL(${model})\n")
    file(CONFIGURE OUTPUT ${folder}/joint_${model}.isa.cpp CONTENT
      "#include \"fit/joint/joint_model.hpp\"\n#include \"psf/${model}.hpp\"\n\nGLINT_JOINT_MODEL(${model})\n")
    file(CONFIGURE OUTPUT ${folder}/fit_${model}.cu CONTENT
      "#include \"fit/cuda/fit_kernel.hpp\"\n#include \"psf/${model}.hpp\"\n\nGLINT_FIT_KERNELS(${model})\n")
    list(APPEND isa_sources ${folder}/fit_${model}.isa.cpp ${folder}/joint_${model}.isa.cpp)
    file(CONFIGURE OUTPUT ${folder}/joint_${model}.cu CONTENT
      "#include \"fit/cuda/joint_kernel.hpp\"\n#include \"psf/${model}.hpp\"\n\nGLINT_JOINT_KERNEL(${model})\n")
    list(APPEND kernels ${folder}/fit_${model}.cu)
    list(APPEND kernels_joint ${folder}/joint_${model}.cu)
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/psf/models.hpp CONTENT "#pragma once\n\n${includes}")
  set(fit_isa_sources ${isa_sources} PARENT_SCOPE)
  set(fit_kernels ${kernels} PARENT_SCOPE)
  set(joint_kernels ${kernels_joint} PARENT_SCOPE)
endfunction()
