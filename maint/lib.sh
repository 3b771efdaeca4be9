# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shell functions shared by maint/demo, maint/check and maint/compare-stock; sourced, not run.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/_build
PREFIX=$TOP/_install
JOBS=$(nproc)
CONFIGURE_ARGS=()
DRY_RUN=
STEP=0
STEPS=0

die() { echo "${0##*/}: $*" >&2; exit 1; }

# "[2/6] building ... (0:41)", the time being that since the command began.
step() {
    STEP=$((STEP + 1))
    printf '[%d/%d] %s (%d:%02d)\n' "$STEP" "$STEPS" "$*" $((SECONDS / 60)) $((SECONDS % 60))
}

# dry COMMAND...: with --dry-run prints a command in place of running it, and is true.
dry() {
    local line=${*//$TOP\//}
    [[ $DRY_RUN ]] || return 1
    ((${#line} <= 200)) || line="${line:0:180}... ($# words)"
    echo "        $line"
}

# A step that makes a known number of things: how many, of what, and what counts those that are made.
OF=0
THINGS=
counted() { :; }
# progress LOG: how far a step is: "412 of 1120 files", or the last line of its log.
progress() {
    if ((OF)); then
        echo "$(counted) of some $OF $THINGS"
    else
        tail -n 1 "$1" | cut -c 1-90
    fi
}

# logged NAME COMMAND...: output to _build/NAME.log; its progress each half minute; its tail on failure.
logged() {
    local log=$BUILD/$1.log status=0 waited=0 pid
    shift
    dry "$@" && return
    mkdir -p "$BUILD"
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.2
        waited=$((waited + 1))
        if ((waited % 150 == 0)); then
            printf '      %d s: %s\n' $((waited / 5)) "$(progress "$log")"
        fi
    done
    wait "$pid" || status=$?
    if ((status)); then
        echo "--- the end of $log ---" >&2
        tail -n 25 "$log" >&2
        die "'$*' failed (exit $status); all of its output is in $log"
    fi
}

# True where $1 is missing or older than one of the other files.
older() {
    local target=$1 file
    shift
    [[ -e $target ]] || return 0
    for file in "$@"; do
        [[ $file -nt $target ]] && return 0
    done
    return 1
}

needs_configure() {
    # A library that the tests need may have come only after the last configure.
    [[ $1 == check ]] && ! grep -q '^MISSING_FOR_CHECK = *$' "$BUILD/Makefile" 2>/dev/null && return 0
    [[ ! -f $BUILD/config.status || ! -f $BUILD/Makefile ]] || older "$BUILD/configure-args" "$TOP/configure" \
        || [[ $(configure_line) != "$(cat "$BUILD/configure-args")" ]]
}

configure_line() { printf '%s ' "$TOP/configure" "--prefix=$PREFIX" "${CONFIGURE_ARGS[@]}"; }

run_configure() {
    (cd "$BUILD" && "$TOP/configure" "--prefix=$PREFIX" "${CONFIGURE_ARGS[@]}") &&
        configure_line >"$BUILD/configure-args"
}

# need_tools KIND: of maint/install-deps.
need_tools() { dry maint/install-deps "$1" || "$TOP/maint/install-deps" "$1"; }

# Three steps: tools, autogen, configure. Each does only what is out of date.
# shellcheck disable=SC2034  # maint/check and maint/demo count with both numbers
CONFIGURE_STEPS=3 BUILD_STEPS=8
configure_tree() {
    step "tools and libraries"
    need_tools "$1"

    step "autogen.sh"
    if older "$TOP/configure" "$TOP/configure.ac" "$TOP/Makefile.am" "$TOP/autogen.sh"; then
        logged autogen env -C "$TOP" ./autogen.sh
    fi

    step "configure, in _build"
    if needs_configure "$1"; then
        logged configure run_configure
    fi
}

make_in_build() { logged "$1" make -C "$BUILD" "-j$JOBS" "${@:2}"; }

# Five more. The numbers are those of a whole build for host memory; where little is left to do, the log's last line
# tells more.
# shellcheck disable=SC2317  # logged calls counted
build_and_install() {
    configure_tree "$1"

    step "libheddle and its tools"
    make_in_build engine heddle

    step "MPICH's source, with Heddle's changes"
    make_in_build fork mpich-fork

    step "MPICH's configure"
    OF=1830 THINGS=lines
    counted() { local n; n=$(grep -c '' "$BUILD/mpich/heddle-configure.log" 2>/dev/null) || true; echo "${n:-0}"; }
    make_in_build mpich-configure mpich-configure
    OF=0

    step "MPICH, with $JOBS compilers at a time"
    counted() { find "$BUILD/mpich" -name '*.lo' 2>/dev/null | wc -l; }
    (($(counted) > 1000)) || OF=1110 THINGS=files
    make_in_build make
    OF=0

    step "make install, into $PREFIX"
    # A header that stays as it is keeps its date: otherwise all tests of MPICH's suite would be compiled again.
    logged install make -C "$BUILD" install INSTALL="$(command -v install) -C"
}

# An example that includes mpi.h is compiled by the installed mpicc and run on 4 processes, another one by cc
# and pkg-config, against the engine alone.
build_example() {
    local source=$TOP/examples/$1.c program=$BUILD/examples/$1
    [[ -f $source ]] || die "there is no $source"
    mkdir -p "$BUILD/examples"
    if grep -q '<mpi\.h>' "$source"; then
        logged "example-$1" "$PREFIX/bin/mpicc" -O2 -Wall -Wextra -o "$program" "$source" -lm
    else
        # shellcheck disable=SC2046  # pkg-config's words are separate arguments
        logged "example-$1" cc -O2 -Wall -Wextra -o "$program" "$source" \
            $(PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig pkg-config --cflags --libs heddle) "-Wl,-rpath,$PREFIX/lib"
    fi
}

run_example() {
    if grep -q '<mpi\.h>' "$TOP/examples/$1.c"; then
        "$PREFIX/bin/mpiexec" -n 4 "$BUILD/examples/$1" </dev/null
    else
        "$BUILD/examples/$1" </dev/null
    fi
}
