/** Input that a container does not read, with a program in the engine's place that has no race in it. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createContainerBackend } from '../../src/backends/container/index.ts'
import { createManualClock } from '../../src/testing/clock.ts'
import { backendContext } from './context.ts'
import { partsWith } from './tool-server.ts'

/** More than any pipe holds. */
const MUCH = { much: 'x'.repeat(4_000_000) }

/** The engine closes its standard input, and then does this for a container. */
async function runWith(script: string, args: object): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-engine-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const engine = join(folder, 'engine.sh')
  writeFileSync(engine, `#!/bin/sh\n[ "$1" = run ] || exit 0\nexec 0<&-\n${script}\n`)
  chmodSync(engine, 0o755)
  const spec = { kind: 'container', image: 'localhost/tool', engine }
  const backend = createContainerBackend(spec, partsWith(createManualClock()))
  onTestFinished(() => backend.close?.())
  return backend.execute(args, backendContext())
}

test('a tool that does not read its input and answers has answered', async () => {
  expect(await runWith('echo done', MUCH)).toEqual({ result: 'done\n' })
})

test('one that has read not all of it and said nothing may have been cut off: that is no result', async () => {
  await expect(runWith('exit 0', MUCH)).rejects.toMatchObject({ kind: 'upstream', retryable: true })
})
