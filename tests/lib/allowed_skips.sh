# Sourced by tests/run: what CI may skip. Anything else that is skipped there is something that is no longer tested.
# shellcheck shell=bash

# Globs over `STAGE: WHAT: WHY`, as tests/run prints it after `skipped: `.
ALLOWED_SKIPS=(
  # No Debian package has a CPython without a GIL: tests/free_threaded/run builds one.
  'e2e: //tests/e2e:free_threaded_test FreeThreadedTest.*: no interpreter that this is about was found'
  # Debian 12's torch is 1.13: tests/torch/run has later ones.
  'e2e: //tests/e2e:torch_test RealTorchTest.test_a_compiled_model_is_*: this torch has no torch.compile'
)

# is_allowed_skip TEXT
is_allowed_skip() {
  local pattern
  for pattern in "${ALLOWED_SKIPS[@]}"; do
    # shellcheck disable=SC2053  # a glob
    if [[ $1 == $pattern ]]; then return; fi
  done
  return 1
}

# fail_other_skips: takes them out of `skipped`, and adds them to `failed`.
fail_other_skips() {
  local text
  local -a allowed=()
  for text in "${skipped[@]}"; do
    if is_allowed_skip "$text"; then
      allowed+=("$text")
    else
      failed+=("$text (skipped: with CI=true only what tests/lib/allowed_skips.sh names may be)")
    fi
  done
  skipped=("${allowed[@]}")
}
