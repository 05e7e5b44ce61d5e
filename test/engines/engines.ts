/**
 * Programs that some tests need besides npm packages, such as a container engine or a message broker. If one is
 * missing, its tests are skipped and the run names it. With CALLPLANE_REQUIRE_ENGINES=1 that is a failure.
 */
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, test } from 'vitest'

export interface TestEngine {
  name: string
  /** The missing part, if any. */
  missing: readonly string[]
}

export const containers: TestEngine = engine('a container engine', ['podman', 'runc', 'busybox'])

export const wasmCompiler: TestEngine = engine(
  'a C compiler for WebAssembly',
  ['clang', 'wasm-ld'],
  ['/usr/include/wasm32-wasi/stdio.h'],
)

/** Folder of the engines that are no Debian packages. */
const own = join(import.meta.dirname, '../../.engines')

/** Jars of Kafka, for `java -cp`. */
export const KAFKA_JARS = join(own, 'kafka/*')

/** Python with the packages of `scripts/engines/python.txt`. */
export const PYTHON = join(own, 'python/bin/python')

/** Python with the packages of `scripts/engines/tool-servers.txt`. */
export const TOOL_SERVERS_PYTHON = join(own, 'tool-servers/bin/python')

export const toolServers: TestEngine = engine('OXP and OTC servers', ['setpriv'], [join(own, 'tool-servers/made-from')])

export const mqttBroker: TestEngine = engine('an MQTT broker', [
  'setpriv',
  'mosquitto',
  'mosquitto_pub',
  'mosquitto_sub',
])

// `made-from` is written when all files of the folder are there.
export const kafkaBroker: TestEngine = engine('Kafka', ['setpriv', 'java'], [join(own, 'kafka/made-from')])

export const pythonClients: TestEngine = engine('Python clients', [], [join(own, 'python/made-from')])

/** Compiles generated clients. */
export const goCompiler: TestEngine = engine('Go', ['setpriv', 'go', 'gofmt'])

/** Python with the packages of `scripts/engines/python-generator.txt`. */
export const PYTHON_GENERATOR = join(own, 'python-generator/bin/python')

export const pythonGenerator: TestEngine = engine(
  'a generator of Python clients',
  [],
  [join(own, 'python-generator/made-from')],
)

/** SeaweedFS: its S3 server, and all that it needs, in one program. */
export const SEAWEEDFS = join(own, 'python/bin/weed')

export const s3Server: TestEngine = engine('an S3 server', ['setpriv'], [SEAWEEDFS, join(own, 'python/made-from')])

/** `npm run engines` links it here. It is in no lock file: see scripts/engines.sh. */
export const quicLibrary: TestEngine = engine(
  'the QUIC library',
  [],
  [join(import.meta.dirname, '../../node_modules/@currentspace/http3/package.json')],
)

/** Bun, Deno and workerd (Cloudflare Workers), in the versions of `scripts/engines/runtimes.txt`. */
export const BUN = join(own, 'runtimes/bin/bun')
export const DENO = join(own, 'runtimes/bin/deno')
export const WORKERD = join(own, 'runtimes/bin/workerd')

export const jsRuntimes: TestEngine = engine('Bun, Deno and workerd', ['setpriv'], [join(own, 'runtimes/made-from')])

/** Next.js, Mastra, LangChain and Svelte, in the versions of `scripts/engines/frameworks.txt`. */
export const LARGE_PACKAGES = join(own, 'frameworks/node_modules')

export const largePackages: TestEngine = engine('large frameworks', ['setpriv'], [join(own, 'frameworks/made-from')])

/** Debian installs every major version in a folder of its own. */
const POSTGRES = '/usr/lib/postgresql'

/** The folder of Postgres's programs. */
export const POSTGRES_PROGRAMS = join(POSTGRES, newestIn(POSTGRES), 'bin')

export const postgresServer: TestEngine = engine(
  'Postgres',
  ['setpriv'],
  ['initdb', 'postgres'].map((program) => join(POSTGRES_PROGRAMS, program)),
)

/** A newer version than Debian's. */
export const NEWER_POSTGRES_PROGRAMS = join(own, 'postgres/bin')

export const newerPostgresServer: TestEngine = engine(
  'a newer Postgres',
  ['setpriv'],
  [join(own, 'postgres/made-from')],
)

export const pooler: TestEngine = engine('a connection pooler', ['setpriv', 'pgbouncer'])

export const browser: TestEngine = engine('a browser', ['chromium'])

/** One engine for tests that need several. */
export function together(...engines: readonly TestEngine[]): TestEngine {
  return { name: engines.map(({ name }) => name).join(' and '), missing: engines.flatMap(({ missing }) => missing) }
}

function engine(name: string, programs: readonly string[], files: readonly string[] = []): TestEngine {
  const missing = [...programs.filter((program) => !findProgram(program)), ...files.filter((file) => !existsSync(file))]
  return { name, missing }
}

function newestIn(folder: string): string {
  const versions = existsSync(folder) ? readdirSync(folder).map(Number).filter(Number.isInteger) : []
  return String(Math.max(0, ...versions))
}

/** Also looks in /usr/sbin, where Debian installs some servers and which is often not on the PATH. */
export function findProgram(program: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path))
}

/** `describe` for tests that need the engine. */
export function describeWith({ name, missing }: TestEngine, title: string, stories: () => void): void {
  if (missing.length === 0) {
    describe(title, stories)
    return
  }
  const reason = `needs ${name}, and there is no ${missing.join(', ')}: npm run engines`
  if (process.env.CALLPLANE_REQUIRE_ENGINES === '1') {
    test(title, () => {
      throw new Error(`${title} ${reason}`)
    })
    return
  }
  console.warn(`Left out: ${title} ${reason}`)
  describe.skip(`${title} (${reason})`, stories)
}
