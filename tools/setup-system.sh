#!/usr/bin/env bash
# Installs the system packages that some tests need, for machines of your own and for CI: `npm run setup:system`. Debian, as root.
# Safe to repeat, and quick when everything is there. A new part is a function that says what it did, and a line at the end.
set -euo pipefail

refuse() {
  echo "$*" >&2
  exit 1
}

[ "$(uname -s)" = Linux ] && command -v apt-get > /dev/null || refuse 'This sets up Debian (it needs apt-get); elsewhere install PostgreSQL 15, Chromium, nginx, HAProxy, OpenSSH’s client and server, and systemd by hand.'
[ "$(id -u)" = 0 ] || refuse 'Installing system packages needs root. Run: sudo npm run setup:system'

export DEBIAN_FRONTEND=noninteractive
is_fresh=no

has() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2> /dev/null)" = installed ]
}

# Package lists are fetched once, and only when something is missing.
install() {
  if [ "$is_fresh" = no ]; then
    apt-get update -qq < /dev/null || refuse 'The Debian package lists cannot be fetched. Check the network and the sources in /etc/apt.'
    is_fresh=yes
  fi
  apt-get install -y -qq --no-install-recommends "$@" < /dev/null > /dev/null || refuse "apt-get could not install: $*"
}

# part NAME PACKAGE...
part() {
  local name=$1
  shift
  local missing=()
  for package in "$@"; do has "$package" || missing+=("$package"); done
  if [ ${#missing[@]} = 0 ]; then
    echo "$name: already there"
  else
    echo "$name: installing ${missing[*]}"
    install "${missing[@]}"
    echo "$name: installed"
  fi
}

postgres15() {
  # Only the programs: the tests make clusters of their own, and Debian's would start by itself and take a port.
  if ! has postgresql-15; then
    mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf
  fi
  part postgres15 postgresql-15
}

chromium() {
  part chromium chromium
}

ssh() {
  part ssh openssh-client
}

# only_program NAME PACKAGE...: without starting what Debian would start. The tests start their own on ports of their own.
only_program() {
  local policy=/usr/sbin/policy-rc.d is_ours=no
  if [ ! -e "$policy" ]; then
    is_ours=yes
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
  fi
  part "$@"
  [ "$is_ours" = no ] || rm -f "$policy"
}

sshd() {
  # Nobody asked for one that lets people in to this machine.
  only_program sshd openssh-server
}

nginx() {
  only_program nginx nginx-light
}

haproxy() {
  only_program haproxy haproxy
}

systemd() {
  # The throw-away machine of test/box runs these; this machine does not. faketime, fuse3 and openssh-tests serve single cases there.
  only_program systemd openssh-server systemd systemd-sysv dbus libpam-systemd dbus-user-session cron at faketime fuse3 sshfs openssh-tests
}

namespaces() {
  # `ip`: the first hour is typed on a network of its own.
  part namespaces iproute2
}

postgres15
namespaces
chromium
ssh
sshd
nginx
haproxy
systemd
