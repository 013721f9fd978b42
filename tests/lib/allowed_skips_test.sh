#!/bin/bash
# Which skips fail in CI.
set -euo pipefail
# shellcheck source=tests/lib/allowed_skips.sh
source "$(dirname "${BASH_SOURCE[0]}")/allowed_skips.sh"

FREE_THREADED='e2e: //tests/e2e:free_threaded_test FreeThreadedTest.test_the_build_is_shown'
NO_INTERPRETER='no interpreter that this is about was found'
OTHERS=(
  "$FREE_THREADED: something else"
  "e2e: //tests/e2e:embedding_test EmbeddingTest.test_a_library: $NO_INTERPRETER"
  'e2e: //tests/e2e:containers_test RuncTest.test_one: runc is not installed'
  'e2e: the whole stage: needs root'
  'deploy: the unit in a booted machine: no machine could be booted here: Operation not permitted'
  'interpreters: CPython 3.14 of Debian (sid forky): it does not run'
)

# expect WHAT SKIPPED FAILED: how many of each are left of the texts in `skipped`.
expect() {
  fail_other_skips
  ((${#skipped[@]} == $2 && ${#failed[@]} == $3)) || {
    echo "$1: ${#skipped[@]} skipped (${skipped[*]}), ${#failed[@]} failed (${failed[*]})"
    exit 1
  }
}

skipped=() failed=()
expect "nothing was skipped" 0 0
skipped=("$FREE_THREADED: $NO_INTERPRETER") failed=("unit: a test")
expect "what may be skipped" 1 1
for text in "${OTHERS[@]}"; do
  skipped=("$FREE_THREADED: $NO_INTERPRETER" "$text") failed=()
  expect "$text" 1 1
  [[ ${failed[0]} == "$text "*allowed_skips.sh* ]] || { echo "not named: ${failed[0]}" && exit 1; }
done
