# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# How test/unit/sanitize and test/fuzz/run build; sourced, not run.

# update FILE TEXT: writes only what is new. So objects depend on the compiler's flags, and what is
# linked on the list of sources, also in a folder that another version of the tree has built.
update() { if cmp -s - "$1" <<<"$2"; then :; else echo "$2" >"$1"; fi; }

# make_sanitized ROOT BUILD KIND TARGET...: of test/sanitizers.mk. Who builds in the same folder waits.
# The compiler: libFuzzer is clang's. For threads it is gcc: with clang 14 random types of wide span
# found no address space, or took minutes each.
make_sanitized() {
    local root=$1 build=$2 kind=$3 compiler=clang++
    [[ $kind != thread ]] || compiler=g++
    mkdir -p "$build/objects"
    (
        flock 9
        update "$build/flags.mk" "root = $root
kind = $kind
CXX = ${CXX:-$compiler}"
        update "$build/sources" "$(find "$root/src" "$root/test" -name '*.cpp' | sort)"
        make --silent -C "$build" -f "$root/test/sanitizers.mk" -j2 "${@:4}"
    ) 9>"$build/lock"
}
