#!/bin/sh
# Runs a test that is in Python: python.sh TEST.py [argument...]
set -eu
exec /usr/bin/python3 "$@"
