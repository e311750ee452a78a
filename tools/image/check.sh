#!/usr/bin/env bash
# Run the steps of the Dockerfile without Docker, in a root file system of Debian, and run evenkey there.
# Usage: check.sh DIRECTORY. Needs root, mmdebstrap, and jars in build/kafka/connector (make setup-kafka).
set -euo pipefail
root=$1
log=$root.log
command -v mmdebstrap >/dev/null || { echo "error: install mmdebstrap (apt-get)" >&2; exit 1; }
((EUID == 0)) || { echo "error: only root can make a root file system: sudo make image-check" >&2; exit 1; }
rm -rf "$root"
mkdir -p "$(dirname "$root")"
# Debian 12, because its Python package is 3.11, the version of the image.
mmdebstrap --quiet --variant=apt --include=ca-certificates,python3,python3-pip bookworm "$root" >"$log" 2>&1
source=$root/opt/evenkey/source
mkdir -p "$source" "$root/opt/evenkey/jars" "$root/runs"
sed -nE 's/^COPY ([^-].*) \/opt\/evenkey\/source\/?[a-z]*$/\1/p' Dockerfile | tr ' ' '\n' |
  xargs -I{} cp -r {} "$source/"
cp build/kafka/connector/*.jar "$root/opt/evenkey/jars/"
# Only what the file system needs to reach package registries from this machine.
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
inside() {
  unshare --mount --pid --fork --kill-child bash -c '
    mount --bind "$0" "$0"; mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; exec chroot "$0" "$@"' "$root" "$@"
}
settings=(HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin PIP_BREAK_SYSTEM_PACKAGES=1
  DEBIAN_FRONTEND=noninteractive EVENKEY_KAFKA_JARS=/opt/evenkey/jars)
inside env -i "${settings[@]}" sh /opt/evenkey/source/install.sh /opt/evenkey/source >>"$log" 2>&1 ||
  { tail -20 "$log" >&2; exit 1; }
inside env -i "${settings[@]}" sh -c 'cd /runs && evenkey run --dataset country-skew-r80 --messages 5000 \
  --epochs 2 --workers 4 --grouping dkg --output out && ls out'
