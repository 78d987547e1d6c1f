#!/usr/bin/env bash
# Types the README's first commands on a fresh Debian 12, which debootstrap makes in a folder of its
# own: clone, install, build, demonstrate. Needs root. What follows in the README is typed by
# tests/docs/readme_typed_test.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

((EUID == 0)) || { echo "pages: needs root, for debootstrap and chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap
root="$(mktemp -d -t onceguard-debian-XXXXXX)"
chmod 755 "$root"
# In a mount namespace of its own, so that nothing stays mounted.
export root
trap 'rm -rf --one-file-system "$root"' EXIT
mirror="${MIRROR:-http://deb.debian.org}"
debootstrap --variant=minbase --include=git,ca-certificates bookworm "$root" "$mirror/debian" \
  >"$root.log" 2>&1 || { cat "$root.log" >&2; exit 1; }
rm -f "$root.log"
cat >"$root/etc/apt/sources.list" <<LIST
deb $mirror/debian bookworm main
deb $mirror/debian bookworm-updates main
deb $mirror/debian-security bookworm-security main
LIST
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
[[ ! -d /usr/local/share/ca-certificates ]] ||
  cp -a /usr/local/share/ca-certificates "$root/usr/local/share/"
git clone -q --bare . "$root/onceguard.git"
typed="$(sed -n '/^```$/,/^```$/{/^```$/d;p;/^$/q}' README.md | sed -n '1,2p')"
printf '%s\n' "$typed"
unshare --mount --pid --fork --kill-child bash -euc '
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
    http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" REPOSITORY=/onceguard.git \
    bash -euc "update-ca-certificates >/dev/null 2>&1 || true; apt-get update -qq; cd /root; $1"
' pages "$typed"
echo "pages: the README was typed on a fresh Debian 12"
