#!/bin/bash
# chaos_test.sh CHAOS SBUMPD SBUMPCTL: the short form. The long one: ./tests/chaos/run
set -euo pipefail
SBUMPD=$(realpath "$2")
SBUMPCTL=$(realpath "$3")
export SBUMPD SBUMPCTL PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 "$1" --minutes 2.5 --kill-points 16 --at-least 4
