#!/usr/bin/env bash
# Says what is missing before anything is built: Python, Rust and a C compiler. PYTHON names the interpreter.
set -euo pipefail

python=${PYTHON:-python3}
least_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
missing=0

lacks() {
  printf 'make setup: %s\n  %s\n' "$1" "$2" >&2
  missing=1
}

# Whether version $1 is at least $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

if ! command -v "$python" > /dev/null; then
  lacks "there is no $python" "install Python 3.11 or newer: apt-get install python3 python3-venv, or brew install python"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  lacks "$("$python" --version) is too old; Tussle needs 3.11" \
    "install a newer one, and name it if it is not called python3: make setup PYTHON=python3.12"
elif ! "$python" -c 'import ensurepip, venv' 2> /dev/null; then
  lacks "$python cannot make virtual environments" "install them: apt-get install python3-venv"
fi

rustup="install stable Rust with rustup (https://rustup.rs), and open a new shell"
if ! command -v cargo > /dev/null || ! command -v rustc > /dev/null; then
  lacks "there is no Rust compiler (cargo, rustc)" "$rustup"
else
  rust=$(rustc --version | cut -d ' ' -f 2)
  if ! at_least "$rust" "$least_rust"; then
    lacks "Rust $rust is too old; Tussle needs $least_rust" "rustup update stable, or $rustup"
  fi
fi

if ! command -v cc > /dev/null; then
  lacks "there is no C compiler (cc), which Rust links with" \
    "install one: apt-get install gcc libc6-dev, or xcode-select --install"
fi

exit "$missing"
