#!/bin/bash
# short_test.sh TEST SBUMPD SBUMPCTL: the short form. The long one: ./tests/known_answer/run
set -euo pipefail
SBUMPD=$(realpath "$2")
SBUMPCTL=$(realpath "$3")
export SBUMPD SBUMPCTL PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 "$1"
