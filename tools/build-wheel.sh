#!/usr/bin/env bash
# Builds a wheel that is compiled with a profile: a first build counts what benches/training.py executes, and the second
# is laid out for that. `maturin build --pgo` would do the same, but zig does not link a build that counts. Where Rust
# lacks the tool that reads the counts, says so and builds without. Usage: build-wheel.sh DIR [OPTIONS OF MATURIN]
set -euo pipefail

folder=$1
shift
target=$(rustc -vV | sed -n 's/^host: //p')
build() { maturin build --release --locked --target "$target" "$@"; }

profdata=$(rustc --print sysroot)/lib/rustlib/$target/bin/llvm-profdata
if ! [ -e "$profdata" ] && command -v rustup > /dev/null; then rustup --quiet component add llvm-tools || true; fi
if ! [ -e "$profdata" ] && ! [ -e "$profdata.exe" ]; then
  printf 'make wheel: compiled without a profile, so slower: Rust lacks llvm-tools; rustup component add llvm-tools\n' >&2
  build --out "$folder" "$@"
  exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Counts are found by the names of functions, which depend on settings that builds with zig have.
if [[ " $* " == *" --zig "* ]]; then
  export CARGO_UNSTABLE_TARGET_APPLIES_TO_HOST=true CARGO_TARGET_APPLIES_TO_HOST=false
  export __CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS=nightly
fi
RUSTFLAGS="-Cprofile-generate=$work/counts" build --auditwheel skip --out "$work"
python -m zipfile --extract "$work"/tussle-*.whl "$work/package"
PYTHONPATH=$work/package python benches/training.py
"$profdata" merge -o "$work/profile" "$work/counts"
RUSTFLAGS="-Cprofile-use=$work/profile" build --out "$folder" "$@"
