#!/usr/bin/env bash
# Builds the program in the guests of the kernel engine: static, so that it needs nothing of the guest. Where that
# cannot be, says so and goes on, since everything else works without it.
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
  cargo build --quiet --locked --profile agent --target "$target" -p tussle-agent
install "target/$target/agent/tussle-agent" "$1"
