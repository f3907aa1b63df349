# Makes a C++ file of the page in the folder web: run as `cmake -D WEB=web -D OUT=web_page.cpp -P web_page.cmake`. Joins
# the ES modules of web/modules.txt into one script: imports and the word export are removed, so a name at the top level
# belongs to one module.
function(read_text file to)
  file(READ ${WEB}/${file} text)
  set(${to} "${text}" PARENT_SCOPE)
endfunction()

file(STRINGS ${WEB}/modules.txt modules)
set(script "(() => {\n\"use strict\";\n")
foreach(module IN LISTS modules)
  if(module MATCHES "^#" OR module STREQUAL "")
    continue()
  endif()
  read_text(${module} text)
  string(REGEX REPLACE "(^|\n)import [^;]*;" "\\1" text "${text}")
  string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
  string(APPEND script "${text}")
endforeach()
string(APPEND script "})();\n")
read_text(page.css style)
read_text(index.html html)
string(SHA256 style_hash "${style}")
string(SHA256 script_hash "${script}")
# Compilers limit the length of one literal; adjacent literals are one.
function(to_literal text to)
  set(literal "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 12000 part)
    string(APPEND literal "R\"glint_web(${part})glint_web\"\n")
    math(EXPR at "${at} + 12000")
  endwhile()
  set(${to} "${literal}" PARENT_SCOPE)
endfunction()
to_literal("${html}" html)
to_literal("${style}" style)
to_literal("${script}" script)
file(WRITE ${OUT} "// Made from the folder web by cmake/web_page.cmake.
#include \"report/web_page.hpp\"

namespace glint {

const std::string_view page_template = ${html};
const PageText page_style{${style}, \"${style_hash}\"};
const PageText page_script{${script}, \"${script_hash}\"};

}  // namespace glint
")
