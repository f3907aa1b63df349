# Installs glint into a fresh prefix, moves it, then configures, builds and runs tests/consumer against it.
# Usage: cmake -D BUILD=build/release -D SOURCE=. -D COMPILER=c++ -P tests/install_test.cmake
set(work ${BUILD}/install_test)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/first)
file(RENAME ${work}/first ${work}/moved)  # an installed tree must not remember where it was
file(GLOB_RECURSE exported ${work}/moved/*.cmake)
foreach(file ${exported})
  file(READ ${file} text)
  foreach(place ${SOURCE}/ ${BUILD}/ ${work}/first)
    string(FIND "${text}" "${place}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} holds the path ${place}")
    endif()
  endforeach()
endforeach()

function(consume name folder)
  run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/tests/${folder} -B ${work}/${name} -D CMAKE_PREFIX_PATH=${work}/moved
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=Release)
  run(${CMAKE_COMMAND} --build ${work}/${name})
  run(${work}/${name}/${name})
  message("${name}: ${output}")
endfunction()
consume(consumer consumer)
consume(gpu_consumer consumer/gpu)
run(${work}/moved/bin/glint --version)
message("installed program: ${output}")
foreach(file bash-completion/completions/glint zsh/site-functions/_glint fish/vendor_completions.d/glint.fish
    man/man1/glint.1 man/man1/glint-localize.1)
  if(NOT EXISTS ${work}/moved/share/${file})
    message(FATAL_ERROR "share/${file} is not installed")
  endif()
endforeach()
