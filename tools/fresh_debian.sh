#!/usr/bin/env bash
# fresh_debian.sh FOLDER [PACKAGE...]: makes a Debian 12 in the folder, with these packages besides
# the smallest one, and with the names, proxies and certificates of this machine. Needs root. MIRROR
# is where it comes from.
set -euo pipefail
((EUID == 0)) || { echo "fresh_debian: needs root, for debootstrap and chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap
root="$1"
mirror="${MIRROR:-http://deb.debian.org}"
packages=ca-certificates
for package in "${@:2}"; do packages+=",$package"; done
mkdir -p "$root"
chmod 755 "$root"
log="$(mktemp -t onceguard-debootstrap-XXXXXX)"
debootstrap --variant=minbase --include="$packages" bookworm "$root" "$mirror/debian" \
  >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
rm -f "$log"
cat >"$root/etc/apt/sources.list" <<LIST
deb $mirror/debian bookworm main
deb $mirror/debian bookworm-updates main
deb $mirror/debian-security bookworm-security main
LIST
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
[[ ! -d /usr/local/share/ca-certificates ]] ||
  cp -a /usr/local/share/ca-certificates "$root/usr/local/share/"
