#!/usr/bin/env bash
# Types the README's first commands on a fresh Debian 12, which debootstrap makes in a folder of its
# own: clone, install, build, demonstrate. Needs root. What follows in the README is typed by
# tests/docs/readme_typed_test.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

((EUID == 0)) || { echo "pages: needs root, for debootstrap and chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap
root="$(mktemp -d -t onceguard-debian-XXXXXX)"
# In a mount namespace of its own, so that nothing stays mounted.
export root
trap 'rm -rf --one-file-system "$root"' EXIT
mirror="$(grep -rhoE 'https?://[^ ]+/debian/?([[:space:]]|$)' /etc/apt/sources.list \
  /etc/apt/sources.list.d 2>/dev/null | head -1 | tr -d '[:space:]')"
debootstrap --variant=minbase --include=git,ca-certificates bookworm "$root" \
  "${mirror:-http://deb.debian.org/debian}" >"$root.log" 2>&1 || { cat "$root.log" >&2; exit 1; }
rm -f "$root.log"
for each in sources.list sources.list.d apt.conf.d; do
  [[ ! -e "/etc/apt/$each" ]] || cp -a "/etc/apt/$each" "$root/etc/apt/"
done
cp -aL /etc/resolv.conf "$root/etc/" 2>/dev/null || true
cp -a /usr/local/share/ca-certificates "$root/usr/local/share/" 2>/dev/null || true
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
