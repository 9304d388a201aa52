#!/usr/bin/env bash
# Installs, on Debian and its derivatives, the programs that tests use beyond what `make setup` needs. Without one of
# them `make test` skips the tests that need it, and says so at its end.
set -euo pipefail

apt_install() {
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

if ! command -v apt-get > /dev/null; then
  echo "install-test-dependencies: there is no apt-get here; the list of packages stands in this script" >&2
  exit 2
fi
export PATH="$PATH:/usr/sbin:/sbin"

missing=()
needs() { command -v "$1" > /dev/null || missing+=("${@:2}"); }

# What `tussle kernel build` compiles Linux with, what the engine sets networks up with, and Linux itself.
needs flex flex
needs bison bison
needs bc bc
needs xz xz-utils
needs ip iproute2
for release in 6.1 6.12; do
  [ -e /usr/src/linux-source-$release.tar.xz ] || missing+=(linux-source-$release)
done
# The machine for kernels that are not rebuilt; the tests fetch such a kernel.
needs qemu-system-x86_64 qemu-system-x86
needs cpio cpio
# The hosts of the tests.
needs sshd openssh-server
needs ssh openssh-client
# The report is opened in it.
needs chromium chromium fonts-liberation
# It reads the captures that are exported.
needs tshark tshark
# It formats the manual page.
needs groff groff-base
# It counts the simulator's instructions.
needs valgrind valgrind

if [ "${#missing[@]}" -gt 0 ]; then apt_install "${missing[@]}"; fi
