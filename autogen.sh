#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes ./configure. Run once in a clone; after that, make reruns what is needed by itself.
set -eu

if [ $# -gt 0 ]; then
    echo "usage: ./autogen.sh    (makes ./configure; takes no options)"
    [ "$1" = --help ] || exit 2
    exit 0
fi

cd "$(dirname "$0")"
missing=
for tool in autoreconf:autoconf automake:automake libtoolize:libtool pkg-config:pkg-config; do
    command -v "${tool%:*}" >/dev/null || missing="$missing ${tool#*:}"
done
if [ -n "$missing" ]; then
    echo "autogen.sh: missing tools; on Debian: apt-get install$missing" >&2
    exit 1
fi
mkdir -p m4
autoreconf --install --force --warnings=all
echo "autogen.sh: done; now ./configure --prefix=PREFIX && make && make install"
