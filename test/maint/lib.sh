# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of maint's scripts have in common; sourced, not run.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
passed=0
failed=0
skipped=0

# expect WHAT STATUS PATTERN COMMAND...: the exit status, and a line of what is printed (extended regular expression;
# empty where nothing has to be).
expect() {
    local what=$1 status=$2 pattern=$3 got=0
    shift 3
    "$@" </dev/null >"$WORK/out" 2>&1 || got=$?
    if ((got == status)) && { [[ ! $pattern ]] || grep -Eq -- "$pattern" "$WORK/out"; }; then
        passed=$((passed + 1))
        echo "ok      $what"
        return
    fi
    failed=$((failed + 1))
    echo "FAILED  $what: status $got ($status expected), no line like \"$pattern\":"
    sed 's/^/        /' "$WORK/out"
}

# lacks WHAT PATTERN: no line of what was printed last is like this.
lacks() {
    if ! grep -Eq -- "$2" "$WORK/out"; then
        passed=$((passed + 1))
        echo "ok      $1"
        return
    fi
    failed=$((failed + 1))
    echo "FAILED  $1: there is a line like \"$2\":"
    sed 's/^/        /' "$WORK/out"
}

# skip WHAT WHY
skip() {
    skipped=$((skipped + 1))
    echo "skipped $1: $2"
}

close() {
    echo "$passed passed, $failed failed, $skipped skipped"
    ((failed == 0))
}
