#!/usr/bin/env bash
# Becomes the first process of a throw-away machine (box.ts): machine.sh FOLDER PORT [CONTROLLER...], in namespaces of its own, below keeper.sh's.
# This machine's root is the lower layer and is never written; files that change go to FOLDER/disk.
set -euo pipefail
folder=$1 port=$2 root=$1/root
shift 2
mount --make-rprivate /
mount -t overlay box-root -o "lowerdir=/,upperdir=$folder/disk/upper,workdir=$folder/disk/work,index=off,metacopy=off" "$root"
cd "$root"

mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
if [ $# = 0 ]; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
else
  # The hybrid hierarchy: processes are told apart by cgroup2, and bounded by the older ones.
  mount -t tmpfs -o mode=755 cgroup sys/fs/cgroup
  mkdir sys/fs/cgroup/unified
  mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
  # Of the others it knows nothing, so that it does not mount what this machine has left to cgroup2.
  grep -E '^(#|pids|memory|devices)' proc/cgroups > "$folder/disk/controllers"
  mount --bind "$folder/disk/controllers" proc/cgroups
  for controller in "$@"; do
    mkdir "sys/fs/cgroup/${controller#name=}"
    mount -t cgroup -o "$controller" "${controller#name=}" "sys/fs/cgroup/${controller#name=}"
  done
fi

mount -t tmpfs -o mode=755 box-dev dev
device() { mknod -m "${4:-666}" "dev/$1" c "$2" "$3"; }
device null 1 3; device zero 1 5; device full 1 7; device random 1 8; device urandom 1 9; device tty 5 0; device fuse 10 229
# GPUs without hardware behind them: the open fails with ENXIO where the device filter lets it through, and with EPERM where it does not.
for gpu in $(seq 0 63); do device "nvidia$gpu" 195 "$gpu"; done
device nvidiactl 195 255; device nvidia-uvm 511 0
mkdir dev/pts dev/shm dev/mqueue
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx; ln -s /proc/self/fd dev/fd; ln -s /proc/self/fd/0 dev/stdin; ln -s /proc/self/fd/1 dev/stdout; ln -s /proc/self/fd/2 dev/stderr
mount -t tmpfs -o mode=1777 box-shm dev/shm
mount -t mqueue mqueue dev/mqueue
mount -t tmpfs -o mode=755 box-run run
mount -t tmpfs -o mode=1777,size=1G box-tmp tmp
mkdir -p run/sshd run/lock mnt/share
mount --bind "$folder/share" mnt/share

if [ ! -e etc/box ]; then
  # Own copies: accounts that other tests make on this machine meanwhile must not appear in there.
  cp -a etc .etc; rm -rf etc; mv .etc etc
  sed -i '\|:/var/lib/gatehouse-test-|d' etc/passwd
  rm -rf etc/systemd/system/*.wants etc/systemd/system/*.requires etc/cron.d/* etc/cron.daily/* etc/pam.d/ghtest-*
  : > etc/fstab; echo box > etc/hostname; : > etc/machine-id
  for unit in systemd-{sysctl,udevd,udev-trigger,modules-load,random-seed,timesyncd,remount-fs,binfmt,networkd,hwdb-update,resolved,firstboot,pcrphase,boot-system-token}.service \
    kmod-static-nodes.service networking.service ifupdown-pre.service e2scrub_reap.service apt-daily.timer apt-daily-upgrade.timer \
    proc-sys-fs-binfmt_misc.{automount,mount} sys-kernel-{debug,tracing,config}.mount sys-fs-fuse-connections.mount dev-{hugepages,mqueue}.mount \
    systemd-udevd-{kernel,control}.socket swap.target getty.target rsyslog.service postgresql.service nginx.service haproxy.service; do
    ln -sf /dev/null "etc/systemd/system/$unit"
  done
  # What Debian enables at installation, of the parts that this machine is for.
  mkdir -p etc/systemd/system/multi-user.target.wants
  for unit in ssh cron atd dbus; do ln -s "/lib/systemd/system/$unit.service" etc/systemd/system/multi-user.target.wants/; done
  sed -i "s/^#\?Port .*/Port $port/; s/^#\?ListenAddress 0.0.0.0/ListenAddress 127.0.0.1/; s/^#\?MaxStartups.*/MaxStartups 500/" etc/ssh/sshd_config
  rm -f etc/ssh/ssh_host_*
  ssh-keygen -q -t ed25519 -N '' -f etc/ssh/ssh_host_ed25519_key
  rm -rf root; mkdir -m 700 root root/.ssh
  install -m 600 "$folder/share/root.pub" root/.ssh/authorized_keys
  [ -x usr/bin/node ] || install -m 755 "$folder/share/node" usr/bin/node
  mkdir -p var/log/journal
  touch etc/box
fi

mkdir -p .old
pivot_root . .old
umount -l /.old
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb /usr/lib/systemd/systemd --system --unit=multi-user.target --log-target=journal-or-kmsg --show-status=no
