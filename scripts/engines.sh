#!/usr/bin/env bash
# Installs what some tests need besides npm packages: a container engine, and a C compiler for WebAssembly. It works on
# Debian and its derivatives, and installs only missing packages. `npm run engines -- bench` installs the servers that
# the benchmarks compare us with instead.
set -euo pipefail

packages=(
  podman # runs the containers
  runc   # podman's runtime: crun does not work in every virtual machine
  busybox-static # content of the tests' containers
  clang lld wasi-libc # C to WebAssembly
)

wanted="${1:-tests}"
case "$wanted" in
  tests) ;;
  bench) packages=(redis-server nats-server) ;;
  *)
    echo "engines: there is no list \"$wanted\". Use no argument for the tests, or bench for the benchmarks." >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null; then
  echo "engines: apt-get not found. Install ${packages[*]} with your own package manager." >&2
  exit 1
fi

installed() { dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

missing=()
for package in "${packages[@]}"; do
  if installed "$package"; then echo "engines: $package is installed"; else missing+=("$package"); fi
done

as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends "$@"; }

# The benchmarks start their own servers, on free ports and in their own folder, so the packages' services stay off.
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

# The name of the compiler's runtime library includes the compiler's version.
runtime="libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev-wasm32"
if installed "$runtime"; then
  echo "engines: $runtime is installed"
else
  echo "engines: install $runtime"
  install "$runtime"
fi

echo "engines: ready. With CALLPLANE_REQUIRE_ENGINES=1, npm test and npm run test:all fail if one cannot be used."
