# Compiles each *.isa.cpp once per instruction set, with GLINT_ISA set to its name (a namespace in the source).
# -ffp-contract=fast: a*b+c with one rounding if the set has FMA. No -ffast-math: NaN and infinity stay meaningful.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(GLINT_ISAS sse2 avx2 avx512)
else()
  set(GLINT_ISAS neon)
endif()
set(isa_flags_sse2 -msse2)
set(isa_flags_avx2 -march=haswell)
set(isa_flags_avx512 -march=skylake-avx512 -mprefer-vector-width=512)
set(isa_flags_neon)

# Instruction sets that the sanitizer's tests do not run are compiled without the sanitizer, in a sixth of the time:
# - those that this machine lacks;
# - for ThreadSanitizer, for which all sets are equivalent, all but the one that the program uses on this machine.
set(isa_unsanitized)
if(GLINT_SANITIZE AND EXISTS /proc/cpuinfo AND NOT GLINT_ISAS STREQUAL neon)
  file(READ /proc/cpuinfo cpuinfo)
  set(isa_best sse2)
  if(cpuinfo MATCHES " avx2 ")
    set(isa_best avx2)
  endif()
  if(cpuinfo MATCHES " avx512f ")
    set(isa_best avx512)
  else()
    set(isa_unsanitized avx512)
  endif()
  if(GLINT_SANITIZE STREQUAL thread)
    set(isa_unsanitized ${GLINT_ISAS})
    list(REMOVE_ITEM isa_unsanitized ${isa_best})
  endif()
endif()

function(glint_add_isa_sources target)
  if(NOT ARGN)
    return()
  endif()
  foreach(isa ${GLINT_ISAS})
    add_library(${target}_${isa} OBJECT ${ARGN})
    target_compile_definitions(${target}_${isa} PRIVATE GLINT_ISA=${isa} GLINT_ISA_${isa}=1)
    target_compile_options(${target}_${isa} PRIVATE ${isa_flags_${isa}} -ffp-contract=fast -fno-math-errno
      -fno-trapping-math
      # GCC 12: false alarms in its own avx512fintrin.h
      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> -Wno-uninitialized)
    target_include_directories(${target}_${isa} PRIVATE ${GLINT_GENERATED} ${GLINT_SOURCE_FOLDERS}
      ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${target}_${isa} PRIVATE glint_flags)
    if(isa IN_LIST isa_unsanitized)
      target_compile_options(${target}_${isa} PRIVATE -O0)
      set_target_properties(${target}_${isa} PROPERTIES glint_not_sanitized all)
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
    target_compile_definitions(${target} PRIVATE GLINT_HAS_${isa}=1)
  endforeach()
endfunction()
