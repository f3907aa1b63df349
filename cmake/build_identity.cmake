# Writes OUT, the source of build_identity(): a hash of all sources below ROOT, and of SETTINGS.
#   cmake -D ROOT=... -D SETTINGS=... -D OUT=... -P build_identity.cmake
file(GLOB_RECURSE sources ${ROOT}/src/* ${ROOT}/include/*)
list(FILTER sources EXCLUDE REGEX "_test\\.[ch]pp$")
list(SORT sources)
set(all "${SETTINGS}")
foreach(source ${sources})
  file(SHA256 ${source} hash)
  string(APPEND all "\n${hash}")
endforeach()
string(SHA256 identity "${all}")
file(WRITE ${OUT} "#include \"base/build_identity.hpp\"
namespace glint {
std::string build_identity() { return \"${identity}\"; }
}  // namespace glint
")
