#!/usr/bin/env bash
# boot.sh ROOT GROUP: systemd as process 1 of the Debian in ROOT, with a network, processes and
# control groups of its own, below the group of this name. Ends with its parent.
set -euo pipefail
for folder in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  [[ -e "$folder/cgroup.procs" ]] || continue
  mkdir -p "$folder/$2"
  echo "$$" >"$folder/$2/cgroup.procs"
done
exec setpriv --pdeathsig KILL unshare --mount --pid --fork --cgroup --net --uts --ipc \
  --kill-child bash -euc '
  mount --make-rprivate /
  mount --bind "$1" "$1"
  cd "$1"
  mount -t proc proc proc
  mount -t tmpfs tmpfs run
  mount -t tmpfs tmpfs tmp
  mount -t sysfs -o ro sysfs sys
  if [[ -e /sys/fs/cgroup/cgroup.procs ]]; then
    mount -t cgroup2 cgroup2 sys/fs/cgroup
  else
    mount -t tmpfs tmpfs sys/fs/cgroup
    mkdir sys/fs/cgroup/systemd sys/fs/cgroup/unified
    mount -t cgroup -o none,name=systemd systemd sys/fs/cgroup/systemd
    mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
  fi
  mount -t tmpfs tmpfs dev
  for name in null zero full random urandom tty; do
    touch "dev/$name"
    mount --bind "/dev/$name" "dev/$name"
  done
  mkdir dev/pts dev/shm
  mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
  ln -s pts/ptmx dev/ptmx
  ln -s /proc/self/fd dev/fd
  mkdir -p srv/former
  pivot_root . srv/former
  umount -l /srv/former
  exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --log-target=console --unit=multi-user.target
' boot "$1"
