#!/usr/bin/env bash
# Installs what some tests run against besides npm packages: a container engine, and a C compiler for WebAssembly.
# Debian and its relatives only; asks apt for what is missing and leaves alone what is there.
set -euo pipefail

packages=(
  podman # runs the containers
  runc   # what podman starts them with: crun does not work in every virtual machine
  busybox-static # what the containers of the tests hold
  clang lld wasi-libc # C to WebAssembly
)

if ! command -v apt-get >/dev/null; then
  echo "engines: there is no apt-get here. Install podman, runc, a static busybox, clang, lld and wasi-libc with your own package manager." >&2
  exit 1
fi

installed() { dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

missing=()
for package in "${packages[@]}"; do
  if installed "$package"; then echo "engines: $package is there"; else missing+=("$package"); fi
done

as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends "$@"; }

if [ "${#missing[@]}" -gt 0 ]; then
  echo "engines: apt-get update, then install ${missing[*]}"
  "${as_root[@]}" apt-get update --quiet
  install "${missing[@]}"
fi

# The part of the compiler that a linked module needs has the compiler's version in its name.
runtime="libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev-wasm32"
if installed "$runtime"; then
  echo "engines: $runtime is there"
else
  echo "engines: install $runtime"
  install "$runtime"
fi

echo "engines: ready. CALLPLANE_REQUIRE_ENGINES=1 npm test fails where one cannot be used."
