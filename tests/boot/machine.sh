#!/bin/bash
# Becomes a machine that runs the tests of guest/ and ends with their status.
#
#   machine.sh WORK [ARGUMENT]...
#
# For tests/boot/run, in a mount namespace and a cgroup of its own. WORK/shared is the machine's
# /var/lib/sbump-boot: the package is sbump.deb there, what the tests say goes to `log`. The arguments are
# those of guest/unit_test.py.
set -euo pipefail
# shellcheck source=deploy/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../deploy/lib/common.sh"

PLACE=/var/lib/sbump-boot

# An overlay in memory above this machine's root.
make_root() {
  local layers=$1
  mkdir -p "$layers"
  mount -t tmpfs -o mode=755 tmpfs "$layers"
  mkdir "$layers/upper" "$layers/work" "$layers/root"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$layers/upper,workdir=$layers/work" "$layers/root"
}

# Nothing that this machine's administrator enabled or mounts, and an identity of its own.
make_it_another_machine() {
  rm -rf "${1:?}/etc/systemd/system"
  mkdir -p "$1/etc/systemd/system"
  : >"$1/etc/fstab"
  rm -f "$1/etc/machine-id"
  systemd-id128 new >"$1/etc/machine-id"
}

add_tests() {
  local root=$1
  shift
  cat >"$root/etc/systemd/system/sbump-boot-test.service" <<UNIT
[Unit]
Description=tests of sbumpd.service
SuccessAction=exit
FailureAction=exit
[Service]
Type=oneshot
TimeoutStartSec=infinity
Environment=PYTHONPATH=$REPO/tests/e2e PYTHONDONTWRITEBYTECODE=1 SBUMP_PYTHONS=/usr/bin/python3
Environment=SBUMPD=/usr/sbin/sbumpd SBUMPCTL=/usr/bin/sbumpctl HOME=/root
StandardOutput=append:$PLACE/log
StandardError=inherit
ExecStartPre=/usr/bin/dpkg -i $PLACE/sbump.deb
ExecStart=/usr/bin/python3 $REPO/tests/boot/guest/unit_test.py $*
UNIT
}

work=$1
shift
root=$work/layers/root
make_root "$work/layers"
make_it_another_machine "$root"
add_tests "$root" "$@"
# Probes need bpf() and perf_event_open(), which systemd-nspawn denies, and all of root's rights.
exec systemd-nspawn --quiet --register=no --keep-unit --link-journal=no --console=pipe --private-network \
  --capability=all --system-call-filter=bpf --system-call-filter=perf_event_open \
  --system-call-filter=process_vm_readv --system-call-filter=process_vm_writev \
  --bind-ro="$REPO" --bind="$work/shared:$PLACE" --directory="$root" \
  --boot systemd.unit=sbump-boot-test.service
