/** Input that a container does not read, tested with a race-free program in place of the container engine. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createContainerBackend } from '../../src/backends/container/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { backendContext } from './context.ts'
import { partsWith } from './tool-server.ts'

/** More than any pipe holds. */
const MUCH = { much: 'x'.repeat(4_000_000) }

/** The engine closes its standard input, and then does this for a container. */
async function runWith(script: string, args: object, context = backendContext()): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-engine-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const engine = join(folder, 'engine.sh')
  writeFileSync(engine, `#!/bin/sh\n[ "$1" = run ] || exit 0\nexec 0<&-\n${script}\n`)
  chmodSync(engine, 0o755)
  const spec = { kind: 'container', image: 'localhost/tool', engine }
  const backend = createContainerBackend(spec, partsWith(createManualClock()))
  onTestFinished(() => backend.close?.())
  return backend.execute(args, context)
}

test('a tool that does not read its input and answers has answered', async () => {
  expect(await runWith('echo done', MUCH)).toEqual({ result: 'done\n' })
})

test('a container that read only part of its input and printed nothing has no result', async () => {
  await expect(runWith('exit 0', MUCH)).rejects.toMatchObject({ kind: 'upstream', retryable: true })
})

test('a credential is handed to the engine in its environment, never on its command line', async () => {
  const credential = async () => ({ headers: { Authorization: 'Bearer s3cret-token' }, refused: () => false })
  const context = backendContext({ auth: { secretRef: 'tool' }, credential })

  const said = await runWith('echo "$* has $CALLPLANE_CREDENTIAL"', {}, context)

  expect(said).toMatchObject({
    result: expect.stringMatching(/--env=CALLPLANE_CREDENTIAL localhost\/tool has s3cret-token\n$/),
  })
})

test('without one the container gets nothing of the kind', async () => {
  expect(await runWith('echo "$*"', {})).toMatchObject({ result: expect.not.stringContaining('CREDENTIAL') })
})
