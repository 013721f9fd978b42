#!/bin/bash
# Makes small roots with the interpreters of other Debian suites, and a launcher for each.
#
#   tests/lib/debian_roots.sh LIST [--torch]
#
# Writes the launchers to the file LIST, one a line. A launcher is called like the interpreter: it runs it in
# a mount namespace and a root of its own, in which the rest of the machine's files are where they are
# outside. What cannot be made (no mirror, no rights) is left out, and a line `skipped WHAT: WHY` says so.
# --torch: instead roots with PyTorch, too, where the suite has it: 1 GB each.
#
# Roots are kept in $SBUMP_TEST_ROOTS (~/.cache/sbump-test-roots); remove a folder there to have it made anew.
set -euo pipefail
# shellcheck source=deploy/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../deploy/lib/common.sh"
# shellcheck source=tests/lib/mirror.sh
source "$REPO/tests/lib/mirror.sh"

# Python, and the suites that may have it, best first: sid and forky move on.
WANTED=("3.9 bullseye" "3.13 trixie" "3.14 sid forky" "3.15 sid forky")
WANTED_WITH_TORCH=("3.13 trixie" "3.14 sid forky")
# Where Debian's alternatives would lead, in a root in which no package was configured.
LIBRARIES=/usr/lib/x86_64-linux-gnu/blas:/usr/lib/x86_64-linux-gnu/lapack
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
ROOTS=${SBUMP_TEST_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/sbump-test-roots}

# make_root VERSION SUITE DIR: only what the interpreter itself needs, and the shared library of the same version.
make_root() {
  local version=$1 suite=$2 dir=$3
  local -a usr_merge=(--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr)
  [[ $suite != bullseye ]] || usr_merge=()
  timeout 900 mmdebstrap --variant=extract "${usr_merge[@]}" --keyring="$KEYRING" \
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Languages "none"' \
    --aptopt='Acquire::Retries "3"' --aptopt='APT::Install-Recommends "false"' \
    --include="python$version-minimal,libpython$version,libpython$version-stdlib${with_torch:+,python3-torch}" \
    "$suite" "$dir" "deb $(mirror) $suite main"
}

# runs VERSION DIR. Roots that were made before they had the library are made anew.
runs() {
  local ask="print(6 * 7)"
  [[ -z $with_torch ]] || ask="import torch; $ask"
  [[ $(LD_LIBRARY_PATH=$LIBRARIES chroot "$2" "/usr/bin/python$1" -c "$ask" 2>/dev/null | tail -n 1) == 42 ]] &&
    compgen -G "$2/usr/lib/*/libpython$1.so.1.0" >/dev/null
}

# put_launcher VERSION DIR FILE. SBUMP_TEST_ROOT tells the tests where the interpreter's files are.
put_launcher() {
  cat >"$3" <<LAUNCHER
#!/bin/bash
export SBUMP_TEST_ROOT=$2 ${with_torch:+LD_LIBRARY_PATH=$LIBRARIES}
exec unshare --mount --propagation private /bin/bash -c '
  for dir in /*; do
    case \$dir in /bin | /etc | /lib* | /sbin | /usr | /var) continue ;; esac
    [[ -d \$dir && ! -L \$dir ]] || continue
    mkdir -p "\$SBUMP_TEST_ROOT\$dir"
    mount --rbind "\$dir" "\$SBUMP_TEST_ROOT\$dir"
  done
  exec unshare --root="\$SBUMP_TEST_ROOT" --wd="\$PWD" /usr/bin/python$1 "\$@"' python$1 "\$@"
LAUNCHER
  chmod 755 "$3"
}

# provide VERSION SUITE...: prints the launcher's path, or fails with the reason on standard error.
provide() {
  local version=$1 suite dir log
  shift
  for suite in "$@"; do
    dir=$ROOTS/$suite-$version${with_torch:+-torch}
    log=$dir.log
    # A root that was left half made has no launcher.
    if [[ ! -x $dir.python$version ]] || ! runs "$version" "$dir"; then
      rm -rf "$dir" "$dir.python$version"
      make_root "$version" "$suite" "$dir" >"$log" 2>&1 || { rm -rf "$dir" && continue; }
      runs "$version" "$dir" || continue
      put_launcher "$version" "$dir" "$dir.python$version"
    fi
    echo "$dir.python$version"
    return
  done
  { grep -m 1 '^E:' "$log" 2>/dev/null || tail -n 1 "$log" 2>/dev/null || echo "it does not run"; } >&2
  return 1
}

list=${1:?usage: debian_roots.sh LIST [--torch]}
with_torch=
if [[ ${2:-} == --torch ]]; then
  with_torch=yes
  WANTED=("${WANTED_WITH_TORCH[@]}")
fi
: >"$list"
if [[ $(id -u) != 0 ]]; then
  echo "skipped interpreters of other Debian suites: a root of their own needs root's rights"
  exit 0
fi
mkdir -p "$ROOTS"
for entry in "${WANTED[@]}"; do
  read -r version suites <<<"$entry"
  # shellcheck disable=SC2086  # several suites
  if why=$({ provide "$version" $suites >>"$list"; } 2>&1); then continue; fi
  echo "skipped CPython $version of Debian ($suites): $why"
done
