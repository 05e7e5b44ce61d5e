import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createWasmBackend } from '../../src/backends/wasm/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { describeBackend, type ToolBehaviour } from '../../src/testing/suites/backend/backend.ts'
import { describeWith, wasmCompiler } from '../engines/engines.ts'
import { backendContext } from './context.ts'
import { showsRuntimeSemantics } from './runtime-semantics.ts'
import { partsWith } from './tool-server.ts'
import { compileWat, folderWith, folderWithC, WAT } from './wasm-modules.ts'

const MIB = 1024 * 1024

function open(folder: string, settings: object = {}, clock = createManualClock()) {
  const spec = { kind: 'wasm', module: 'tool.wasm', memoryMb: 16, maxBytes: MIB, ...settings }
  const backend = createWasmBackend(spec, { ...partsWith(clock), folder })
  onTestFinished(() => backend.close?.())
  const run = async (args: unknown = {}, signal = new AbortController().signal) =>
    backend.execute(args, backendContext({ signal }))
  return { backend, run, clock }
}

const openWat = async (source: string, settings: object = {}) => open(folderWith(await compileWat(source)), settings)

/** The next thread that any code starts. */
async function nextThread(): Promise<Worker> {
  const [worker] = await once(process, 'worker')
  return worker as Worker
}

const tools: Record<ToolBehaviour, string> = { echo: WAT.echo, hang: WAT.loop, fail: WAT.trap, flood: WAT.flood }

describeBackend(
  { describe, test, expect },
  'wasm',
  async (behaviour, clock) => {
    const started = nextThread()
    const begun = started.then(async (worker) => void (await once(worker, 'message')))
    const { backend } = open(folderWith(await compileWat(tools[behaviour])), { threads: 1 }, clock)
    // A module that hangs is stopped by ending its thread. Other modules leave the thread for the next call.
    const stopped = behaviour === 'hang' ? started.then(async (worker) => void (await once(worker, 'exit'))) : begun
    return { backend, begun, stopped, cleanup: async () => {} }
  },
  showsRuntimeSemantics,
)

test('output that is not JSON is the result as text', async () => {
  const { run } = await openWat(WAT.garbage)

  expect(await run()).toEqual({ result: 'not json!' })
})

test.each([
  ['trap', WAT.trap, { code: 'UPSTREAM', details: { trap: 'unreachable' } }],
  ['exit code', WAT.exits, { code: 'UPSTREAM', details: { exit_code: 3, stderr: 'oops' } }],
  ['output that is not text', WAT.notText, { code: 'BAD_ANSWER' }],
  ['output without end', WAT.flood, { code: 'OUTPUT_TOO_LARGE', details: { limit_bytes: MIB } }],
  ['want of memory', WAT.eater, { code: 'OUT_OF_MEMORY', details: { limit_bytes: 16 * MIB, memory_bytes: 16 * MIB } }],
  ['write of thousands of buffers', WAT.manyBuffers, { code: 'UPSTREAM', details: { exit_code: 28 } }],
])('%s: a failure that need not be tried again', async (_what, source, expected) => {
  const { run } = await openWat(source)

  await expect(run()).rejects.toMatchObject({ kind: 'upstream', retryable: false, ...expected })
})

test('a module may end itself in peace', async () => {
  const { run } = await openWat(WAT.exitsWell)

  expect(await run()).toEqual({ a: 1 })
})

test('a table does not grow past what the module declares', async () => {
  const { run } = await openWat(WAT.tableEater)

  expect(await run()).toEqual({ stayed: true })
})

test('one thread serves many calls, and no call finds what another left in memory', async () => {
  let threads = 0
  const count = () => threads++
  process.on('worker', count)
  onTestFinished(() => void process.off('worker', count))
  const { run } = await openWat(WAT.counter, { threads: 1 })

  const results = [await run(), await run(), ...(await Promise.all([run(), run()]))]

  expect(results).toEqual(Array(4).fill({ n: 1 }))
  expect(threads).toBe(1)
})

test('after a call that had to be ended the next one runs', async () => {
  const { run } = await openWat(WAT.loop, { threads: 1 })
  const first = new AbortController()
  const second = new AbortController()
  const started = nextThread()
  const ended = expect(run({}, first.signal)).rejects.toThrow('enough')
  await once(await started, 'message')
  const waits = expect(run({}, second.signal)).rejects.toThrow('no more')

  const replaced = nextThread()
  first.abort(new Error('enough'))

  await ended
  await once(await replaced, 'message')
  second.abort(new Error('no more'))
  await waits
})

test('a limited number of calls wait for a thread: the next one is refused as retryable', async () => {
  const { run } = await openWat(WAT.loop, { threads: 1 })
  const leaving = new AbortController()
  const calls = Array.from({ length: 1 + 64 }, () => run({}, leaving.signal).catch(() => 'left'))

  await expect(run()).rejects.toMatchObject({ kind: 'overloaded', retryable: true })

  leaving.abort(new Error('enough'))
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['left']))
})

test('an idle thread ends after a while', async () => {
  const started = nextThread()
  const { run, clock } = await openWat(WAT.echo)
  await run({ a: 1 })
  const ended = once(await started, 'exit')

  clock.advance(300_000)

  await ended
  expect(await run({ a: 2 })).toEqual({ a: 2 })
})

test('a running call gets a fault when the server closes', async () => {
  const started = nextThread()
  const { backend, run } = await openWat(WAT.loop)
  const call = expect(run()).rejects.toMatchObject({ kind: 'unavailable' })
  await once(await started, 'message')

  await backend.close?.()

  await call
})

describeWith(wasmCompiler, 'wasm from C', () => {
  test('a program in C reads its input and finds no files, no environment and no arguments', async () => {
    const { run } = open(
      folderWithC(`
        #include <stdio.h>
        #include <stdlib.h>
        extern char **environ;
        int main(int argc, char **argv) {
          char in[256] = {0};
          fread(in, 1, 255, stdin);
          FILE *file = fopen("/etc/passwd", "r");
          printf("{\\"in\\": %s, \\"file\\": %s, \\"env\\": %d, \\"argc\\": %d}", in, file ? "true" : "false",
                 environ && environ[0] ? 1 : 0, argc);
        }`),
    )

    expect(await run({ text: 'héllo' })).toEqual({ in: { text: 'héllo' }, file: false, env: 0, argc: 0 })
  })

  test('a C program that allocates without end is stopped, and the fault says why', async () => {
    const { run } = open(
      folderWithC(`
        #include <stdlib.h>
        #include <string.h>
        char *volatile kept;
        int main(void) { for (;;) { kept = malloc(1 << 20); if (!kept) abort(); memset(kept, 1, 1 << 20); } }`),
    )

    await expect(run()).rejects.toMatchObject({ kind: 'upstream', code: 'OUT_OF_MEMORY' })
  })
})
