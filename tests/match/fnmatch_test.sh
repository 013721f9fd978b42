#!/bin/sh
# Runs the comparison with the system's Python: fnmatch_test.sh SCRIPT ANSWERS [option...]
set -eu
exec /usr/bin/python3 -W ignore "$@"
