#!/usr/bin/env bash
# Holds the disk of a throw-away machine (box.ts) and takes everything away when its standard input ends: also when the test was killed.
# keeper.sh FOLDER CGROUP [OLDER_CGROUP...], in a mount namespace of its own. The disk outlives a reboot of the machine, since this process holds it.
set -euo pipefail
folder=$1 group=$2
groups=("${@:2}")
# An interrupt of the terminal reaches the test, which then closes our input.
trap '' INT TERM HUP
clean() {
  for _ in $(seq 200); do
    echo 1 > "$group/cgroup.kill" 2> /dev/null || true
    find "${groups[@]}" -depth -type d -exec rmdir {} \; 2> /dev/null || true
    [ -n "$(find "${groups[@]}" -maxdepth 0 2> /dev/null)" ] || break
    sleep 0.05
  done
  umount -l "$folder/disk" 2> /dev/null || true
  rm -rf --one-file-system "$folder"
}
trap clean EXIT
mkdir -p "$folder/disk" "$folder/root"
# A memory file system: an overlay cannot have its upper layer inside its lower one.
mount -t tmpfs -o size=6G,nr_inodes=4M,mode=755 box-disk "$folder/disk"
mkdir -p "$folder"/disk/{upper,work}
echo ready
cat > /dev/null
