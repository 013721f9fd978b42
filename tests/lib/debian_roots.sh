#!/bin/bash
# Makes small roots with the interpreters of other Debian suites, and a launcher for each.
#
#   tests/lib/debian_roots.sh LIST [--torch]
#
# Writes the launchers to the file LIST, one a line. A launcher is called like the interpreter: it runs it in
# a mount namespace and a root of its own, in which the rest of the machine's files are where they are
# outside. What cannot be made (no mirror, no rights) is left out, and a line `skipped WHAT: WHY` says so.
# --torch: instead roots with PyTorch and greenlet, too, where the suite has them, and with what torch.compile generates code
# with: 1.5 GB each.
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
TORCH=python3-torch,python3-greenlet,python3-setuptools,libtorch-dev,g++
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
    --include="python$version-minimal,libpython$version,libpython$version-stdlib${with_torch:+,$TORCH,libpython$version-dev}" \
    "$suite" "$dir" "deb $(mirror) $suite main"
}

# runs VERSION DIR. Roots that were made before they had the library, or all of TORCH, are made anew.
runs() {
  local ask="print(6 * 7)"
  [[ -z $with_torch ]] || ask="import greenlet, shutil, setuptools.command.build_ext, torch; assert shutil.which('g++'); $ask"
  [[ $(LD_LIBRARY_PATH=$LIBRARIES chroot "$2" "/usr/bin/python$1" -c "$ask" 2>/dev/null | tail -n 1) == 42 ]] &&
    compgen -G "$2/usr/lib/*/libpython$1.so.1.0" >/dev/null
}

# put_launcher VERSION DIR FILE. SBUMP_TEST_ROOT tells the tests where the interpreter's files are. The directories
# that the machine has now are bound there, those that can be, by one program: one for each took seven times as long as
# Python's own start. (Upper case: of x-mount.mkdir mount keeps a record for each start. By their paths: the shell of
# tests/kernels is busybox, which has a mount and an unshare of its own.)
put_launcher() {
  local version=$1 root=$2 file=$3 dir new=.new.$BASHPID
  for dir in /*; do
    case $dir in /bin | /etc | /lib* | /sbin | /usr | /var | *[[:space:]]*) continue ;; esac
    [[ -d $dir && ! -L $dir ]] || continue
    printf '%s %s none rbind,nofail,X-mount.mkdir\n' "$dir" "${root// /\\040}$dir" || return
  done >"$root.fstab$new" || return
  cat >"$file$new" <<LAUNCHER || return
#!/bin/sh
export SBUMP_TEST_ROOT=$(printf %q "$root") ${with_torch:+LD_LIBRARY_PATH=$LIBRARIES}
exec /usr/bin/unshare --mount --propagation private /bin/sh -c '
  /usr/bin/mount --all --fstab "\$SBUMP_TEST_ROOT.fstab"
  exec /usr/bin/unshare --root="\$SBUMP_TEST_ROOT" --wd="\$PWD" /usr/bin/python$version "\$@"' python$version "\$@"
LAUNCHER
  chmod 755 "$file$new" && mv "$root.fstab$new" "$root.fstab" && mv "$file$new" "$file"
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
    fi
    put_launcher "$version" "$dir" "$dir.python$version" || return
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
