#!/bin/bash
# run_test.sh TEST SBUMPD SBUMPCTL: Debian's Python on one of the tests here. py_test would want a
# `python` on PATH, which Debian does not have.
set -euo pipefail
SBUMPD=$(realpath "$2")
SBUMPCTL=$(realpath "$3")
export SBUMPD SBUMPCTL PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 "$1"
