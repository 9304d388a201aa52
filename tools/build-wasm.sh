#!/usr/bin/env bash
# Builds the simulator for web pages: the studio, and the panel of reports. Where Rust lacks the target, and rustup
# cannot install it, says so and goes on, since everything else works without it. Usage: build-wasm.sh FILE.wasm.gz
set -euo pipefail

target=wasm32-unknown-unknown
installed() { [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; }

if ! installed && command -v rustup > /dev/null; then rustup --quiet target add $target 2> /dev/null || true; fi
if ! installed; then
  printf 'make setup: no studio, everything else works: Rust lacks %s; rustup target add %s\n' $target $target >&2
  exit 0
fi

cargo build --quiet --locked --profile wasm --target $target -p tussle-wasm
# Without a name and a time, so that the same simulator is the same file.
gzip -9 --no-name --stdout "${CARGO_TARGET_DIR:-target}/$target/wasm/tussle_wasm.wasm" > "$1.part"
mv "$1.part" "$1"
