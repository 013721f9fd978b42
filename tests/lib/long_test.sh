# Sourced after common.sh: what long tests with a program of their own have in common.
# shellcheck shell=bash
# shellcheck source=deploy/lib/bazel.sh
source "$REPO/deploy/lib/bazel.sh"
# shellcheck source=tests/lib/programs.sh
source "$REPO/tests/lib/programs.sh"
# shellcheck source=tests/lib/pythons.sh
source "$REPO/tests/lib/pythons.sh"

# long_test STEP SCRIPT ARGUMENTS...: the script by Debian's Python, with interpreters and programs found. The folder that
# find_pythons needs meanwhile is removed whatever happens.
long_test() {
  local name=$1 script=$2
  shift 2
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then print_help && exit 0; fi
  require_root "sbumpd places probes in another process"
  long_test_work=
  trap clean_up_long_test EXIT
  "$REPO/deploy/packages.sh" tests
  long_test_work=$(mktemp -d "${TMPDIR:-/tmp}/sbump-long-test.XXXXXX")
  find_pythons "$long_test_work"
  find_programs
  step "$name"
  PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$script" "$@"
}

clean_up_long_test() {
  if [[ -n $long_test_work ]]; then rm -rf -- "$long_test_work"; fi
  stop_bazel
}
