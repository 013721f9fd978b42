# Sourced after bazel.sh: the flags of the build with sanitizers.
# shellcheck shell=bash

# sanitized_flags OUTPUT_BASE: sets SANITIZED; without what follows, and 1, where that cannot be built. The headers of
# libraries, which take most of a compiler's time, are read once for all sources (//deploy/bazel/pch). A header that a
# source forgets to include is found by the builds without that: tests/sanitizers/run, and for the programs the
# optimised one.
sanitized_flags() {
  local built kept=$1/sbump-libraries.pch stamp=$1/sbump-libraries.versions
  SANITIZED=(--config=asan)
  # Bazel does not look into the system's headers, nor does clang compare them with what it has read of them before.
  if [[ -f $stamp && $(<"$stamp") != "$(versions_of_headers)" ]]; then run_bazel "$1" clean || return 1; fi
  run_bazel "$1" build "${SANITIZED[@]}" //deploy/bazel/pch:libraries || return 1
  built=$(run_bazel "$1" info "${SANITIZED[@]}" bazel-bin 2>/dev/null)/deploy/bazel/pch/libraries.pch
  cmp -s "$built" "$kept" || cp -f -- "$built" "$kept" || return 1
  versions_of_headers >"$stamp"
  # Some rooms have -O1 or no counters for fuzzing, which these headers do not ask for.
  SANITIZED+=(--cxxopt=-include-pch "--cxxopt=$kept" --cxxopt=-Xclang --cxxopt=-fno-validate-pch)
}

versions_of_headers() {
  dpkg-query -W clang-14 libc6-dev 'libstdc++-*-dev' libabsl-dev libprotobuf-dev 'libgrpc++-dev' libgtest-dev libgmock-dev
}
