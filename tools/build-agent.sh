#!/usr/bin/env bash
# Builds the program in the guests of the kernel engine, static, so that it needs nothing of the guest; and the path of
# packets that `tussle kernel build` links into their kernel, as one object. Where that cannot be, says so and goes on,
# since everything else works without it. Usage: build-agent.sh AGENT DRIVER
set -euo pipefail

without() {
  printf 'make setup: no kernel engine, everything else works: %s\n' "$1" >&2
  exit 0
}

[ "$(uname -s)" = Linux ] || without "it needs Linux"
printf 'int main(void) { return 0; }\n' | cc -static -x c -o /dev/null - 2> /dev/null ||
  without "there is no static C library; apt-get install libc6-dev, or dnf install glibc-static"

target=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS='-C target-feature=+crt-static' \
  cargo build --quiet --locked --profile agent --target "$target" -p tussle-agent -p tussle-driver
built=${CARGO_TARGET_DIR:-target}/$target/agent
install "$built/tussle-agent" "$1"

# Only the functions of kernel/driver/tussle.h remain visible: Rust's names are longer than the kernel takes.
functions=$(sed -n 's/^.*\b\(tussle_path_[a-z_]*\)(.*$/\1/p' kernel/driver/tussle.h)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086
ld -r --gc-sections $(printf -- '-u %s ' $functions) -o "$work/whole.o" "$built/libtussle_driver.a"
objcopy --strip-debug --remove-section=.llvmbc --remove-section=.llvmcmd --wildcard \
  --keep-global-symbol='tussle_path_*' "$work/whole.o" "$work/driver.o"
strip --strip-unneeded "$work/driver.o"
install -m 644 "$work/driver.o" "$2"
