import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { checkImports, ruleNames } from './import-rules.ts'
import { readPage } from './import-table.ts'

const root = join(import.meta.dirname, '../..')

test('nothing imports what its folder may not import, and every source was read', { timeout: 180_000 }, async () => {
  const sources = (await readdir(join(root, 'src'), { recursive: true })).filter((name) => name.endsWith('.ts'))

  const report = await checkImports(root, ['src', 'examples'])

  expect(report.violations).toEqual([])
  // A checker that cannot read TypeScript finds no violation either.
  expect(report.files).toEqual(expect.arrayContaining(sources.map((name) => `src/${name}`)))
  expect(report.files.length).toBeGreaterThan(0)
})

test('each planted violation is caught, by its own rule', async () => {
  const planted = [
    ['core', 'src/core/reads-files.ts', "import 'node:fs'"],
    ['core', 'src/core/uses-a-package.ts', "import 'lib'"],
    ['core', 'src/core/knows-a-store.ts', "import type { T } from '../stores/a/store.ts'"],
    ['engine', 'src/engine/reads-files.ts', "import 'node:fs'"],
    ['engine', 'src/engine/knows-the-wire.ts', "import '../wire/shared.ts'"],
    ['wire', 'src/wire/knows-the-engine.ts', "import '../engine/engine.ts'"],
    ['platform', 'src/platform/knows-a-service.ts', "import '../telemetry/log.ts'"],
    ['protocols', 'src/protocols/a/runs-programs.ts', "import '../../platform/processes.ts'"],
    ['protocols', 'src/protocols/a/reads-files.ts', "import 'node:fs'"],
    ['protocols', 'src/protocols/a/uses-a-package.ts', "import 'lib'"],
    ['protocols', 'src/protocols/a/knows-a-sibling.ts', "import '../b/wire.ts'"],
    ['protocols', 'src/protocols/a/knows-the-engine.ts', "import '../../engine/engine.ts'"],
    ['protocols', 'src/protocols/a/knows-a-carrier.ts', "import '../../carriers/a/carrier.ts'"],
    ['adapters', 'src/carriers/a/knows-a-protocol.ts', "import '../../protocols/a/wire.ts'"],
    ['adapters', 'src/stores/b/knows-a-sibling.ts', "import '../a/store.ts'"],
    ['backends', 'src/backends/a/knows-a-codec.ts', "import '../../protocols/a/codec.ts'"],
    ['backends', 'src/backends/a/knows-a-sibling.ts', "import '../b/backend.ts'"],
    ['services', 'src/security/knows-a-store.ts', "import '../stores/a/store.ts'"],
    ['codegen', 'src/codegen/reads-files.ts', "import 'node:fs'"],
    ['codegen', 'src/codegen/uses-a-package.ts', "import 'lib'"],
    ['codegen', 'src/codegen/knows-a-codec.ts', "import '../protocols/a/codec.ts'"],
    ['codegen-runtime', 'src/codegen/a/runtime-text.ts', "import '../../core/fault.ts'"],
    ['testing', 'src/testing/knows-telemetry.ts', "import '../telemetry/log.ts'"],
    ['client', 'src/client/reads-files.ts', "import 'node:fs'"],
    ['react', 'src/react/knows-the-engine.ts', "import '../engine/engine.ts'"],
    ['client', 'src/client/knows-the-codec.ts', "import '../protocols/a/codec.ts'"],
    ['client', 'src/client/knows-a-broker.ts', "import './mqtt/index.ts'"],
    ['client-of-brokers', 'src/client/kafka/knows-a-sibling.ts', "import '../mqtt/index.ts'"],
    ['client-of-brokers', 'src/client/kafka/knows-a-carrier.ts', "import '../../carriers/a/carrier.ts'"],
    ['agents', 'src/agents/knows-a-carrier.ts', "import '../carriers/a/carrier.ts'"],
    ['server', 'src/server/knows-the-cli.ts', "import '../cli/main.ts'"],
    ['adapters-meet-in-compose', 'src/server/picks-a-store.ts', "import '../stores/a/store.ts'"],
    ['cli', 'src/cli/knows-a-store.ts', "import '../stores/a/store.ts'"],
    ['index', 'src/index.ts', "import './stores/a/store.ts'"],
    ['examples', 'examples/a/reaches-inside.ts', "import '../../src/server/create-server.ts'"],
    ['folder-without-a-rule', 'src/misc/thing.ts', "import '../core/call.ts'"],
    ['published-code-needs-no-dev-dependency', 'src/stores/a/uses-a-test-tool.ts', "import 'dev-lib'"],
    ['not-found', 'src/server/imports-nothing.ts', "import './missing.ts'"],
    ['circle', 'src/core/one.ts', "import './other.ts'"],
  ] as const
  const allowed = {
    'src/core/call.ts': 'export type T = string',
    'src/core/fault.ts': "import './call.ts'",
    'src/engine/engine.ts': "import '../core/fault.ts'",
    'src/wire/shared.ts': "import '../core/fault.ts'",
    'src/platform/processes.ts': "import 'node:child_process'; import '../core/fault.ts'",
    'src/core/other.ts': "import './one.ts'",
    'src/protocols/a/wire.ts': "import type { T } from '../../core/call.ts'; export type U = T",
    'src/protocols/a/codec.ts': "import './wire.ts'",
    'src/protocols/b/wire.ts': "import '../../core/fault.ts'",
    'src/carriers/a/carrier.ts': "import 'node:http'; import 'lib'; import '../../core/call.ts'",
    'src/backends/b/backend.ts':
      "import 'node:http'; import '../../platform/processes.ts'; import '../../protocols/a/wire.ts'",
    'src/stores/a/store.ts': "import 'lib'; import '../../core/call.ts'; export type T = string",
    'src/telemetry/log.ts': "import 'lib'; import '../core/call.ts'",
    'src/codegen/targets.ts': "import '../core/fault.ts'; import '../protocols/a/wire.ts'",
    'src/client/client.ts': "import '../core/fault.ts'; import '../protocols/a/wire.ts'",
    'src/client/mqtt/index.ts': "import 'node:crypto'; import 'lib'; import '../client.ts'",
    'src/server/create-server.ts':
      "import '../stores/a/store.ts'; import '../protocols/a/codec.ts'; import '../telemetry/log.ts'",
    'src/server/index.ts': "import './create-server.ts'",
    'src/schemas/index.ts': "import '../core/call.ts'",
    'src/testing/index.ts': "import '../schemas/index.ts'",
    'src/cli/main.ts': "import 'node:process'; import '../server/index.ts'; import '../core/fault.ts'",
    'examples/b/main.ts': "import 'node:http'; import '../../src/index.ts'",
  }
  const folder = await plant({ ...allowed, ...Object.fromEntries(planted.map(([, file, source]) => [file, source])) })

  const report = await checkImports(folder, ['src', 'examples'])

  const caught = report.violations.map(({ rule, from }) => `${rule}: ${from}`)
  expect(new Set(planted.map(([rule]) => rule))).toEqual(new Set(ruleNames))
  for (const [rule, file] of planted) expect(caught).toContain(`${rule}: ${file}`)
  const blamed = new Set(report.violations.map(({ from }) => from))
  expect(Object.keys(allowed).filter((file) => blamed.has(file))).toEqual([])
})

test('the table of imports in ARCHITECTURE.md is what the rules say', () => {
  const { present, wanted } = readPage()

  expect(present, 'Run: npm run docs:imports').toBe(wanted)
})

/** A small package with one dependency and one devDependency. */
async function plant(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-imports-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const all: Record<string, string> = {
    ...files,
    'package.json': '{ "type": "module", "dependencies": { "lib": "1" }, "devDependencies": { "dev-lib": "1" } }',
    'node_modules/lib/package.json': '{ "name": "lib", "main": "index.js" }',
    'node_modules/lib/index.js': '',
    'node_modules/dev-lib/package.json': '{ "name": "dev-lib", "main": "index.js" }',
    'node_modules/dev-lib/index.js': '',
  }
  for (const [name, source] of Object.entries(all)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), source)
  }
  return folder
}
