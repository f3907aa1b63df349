#!/bin/sh
# Checks that objects compiled per instruction set share no inline function with the rest of the program: they may
# define weak symbols only in the namespace of their instruction set. Usage: tools/check_isa.sh BUILD_FOLDER
set -eu
bad=0
for object in $(find "$1" -path '*glint_*.dir*' -name '*.isa.cpp.o'); do
    leaks=$(nm -C --defined-only "$object" | awk '$2 ~ /^[WVu]$/' |
        grep -vE 'glint::(sse2|avx2|avx512|neon)::|DW\.ref' || true)
    [ -z "$leaks" ] && continue
    printf '%s defines functions that the linker may share:\n%s\n' "$object" "$leaks"
    bad=1
done
[ $bad = 0 ] && echo "isa: every function compiled per instruction set lives in its own namespace"
exit $bad
