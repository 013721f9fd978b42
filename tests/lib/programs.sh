# Sourced after common.sh and bazel.sh: which sbumpd and sbumpctl tests and measurements use.
# shellcheck shell=bash

# find_programs: exports SBUMPD and SBUMPCTL, as the caller named them, else built with -c opt.
find_programs() {
  if [[ -z ${SBUMPD:-} || -z ${SBUMPCTL:-} ]]; then
    step "Building sbumpd and sbumpctl"
    build_optimised
    stop_bazel
    SBUMPD=$OPT_BIN/daemon/sbumpd SBUMPCTL=$OPT_BIN/client/sbumpctl
  fi
  SBUMPD=$(realpath -e "$SBUMPD")
  SBUMPCTL=$(realpath -e "$SBUMPCTL")
  export SBUMPD SBUMPCTL
}
