# Sourced: where packages of Debian come from that apt itself is not asked for.
# shellcheck shell=bash

# mirror: $SBUMP_DEBIAN_MIRROR, else Debian's mirror as apt has it.
mirror() {
  if [[ -n ${SBUMP_DEBIAN_MIRROR:-} ]]; then
    echo "$SBUMP_DEBIAN_MIRROR"
    return
  fi
  # shellcheck disable=SC2016  # apt's own $(...)
  apt-get indextargets --format '$(ORIGIN) $(SITE)' 'Created-By: Packages' 2>/dev/null |
    awk '$1 == "Debian" && $2 !~ /security/ { print $2; exit }'
}
