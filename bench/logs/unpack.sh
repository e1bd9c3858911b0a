#!/usr/bin/env bash
# Unpacks syslog-ng's packages and the libraries it misses into a folder, for MEANWHILE_SYSLOG_NG; Debian does not let it be
# installed beside rsyslog.
#
#   bench/logs/unpack.sh FOLDER
set -euo pipefail
mkdir -p "$1"
cd "$1"
apt-get -q download syslog-ng-core libivykis0 libnet1 libpcre3
for package in ./*.deb; do dpkg -x "$package" .; done
rm -- ./*.deb
