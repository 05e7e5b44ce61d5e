/**
 * Programs that some tests need besides npm packages: a container engine, a C compiler for WebAssembly. If one is
 * missing, its tests are skipped and the run names it. With CALLPLANE_REQUIRE_ENGINES=1 that is a failure.
 */
import { existsSync } from 'node:fs'
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

function engine(name: string, programs: readonly string[], files: readonly string[] = []): TestEngine {
  const missing = [...programs.filter((program) => !onPath(program)), ...files.filter((file) => !existsSync(file))]
  return { name, missing }
}

function onPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))
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
