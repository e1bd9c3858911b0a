#!/usr/bin/env bash
# Unpacks syslog-ng and the libraries it needs into a folder, for MEANWHILE_SYSLOG_NG: Debian does not allow installing it together
# with rsyslog.
#
#   bench/logs/unpack.sh FOLDER
set -euo pipefail
mkdir -p "$1"
cd "$1"
apt-get -q download syslog-ng-core libivykis0 libnet1 libpcre3
for package in ./*.deb; do dpkg -x "$package" .; done
rm -- ./*.deb
