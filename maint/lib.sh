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

# How far a step is, in hundredths. Who starts a long step says so by fraction; once FRACTION is empty, nobody knows.
FRACTION=
fraction() { :; }
# part N WHOLE: at most 99 hundredths, for WHOLE is what it came to once.
part() { echo $(($1 >= $2 ? 99 : 100 * $1 / $2)); }
# progress LOG: "41 %", or how many files were compiled so far.
progress() {
    if [[ $FRACTION ]]; then
        echo "$(fraction) %"
    else
        echo "$(grep -cE '^ +(CC|CXX|FC|F77|PPFC|NVCC) ' "$1" || true) files compiled"
    fi
}

# What this shell has begun and not waited for yet. It ends with this shell.
declare -A RUNNING=()
# launch COMMAND...: goes on beside this shell; PROCESS is its number.
launch() {
    set -m # otherwise it would ignore SIGINT
    "$@" </dev/null &
    set +m
    PROCESS=$!
    RUNNING[$PROCESS]=$SECONDS
}
# await PROCESS: its status. It is ended after LIMIT seconds (124), for nothing that is right takes so long.
LIMIT=3000
await() {
    local status=0
    while kill -0 "$1" 2>/dev/null; do
        if ((SECONDS - RUNNING[$1] > LIMIT)); then
            echo "      ended, for it took over $LIMIT s"
            end_trees "$1"
            status=124
        fi
        sleep 0.1
    done
    wait "$1" || status=$((status ? status : $?))
    unset "RUNNING[$1]"
    return $status
}
# tree_of PROCESS: it, and all that it has begun.
tree_of() {
    local child children=()
    echo "$1"
    read -ra children < <(cat "/proc/$1/task/"*/children 2>/dev/null | tr '\n' ' ') || true
    for child in "${children[@]}"; do tree_of "$child"; done
}
# end_trees PROCESS...: they have five seconds to put away what they have made.
end_trees() {
    local process all=() i
    for process; do mapfile -t -O "${#all[@]}" all < <(tree_of "$process"); done
    ((${#all[@]})) || return 0
    kill -TERM "${all[@]}" 2>/dev/null || true
    for ((i = 0; i < 50; ++i)); do
        kill -0 "${all[@]}" 2>/dev/null || break # none is left
        sleep 0.1
    done
    kill -KILL "${all[@]}" 2>/dev/null || true
}
end_running() { end_trees "${!RUNNING[@]}"; }
trap end_running EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# logged NAME COMMAND...: output to _build/NAME.log; its progress every 20 seconds; its tail on failure.
logged() {
    local log=$BUILD/$1.log status=0 waited=0
    shift
    dry "$@" && return
    mkdir -p "$BUILD"
    launch "$@" >"$log" 2>&1
    while kill -0 "$PROCESS" 2>/dev/null; do
        sleep 0.2
        waited=$((waited + 1))
        if ((waited % 100 == 0)); then
            printf '      %d s: %s\n' $((waited / 5)) "$(progress "$log")"
        fi
    done
    await "$PROCESS" || status=$?
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
CONFIGURE_STEPS=3 BUILD_STEPS=6
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

# long_step NAME: the step's fraction is what NAME prints, unless nearly all was there before.
long_step() {
    eval "fraction() { $1; }"
    FRACTION=1
    (($(fraction) < 90)) || FRACTION=
}
lines_of() { cat "$@" 2>/dev/null | grep -c '' || true; }
objects_in() { find "$@" -name '*.lo' -print 2>/dev/null | wc -l; }

# The whole numbers are those of a build for host memory. Of two that go on side by side, the slower one counts.
# shellcheck disable=SC2317  # long_step calls them
of_engine_and_configure() {
    local engine chain
    engine=$(part "$(objects_in "$BUILD"/{src,tools} -maxdepth 6)" 96)
    chain=$(part "$(lines_of "$BUILD"/mpich-src/heddle-autogen.log "$BUILD"/mpich/heddle-configure.log)" 2680)
    echo $((engine < chain ? engine : chain))
}
# shellcheck disable=SC2317
of_mpich() { part "$(objects_in "$BUILD/mpich")" 1114; }
# shellcheck disable=SC2317
of_install() { part "$(find "$PREFIX" ! -type d 2>/dev/null | wc -l)" 770; }

# Three more.
build_and_install() {
    configure_tree "$1"

    step "libheddle, and beside it MPICH's source with Heddle's changes and its configure"
    long_step of_engine_and_configure
    make_in_build engine heddle mpich-configure

    step "MPICH, with $JOBS compilers at a time"
    long_step of_mpich
    make_in_build make

    step "make install, into $PREFIX"
    long_step of_install
    # A header that stays as it is keeps its date: otherwise all tests of MPICH's suite would be compiled again.
    logged install make -C "$BUILD" install INSTALL="$(command -v install) -C"
    FRACTION=
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
