# The Python module with the models of this folder, from the same objects as glint's module.
get_property(objects GLOBAL PROPERTY more_models)
set(package ${PROJECT_BINARY_DIR}/psf_models/python/glint)
add_library(more_core MODULE $<TARGET_OBJECTS:glint_core> ${objects})
get_target_property(suffix glint_core SUFFIX)
get_target_property(libraries glint_core LINK_LIBRARIES)
set_target_properties(more_core PROPERTIES PREFIX "" SUFFIX ${suffix} OUTPUT_NAME _core
  LIBRARY_OUTPUT_DIRECTORY ${package})
target_link_libraries(more_core PRIVATE ${libraries})
file(GLOB python_files RELATIVE ${PROJECT_SOURCE_DIR}/python/glint CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/python/glint/*.py)
file(MAKE_DIRECTORY ${package})
foreach(file ${python_files} arrays offload)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/glint/${file} ${package}/${file} SYMBOLIC)
endforeach()
add_test(NAME more_models.python COMMAND ${PROJECT_SOURCE_DIR}/tests/judge/run
  ${PROJECT_SOURCE_DIR}/tests/psf_models/test_more_models.py)
set(variables XDG_CACHE_HOME=/dev/null PYTHONPATH=${PROJECT_BINARY_DIR}/psf_models/python
  GLINT_JUDGE_PYTHON=${Python_EXECUTABLE} GLINT_PROGRAM=$<TARGET_FILE:glint_more>)
set_tests_properties(more_models.python PROPERTIES WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/psf_models LABELS python
  SKIP_RETURN_CODE 77 TIMEOUT 1800 ENVIRONMENT "${variables}")
