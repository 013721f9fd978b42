#!/bin/bash
# Installs the Debian packages that sbump needs, and only those that are missing.
#
#   deploy/packages.sh [--list] GROUP...
#
# Groups: build (sbumpd and sbumpctl), tests (what tests/run adds), deb (what deploy/build-deb adds),
# kernels (what tests/kernels/run adds).
# --list prints the names and installs nothing. Needs root only where something is missing. Run again,
# it does nothing and takes under a second.
set -euo pipefail
# shellcheck source=deploy/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

BUILD=(
  # Bazel and its rules
  bazel-bootstrap bazel-rules-java bazel-rules-proto bazel-skylib bazel-platforms
  # compiler and linker; g++ for its library, llvm-strip for the BPF programs, bpftool for their skeletons
  clang-14 lld-14 g++ llvm-14 bpftool
  # libraries: why each is here is in docs/dependencies.md
  libabsl-dev libboost1.81-dev libbpf-dev libcli11-dev libcurl4-openssl-dev libelf-dev libfmt-dev libgrpc++-dev
  libiberty-dev libprotobuf-dev libre2-dev libspdlog-dev libssl-dev libsystemd-dev libyaml-cpp-dev libzydis-dev
  prometheus-cpp-dev zlib1g-dev
  protobuf-compiler protobuf-compiler-grpc
  # the demo program, and small checks in scripts
  python3
)
TESTS=(
  libgtest-dev libgmock-dev libclang-rt-14-dev
  clang-format-14 curl shellcheck groff-base iproute2 logrotate man-db openssl procps prometheus runc strace
  systemd systemd-container util-linux
  # a GPU's runtime to slow (no GPU needed)
  libamdhip64-5
  # a real model to look into, and threads of Python's that take turns on a stack
  python3-torch python3-greenlet
  # a service's counters, as Prometheus's own library serves them
  python3-prometheus-client
  # draws the graph of a model; runs Chrome's reader of traces; opens the report of a run; opens a run as Coz's profile
  graphviz nodejs chromium-headless-shell coz-profiler
  # the interpreters of other Debian suites
  debian-archive-keyring mmdebstrap
)
DEB=(dpkg-dev)
KERNELS=(qemu-system-x86 seabios busybox-static cpio binutils python3.11)

packages_of() {
  case $1 in
    build) printf '%s\n' "${BUILD[@]}" ;;
    tests) printf '%s\n' "${BUILD[@]}" "${DEB[@]}" "${TESTS[@]}" ;;
    deb) printf '%s\n' "${BUILD[@]}" "${DEB[@]}" ;;
    kernels) printf '%s\n' "${KERNELS[@]}" ;;
    *) usage_error "no such group: $1 (build, tests, deb, kernels)" ;;
  esac
}

is_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

apt_get() {
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=2 -qq -o Dpkg::Use-Pty=0 "$@"
}

# Lists on this machine know each package.
lists_know() {
  local name
  for name in "$@"; do
    apt-cache show --no-all-versions "$name" >/dev/null 2>&1 || return 1
  done
}

no_network() {
  die "could not install: ${missing[*]}" \
    "apt-get's own message is above. Without a network or a Debian mirror, install them by hand and run" \
    "this again. sbump builds on Debian 12 (bookworm)."
}

install_missing() {
  if ! lists_know "${missing[@]}"; then
    note "apt-get update"
    apt_get update || no_network
  fi
  note "apt-get install ${missing[*]}"
  # Lists that are old name files that the mirror no longer has: fetch them anew and try once more.
  apt_get install -y --no-install-recommends "${missing[@]}" ||
    { apt_get update && apt_get install -y --no-install-recommends "${missing[@]}"; } || no_network
}

list=no
groups=()
for argument in "$@"; do
  case $argument in
    -h | --help) print_help && exit 0 ;;
    --list) list=yes ;;
    -*) usage_error "no such option: $argument" ;;
    *) groups+=("$argument") ;;
  esac
done
((${#groups[@]} > 0)) || usage_error "which group? build, tests, deb or kernels"

names=()
for group in "${groups[@]}"; do
  names_of_group=$(packages_of "$group")
  mapfile -t -O "${#names[@]}" names <<<"$names_of_group"
done
mapfile -t names < <(printf '%s\n' "${names[@]}" | awk '!seen[$0]++')

if [[ $list == yes ]]; then
  printf '%s\n' "${names[@]}"
  exit 0
fi

command -v dpkg-query >/dev/null || die "no dpkg-query: this is not Debian; see docs/dependencies.md"
missing=()
for name in "${names[@]}"; do
  is_installed "$name" || missing+=("$name")
done

step "Debian packages: ${#missing[@]} of ${#names[@]} missing"
if ((${#missing[@]} > 0)); then
  [[ $(id -u) == 0 ]] || die "needs root to install: ${missing[*]}" \
    "Run: sudo apt-get install -y --no-install-recommends ${missing[*]}"
  install_missing
fi
step_done "done"
