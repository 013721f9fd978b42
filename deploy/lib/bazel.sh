# Sourced after common.sh: Bazel, without leaving a server behind that was not there before.
# shellcheck shell=bash

# Servers that this script started: their output bases.
BAZEL_STARTED=()
# Output bases whose toolchain this script has had looked at.
declare -A BAZEL_CONFIGURED=()

# The directory that Bazel uses for this checkout; asking Bazel itself would start a server.
default_output_base() {
  local cache=${XDG_CACHE_HOME:-$HOME/.cache}
  printf '%s/bazel/_bazel_%s/%s' "$cache" "$USER" "$(printf %s "$REPO" | md5sum | cut -d' ' -f1)"
}

# True where a server runs for this output base.
bazel_server_runs() {
  local pid
  pid=$(cat "$1/server/server.pid.txt" 2>/dev/null) || return 1
  [[ -n $pid ]] && tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qxF -e "--output_base=$1"
}

# run_bazel OUTPUT_BASE COMMAND ARGS...: in the checkout, with no symlinks laid there.
run_bazel() {
  local base=$1 command=$2
  shift 2
  if ! bazel_server_runs "$base"; then BAZEL_STARTED+=("$base"); fi
  if [[ -z ${BAZEL_CONFIGURED[$base]:-} ]]; then configure_toolchain "$base"; fi
  (cd "$REPO" && timeout --foreground -k 60 4200 bazel --output_base="$base" "$command" --symlink_prefix=/ "$@")
}

# Bazel lists the compiler's headers once for each output base, and layering_check refuses one that a package
# has brought since. A second where nothing changed; what was built is kept.
configure_toolchain() {
  local log
  log=$(cd "$REPO" && timeout --foreground -k 60 300 bazel --output_base="$1" sync --configure 2>&1) ||
    die "bazel sync --configure failed" "$log"
  BAZEL_CONFIGURED[$1]=1
}

# Compilers at once: as many as there are processors, one for each 1.5 GB of free memory (gRPC's
# headers take about 0.6 GB a file).
bazel_jobs() {
  local by_memory cpus
  cpus=$(nproc)
  by_memory=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo)
  ((by_memory >= 1)) || by_memory=1
  echo "$((by_memory < cpus ? by_memory : cpus))"
}

# stop_bazel_of OUTPUT_BASE: ends its server where this script started it.
stop_bazel_of() {
  local base
  local -a others=()
  for base in "${BAZEL_STARTED[@]}"; do
    if [[ $base != "$1" ]]; then
      others+=("$base")
    elif bazel_server_runs "$base"; then
      (cd "$REPO" && timeout -k 5 60 bazel --output_base="$base" shutdown) >/dev/null 2>&1 ||
        printf '%s: the Bazel server of %s did not end\n' "$SCRIPT_NAME" "$base" >&2
    fi
  done
  BAZEL_STARTED=("${others[@]}")
  unset "BAZEL_CONFIGURED[$1]"
}

# All of them; for EXIT traps.
stop_bazel() {
  while ((${#BAZEL_STARTED[@]} > 0)); do stop_bazel_of "${BAZEL_STARTED[0]}"; done
}

# build_optimised: //:sbumpd and //:sbumpctl with -c opt; sets OPT_BIN to where they are.
build_optimised() {
  local base
  base=$(default_output_base)
  run_bazel "$base" build -c opt --jobs="$(bazel_jobs)" //:sbumpd //:sbumpctl ||
    die "the build failed: see the messages above"
  # shellcheck disable=SC2034  # for the caller
  OPT_BIN=$(run_bazel "$base" info -c opt bazel-bin 2>/dev/null)
}
