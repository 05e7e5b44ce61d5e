/** The Fetch hosts of docs/guides/frameworks.md, each as the page shows it, in its own runtime. */
import { beforeAll, test } from 'vitest'
import { buildConsole } from '../../scripts/console-files.ts'
import { BUN, DENO, describeWith, jsRuntimes } from '../engines/engines.ts'
import type { Command } from '../engines/tied-process.ts'
import { readConsole, useMounted } from './mounted.ts'
import { startHost } from './project.ts'

const ON_BUN: Command = [BUN, '--conditions=callplane-source', 'run']
const ON_DENO: Command = [DENO, 'run', '--conditions=callplane-source']

/** As the page lists them. */
const PERMISSIONS = ['read', 'write', 'net', 'env', 'sys', 'ffi'].map((name) => `--allow-${name}`)

const DENO_PROGRAM: Command = [...ON_DENO, '--no-check', ...PERMISSIONS]

describeWith(jsRuntimes, 'in another runtime, as the page shows it', () => {
  beforeAll(async () => void (await buildConsole()), 60_000)

  test.each<[string, string, Command, boolean]>([
    ['Bun', 'bun.ts', ON_BUN, false],
    ['Elysia', 'elysia.ts', ON_BUN, false],
    ['a server of its own in Bun', 'alone.ts', ON_BUN, true],
    ['Deno', 'deno.ts', DENO_PROGRAM, false],
    ['a server of its own in Deno', 'alone.ts', DENO_PROGRAM, true],
  ])(
    '%s serves every protocol from SQLite, and every link is below the path',
    async (_name, file, program, webSocket) => {
      const origin = await startHost({ file, program })

      await useMounted({ base: `${origin}/api`, webSocket })
      await readConsole(`${origin}/api`)
    },
  )
})
