#!/bin/bash
# Interpreters that the mirror does not give: each is said, with the reason, and the others are used.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# provided HOME: prints what is skipped.
provided() {
  SBUMP_TEST_ROOTS=$1 SBUMP_DEBIAN_MIRROR=file:$work/no-mirror "$here/debian_roots.sh" "$work/list"
}

skipped=$(provided "$work/roots")
for version in 3.9 3.13 3.14 3.15; do
  grep -qE "^skipped CPython $version of Debian \\([a-z ]+\\): E: .*no-mirror" <<<"$skipped" || {
    echo "nothing is said of $version, or not why: $skipped"
    exit 1
  }
done
[[ $(wc -l <<<"$skipped") == 4 && ! -s $work/list ]] || {
  echo "what else is said or provided: $skipped; $(cat "$work/list")"
  exit 1
}
[[ -z $(find "$work/roots" -name '*.python*' -o -mindepth 1 -type d) ]] || {
  echo "left behind: $(ls "$work/roots")"
  exit 1
}
