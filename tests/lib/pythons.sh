# Sourced after common.sh: which interpreters tests and measurements use.
# shellcheck shell=bash

# find_pythons WORK: exports SBUMP_PYTHONS and prints what is in it: what the caller has there, else what this machine
# has and the roots of other Debian suites, which are made where they are missing; without what does not run.
# WORK/no-pythons: what could not be had, one `skipped WHAT: WHY` a line. Fails where CI=true and the matrix is not whole.
find_pythons() {
  local work=$1
  step "Interpreters"
  : >"$work/roots"
  : >"$work/no-pythons"
  if [[ -z ${SBUMP_PYTHONS:-} ]]; then
    "$REPO/tests/lib/debian_roots.sh" "$work/roots" >"$work/no-pythons" || return
    sed 's/^/       /' "$work/no-pythons"
  fi
  /usr/bin/python3 "$REPO/tests/lib/interpreters.py" --output "$work/pythons" --also "$work/roots" || return
  SBUMP_PYTHONS=$(cat "$work/pythons")
  SBUMP_PYTHONS_FACTS=$(cat "$work/pythons.facts")
  export SBUMP_PYTHONS SBUMP_PYTHONS_FACTS
}
