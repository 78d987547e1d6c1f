#!/usr/bin/env bash
# Types the README's first commands on a fresh Debian 12, which debootstrap makes in a folder of its
# own: clone, install, build, demonstrate. Needs root. What follows in the README is typed by
# tests/docs/readme_typed_test.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

((EUID == 0)) || { echo "pages: needs root, for debootstrap and chroot" >&2; exit 1; }
root="$(mktemp -d -t onceguard-debian-XXXXXX)"
# In a mount namespace of its own, so that nothing stays mounted.
export root
trap 'rm -rf --one-file-system "$root"' EXIT
tools/fresh_debian.sh "$root" git
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
