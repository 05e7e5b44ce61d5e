#!/usr/bin/env bash
# Installs what some tests run against besides npm packages: a container engine, and a C compiler for WebAssembly.
# Debian and its relatives only; asks apt for what is missing and leaves alone what is there. `npm run engines -- bench`
# installs instead what the benchmarks run beside us.
set -euo pipefail

packages=(
  podman # runs the containers
  runc   # what podman starts them with: crun does not work in every virtual machine
  busybox-static # what the containers of the tests hold
  clang lld wasi-libc # C to WebAssembly
)

wanted="${1:-tests}"
case "$wanted" in
  tests) ;;
  bench) packages=(redis-server nats-server) ;;
  *)
    echo "engines: there is no list \"$wanted\". Say nothing for what the tests need, or bench for what the benchmarks need." >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null; then
  echo "engines: there is no apt-get here. Install ${packages[*]} with your own package manager." >&2
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

# The benchmarks start servers of their own, on free ports and in a folder of their own: what a package brings stays off.
no_services() {
  local policy=/usr/sbin/policy-rc.d
  if [ -e "$policy" ]; then return; fi
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod +x "$policy"
  trap '"${as_root[@]}" rm -f /usr/sbin/policy-rc.d' EXIT
}

if [ "${#missing[@]}" -gt 0 ]; then
  if [ "$wanted" = bench ]; then no_services; fi
  echo "engines: apt-get update, then install ${missing[*]}"
  "${as_root[@]}" apt-get update --quiet
  install "${missing[@]}"
fi

if [ "$wanted" = bench ]; then
  echo "engines: ready. npm run bench -- durable starts them itself."
  exit 0
fi

# The part of the compiler that a linked module needs has the compiler's version in its name.
runtime="libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev-wasm32"
if installed "$runtime"; then
  echo "engines: $runtime is there"
else
  echo "engines: install $runtime"
  install "$runtime"
fi

echo "engines: ready. With CALLPLANE_REQUIRE_ENGINES=1, npm test and npm run test:all fail where one cannot be used."
