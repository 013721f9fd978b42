# Sourced by the scripts of this repository: a known environment, progress lines, errors.
# shellcheck shell=bash

# Nothing of the caller's environment decides what is built: version-manager shims least of all.
CALLER_PATH=${PATH:-}
export PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C.UTF-8
unset CDPATH GREP_OPTIONS POSIXLY_CORRECT TEST_TMPDIR
USER=${USER:-$(id -un)}
HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
HOME=${HOME:-/tmp}
export USER HOME CALLER_PATH

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
export REPO
SCRIPT_NAME=${0##*/}
SCRIPT_START=$SECONDS
STEP_START=$SECONDS

# What follows is about one step: "[ 12s] Building".
step() {
  STEP_START=$SECONDS
  printf '[%3ds] %s\n' "$((SECONDS - SCRIPT_START))" "$*"
}

# How the step ended, and its own time.
step_done() { printf '       %s (%d s)\n' "$*" "$((SECONDS - STEP_START))"; }

note() { printf '       %s\n' "$*"; }

# die [-c CODE] MESSAGE...: to standard error, one line each.
die() {
  local code=1
  if [[ ${1:-} == -c ]]; then
    code=$2
    shift 2
  fi
  printf '%s: %s\n' "$SCRIPT_NAME" "$1" >&2
  shift
  (($# == 0)) || printf '  %s\n' "$@" >&2
  exit "$code"
}

# usage_error MESSAGE...: as die, with the code that sbumpctl has for bad arguments.
usage_error() { die -c 2 "$@" "Try '$SCRIPT_NAME --help'."; }

# The comment at the head of the running script, as its help.
print_help() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

require_root() {
  [[ $(id -u) == 0 ]] || die "needs root: $1" "Run it with sudo, or as root."
}

# stop_process PID SECONDS: SIGTERM, then SIGKILL after so long. For children of this shell.
stop_process() {
  local pid=$1 deadline=$((SECONDS + $2))
  kill -TERM "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null && ((SECONDS < deadline)); do
    # A zombie is gone: only its parent, this shell, still sees it.
    [[ $(awk '{print $3}' "/proc/$pid/stat" 2>/dev/null) != Z ]] || break
    sleep 0.1
  done
  if ((SECONDS >= deadline)); then kill -KILL "$pid" 2>/dev/null || true; fi
  wait "$pid" 2>/dev/null
}
