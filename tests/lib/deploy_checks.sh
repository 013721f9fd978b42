# Sourced by tests/run: what deploy/ promises. Uses its `check` and `check_or_skip`.
# shellcheck shell=bash

# exits_with CODE COMMAND...: ends with that status, having said something on standard error.
exits_with() {
  local expected=$1 code=0 message
  shift
  message=$("$@" 2>&1 >/dev/null) || code=$?
  [[ $code == "$expected" && -n $message ]] || {
    echo "status $code, message \"$message\": $*"
    return 1
  }
}

refuses_bad_arguments() {
  local install=$REPO/deploy/install
  exits_with 2 "$install" && exits_with 2 "$install" --prefix && exits_with 2 "$install" --prefix relative &&
    exits_with 2 "$install" --prefix "$1/with space" && exits_with 2 "$install" --prefix /dev/null/x &&
    exits_with 2 "$install" --prefix "$1/x" extra && exits_with 2 "$REPO/deploy/quickstart" --nonsense &&
    exits_with 2 "$REPO/deploy/packages.sh" nonsense && exits_with 2 "$REPO/deploy/build-deb" --output &&
    [[ ! -e $1/x && ! -e $1/"with space" ]]
}

installed_names() {
  printf '%s\n' bin/sbumpctl lib/systemd/system/sbumpd.service sbin/sbumpd \
    share/bash-completion/completions/sbumpctl share/doc/sbump/copyright \
    share/doc/sbump/examples/{sbumpd.conf,sbump.logrotate} share/man/man1/sbumpctl-{attach,contexts,detach,doctor,list,match,update,version,watch}.1.gz \
    share/man/man1/sbumpctl.1.gz share/man/man8/sbumpd.8.gz share/zsh/site-functions/_sbumpctl
}

has_all_files() {
  local name
  while read -r name; do
    [[ -s $1/$name ]] || {
      echo "missing: $name"
      return 1
    }
  done < <(installed_names)
  [[ -z $(find "$1" -name '*.new') && -z $(find "$1" -perm /022 ! -type l) ]]
}

# Names of functions stay, debug information does not.
sizes_are_sensible() {
  local program
  for program in sbin/sbumpd bin/sbumpctl; do
    [[ -s $1/$program ]] || return 1
    [[ $(stat -c %s "$1/$program") -lt 20000000 ]] || return 1
    ! readelf -SW "$1/$program" | grep -q ' \.debug_info ' || return 1
  done
}

programs_run() { "$1/sbin/sbumpd" --help >/dev/null && "$1/bin/sbumpctl" --help >/dev/null; }

unit_is_valid() {
  local said
  grep -qxF "ExecStart=$1/sbin/sbumpd" "$1/lib/systemd/system/sbumpd.service" || return 1
  ! grep -q '@[A-Z]*@' "$1/lib/systemd/system/sbumpd.service" || return 1
  said=$(systemd-analyze verify --man=no "$1/lib/systemd/system/sbumpd.service" 2>&1) || {
    echo "$said"
    return 1
  }
  # Other units of the machine may have faults of their own.
  ! grep sbumpd <<<"$said"
}

# says_ready SOCKET: as systemd listens where Type=notify; ends with status 0 at READY=1.
says_ready() {
  /usr/bin/python3 -c '
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
listener.settimeout(10)
while b"READY=1" not in listener.recv(4096).split(b"\n"):
    pass' "$1"
}

# With exactly the capabilities that the unit names, sbumpd says that it is ready and attaches to a
# process of another user.
unit_rights_suffice() {
  local prefix=$1 work=$2/rights unit=$1/lib/systemd/system/sbumpd.service code=0 names target daemon ready
  mkdir -p "$work"
  names=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | sed 's/CAP_/+/g; s/ /,/g' | tr '[:upper:]' '[:lower:]')
  grep -qx NoNewPrivileges=yes "$unit" && grep -qx Type=notify "$unit" && [[ $names == +* ]] || return 1
  setpriv --reuid=nobody --regid=nogroup --clear-groups /usr/bin/python3 - --seconds 60 \
    <"$REPO/deploy/demo/service.py" >/dev/null 2>&1 &
  target=$!
  says_ready "$work/notify" >"$work/ready.log" 2>&1 &
  ready=$!
  until [[ -S $work/notify ]]; do
    kill -0 "$ready" 2>/dev/null || break
    sleep 0.05
  done
  NOTIFY_SOCKET=$work/notify setpriv --bounding-set="-all,$names" --inh-caps=-all --no-new-privs \
    "$prefix/sbin/sbumpd" --listen "unix:$work/sock" --state-dir "$work/state" >"$work/sbumpd.log" 2>&1 &
  daemon=$!
  wait "$ready" || code=1
  ((code != 0)) || timeout -k 5 30 "$prefix/bin/sbumpctl" --endpoint "unix:$work/sock" attach --pid "$target" \
    --target '*:sign_reply' --delay 10us --duration 1s >"$work/attach.log" 2>&1 || code=1
  stop_process "$daemon" 15 || code=1
  stop_process "$target" 5 || true
  ((code == 0)) || tail -n 5 "$work"/*.log
  return "$code"
}

man_pages_format() {
  local page said
  for page in "$1"/share/man/man[18]/*.gz; do
    said=$(MANWIDTH=80 man --warnings -P cat -l "$page" 2>&1 >/dev/null) || return 1
    [[ -z $said ]] || {
      echo "$page: $said"
      return 1
    }
  done
}

# In a shell of its own: `complete` and a first word.
completions_load() {
  bash --norc -c 'source "$1" && complete -p sbumpctl' - \
    "$1/share/bash-completion/completions/sbumpctl" >/dev/null &&
    head -n 1 "$1/share/zsh/site-functions/_sbumpctl" | grep -q '^#compdef sbumpctl'
}

deb_installs() {
  local root=$1/debroot deb
  "$REPO/deploy/build-deb" --output "$1" >"$1/deb.log" 2>&1 || {
    tail -n 20 "$1/deb.log"
    return 1
  }
  deb=$(echo "$1"/sbump_*.deb)
  dpkg-deb -f "$deb" Depends | grep -q libgrpc++ || return 1
  mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
  : >"$root/var/lib/dpkg/status"
  dpkg --root="$root" --force-depends --force-script-chrootless --log=/dev/null -i "$deb" >"$1/deb.log" 2>&1 || {
    cat "$1/deb.log"
    return 1
  }
  [[ -x $root/usr/sbin/sbumpd && -x $root/usr/bin/sbumpctl && -f $root/etc/sbump/sbumpd.conf ]] &&
    grep -qx 'ExecStart=/usr/sbin/sbumpd' "$root/lib/systemd/system/sbumpd.service" &&
    (cd "$root" && md5sum --quiet -c var/lib/dpkg/info/sbump.md5sums) &&
    dpkg --root="$root" --force-script-chrootless --log=/dev/null --purge sbump >"$1/deb.log" 2>&1 &&
    [[ ! -e $root/usr/sbin/sbumpd && ! -e $root/etc/sbump/sbumpd.conf ]]
}

# boots WORK: with the package of deb_installs.
boots() {
  local deb
  deb=$(echo "$1"/sbump_*.deb)
  [[ -f $deb ]] || return 1
  "$REPO/tests/boot/run" --deb "$deb"
}

# Ends with status 0 and leaves no process, directory or Bazel server that was not there before.
quickstart_works() {
  local before=$SECONDS log=$1/quickstart.log temporary=$1/quickstart-tmp code=0 server=no
  ! bazel_server_runs "$(default_output_base)" || server=yes
  mkdir -p "$temporary"
  TMPDIR=$temporary timeout -k 30 600 "$REPO/deploy/quickstart" >"$log" 2>&1 </dev/null || code=$?
  sed 's/^/    /' "$log"
  [[ $code == 0 ]] || return 1
  echo "    took $((SECONDS - before)) s"
  [[ -z $(ls -A "$temporary") ]] || return 1
  ! pgrep -f "$temporary" >/dev/null || return 1
  [[ $server == yes ]] || ! bazel_server_runs "$(default_output_base)"
}

quietly() {
  "$@" >"$checks_log" 2>&1 || {
    tail -n 40 "$checks_log"
    return 1
  }
}

# run_deploy_checks WORK
run_deploy_checks() {
  local work=$1 prefix=$1/prefix
  checks_log=$work/deploy.log
  check "bad arguments end with a message and status 2" refuses_bad_arguments "$work"
  check "deploy/install" quietly "$REPO/deploy/install" --prefix "$prefix"
  check "deploy/install, again" quietly "$REPO/deploy/install" --prefix "$prefix"
  check "every promised file is there" has_all_files "$prefix"
  check "programs carry no debug information" sizes_are_sensible "$prefix"
  check "programs run" programs_run "$prefix"
  check "the unit is valid" unit_is_valid "$prefix"
  check "the unit's rights are enough" unit_rights_suffice "$prefix" "$work"
  check "man pages format without warnings" man_pages_format "$prefix"
  check "completions load" completions_load "$prefix"
  check "the .deb installs and purges" deb_installs "$work"
  check_or_skip "the unit in a booted machine" boots "$work"
  check "deploy/quickstart" quickstart_works "$work"
}
