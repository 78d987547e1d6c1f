#!/usr/bin/env bash
# late_packages.sh LIST: the packages of the libraries that the program loads late, as variables of
# debian/control. What each TLS listener needs is depended upon. PostgreSQL and Redis are
# recommended; brokers and Amazon's services are few people's.
set -euo pipefail
declare -A packages=([Depends]="" [Recommends]="" [Suggests]="")
while read -r soname package; do
  case "$soname" in
    libssl.* | libcrypto.* | libz.* | libseccomp.*) relation=Depends ;;
    libpq.* | libhiredis.*) relation=Recommends ;;
    *) relation=Suggests ;;
  esac
  [[ ", ${packages[$relation]}, " == *", $package, "* ]] ||
    packages[$relation]+="${packages[$relation]:+, }$package"
done < <(sed -n 's/^    {"\(.*\)", "\(.*\)"},$/\1 \2/p' "$1")
for relation in Depends Recommends Suggests; do
  [[ -n "${packages[$relation]}" ]] || continue
  printf 'late:%s=%s\n' "$relation" "${packages[$relation]}"
done
