import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createContainerBackend } from '../../src/backends/container/index.ts'
import type { BackendParts } from '../../src/core/ports/backend.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { describeBackend, type ToolBehaviour } from '../../src/testing/suites/backend/backend.ts'
import { containers, describeWith } from '../engines/engines.ts'
import { type Podman, startPodman } from '../engines/podman.ts'
import { verifies } from '../requirements.ts'
import { backendContext } from './context.ts'
import { showsRuntimeSemantics } from './runtime-semantics.ts'
import { partsWith } from './tool-server.ts'

// A container takes a fifth of a second, and many times that on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

describeWith(containers, 'containers', () => {
  let podman: Podman
  beforeAll(() => {
    podman = startPodman()
  })
  afterAll(() => podman?.remove())

  const shell = (script: string) => ['/bin/busybox', 'sh', '-c', script]

  function open(command: readonly string[], settings: object = {}, parts: Partial<BackendParts> = {}) {
    const spec = { kind: 'container', ...podman.settings, command, ...settings }
    const backend = createContainerBackend(spec, { ...partsWith(createManualClock()), ...parts })
    onTestFinished(() => backend.close?.())
    const run = async (args: unknown = {}, signal = new AbortController().signal) =>
      backend.execute(args, backendContext({ signal }))
    return { backend, run }
  }

  test.each([
    ['bearer', { Authorization: 'Bearer s3cret-token' }, 's3cret-token'],
    ['basic', { Authorization: `Basic ${Buffer.from('ada:s3cret').toString('base64')}` }, 'ada:s3cret'],
    ['api_key_header', { 'X-Api-Key': 's3cret-key' }, 's3cret-key'],
  ] as const)('a tool with %s finds its credential in its environment', async (profile, headers, expected) => {
    const { backend } = open(shell('echo "[$CALLPLANE_CREDENTIAL]"'))
    const auth = { profile, secretRef: 'tool', ...(profile === 'api_key_header' && { headerName: 'X-Api-Key' }) }
    const credential = async () => ({ headers, refused: () => false })

    const result = await backend.execute({}, backendContext({ auth, credential }))

    expect(result).toEqual({ result: `[${expected}]\n` })
  })

  const tools: Record<ToolBehaviour, string[]> = {
    echo: ['/bin/busybox', 'cat'],
    hang: ['/bin/busybox', 'sleep', '1000000'],
    fail: shell('echo broken >&2; exit 3'),
    flood: ['/bin/busybox', 'yes'],
  }

  describeBackend(
    { describe, test, expect },
    'container',
    async (behaviour, clock) => {
      const { backend } = open(tools[behaviour], { maxBytes: 1_000_000 }, { clock })
      return {
        backend,
        // Looked for when it is asked for, as is whether it is gone.
        get begun() {
          return podman.untilRunning()
        },
        get stopped() {
          return podman.untilGone()
        },
        cleanup: async () => expect(podman.containers()).toEqual([]),
      }
    },
    showsRuntimeSemantics,
  )

  test('after a timeout the container is removed', async () => {
    const { run } = open(tools.hang)
    const control = new AbortController()
    const call = expect(run({}, control.signal)).rejects.toThrow('enough')
    await podman.untilRunning()

    control.abort(new Error('enough'))

    await call
    expect(podman.containers()).toEqual([])
  })

  test('a call that ends before its container is created leaves no container', async () => {
    const { run } = open(tools.hang)
    const control = new AbortController()
    const call = expect(run({}, control.signal)).rejects.toThrow('at once')
    setImmediate(() => control.abort(new Error('at once')))

    await call
    expect(podman.containers()).toEqual([])
  })

  test('it has no network, no file it can write, no capability, no root and no proxy', async () => {
    vi.stubEnv('HTTPS_PROXY', 'http://user:secret@proxy.example')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { run } = open(
      shell(`cat > /dev/null
        links=$(ls /sys/class/net | tr '\\n' ' ')
        root=$(awk '$2 == "/" { print substr($4, 1, 2) }' /proc/mounts)
        echo "{\\"links\\": \\"$links\\", \\"root\\": \\"$root\\", \\"uid\\": $(id -u), \\"proxy\\": \\"$HTTPS_PROXY\\",
          \\"capabilities\\": \\"$(awk '/CapEff/ { print $2 }' /proc/self/status)\\",
          \\"noNewPrivileges\\": $(awk '/NoNewPrivs/ { print $2 }' /proc/self/status)}"`),
    )

    expect(await run()).toEqual({
      links: 'lo ',
      root: 'ro',
      uid: 65_534,
      proxy: '',
      capabilities: '0000000000000000',
      noNewPrivileges: 1,
    })
  })

  test('it has no more memory and no more processes than it may', async () => {
    const greedy = open(shell('cat > /dev/null; exec head -c 100m /dev/zero | tail -c 90m'), { memoryMb: 16 })
    const forking = open(shell('for i in 1 2 3 4 5 6 7 8 9 10; do sleep 100 & done; echo forked'), { pids: 5 })

    await expect(greedy.run()).rejects.toMatchObject({ kind: 'upstream', details: { exit_code: 137 } })
    await expect(forking.run()).rejects.toMatchObject({ kind: 'upstream' })
  })

  test('output that is not JSON becomes a text result', async () => {
    const { run } = open(shell('cat > /dev/null; echo done'))

    expect(await run({ much: 'x'.repeat(1_000_000) })).toEqual({ result: 'done\n' })
  })

  test('a tool that leaves most of its input unread never loses its output', async () => {
    const { run } = open(shell('x=$(head -c 60000 /dev/zero | tr "\\0" x); head -c 1 > /dev/null; echo "$x"'))
    const input = { much: 'x'.repeat(3_000_000) }
    const answer = { result: `${'x'.repeat(60_000)}\n` }

    // If podman copies the streams, about 1 run in 12 loses output.
    for (let round = 0; round < 8; round++) {
      const results = await Promise.all(Array.from({ length: 5 }, () => run(input)))

      expect(results.every((result) => isDeepStrictEqual(result, answer))).toBe(true)
    }
  })

  test('it can open its standard streams by name', async () => {
    const copying = open(shell('cat /dev/stdin > /dev/stdout'))
    const failing = open(shell('echo broken > /dev/stderr; exit 3'))

    expect(await copying.run({ said: 'hello' })).toEqual({ said: 'hello' })
    await expect(failing.run()).rejects.toMatchObject({ details: { exit_code: 3, stderr: 'broken' } })
  })

  test('large input and large output pass', async () => {
    const { run } = open(tools.echo)
    const much = { much: 'x'.repeat(3_000_000) }

    expect(await run(much)).toEqual(much)
  })

  test('the fault has the exit code and the output', async () => {
    const { run } = open(tools.fail)

    await expect(run()).rejects.toMatchObject({
      kind: 'upstream',
      retryable: false,
      details: { exit_code: 3, stderr: 'broken' },
    })
  })

  test('the fault names a missing image', async () => {
    verifies('contract:048', 'contract:057')
    const { run } = open([], { image: 'localhost/none' })

    await expect(run()).rejects.toMatchObject({
      kind: 'isolation-unavailable',
      retryable: false,
      message: expect.stringContaining('localhost/none is missing'),
    })
  })

  test('a start removes the containers of a killed server, and no others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'callplane-killed-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const source = join(import.meta.dirname, '../../src/backends/container/index.ts')
    const spec = { kind: 'container', ...podman.settings, command: tools.hang }
    writeFileSync(
      join(folder, 'server.ts'),
      `import { createContainerBackend } from ${JSON.stringify(source)}
       const log = { debug() {}, info() {}, warn() {}, error() {} }
       const backend = createContainerBackend(${JSON.stringify(spec)}, { folder: '/', log } as never)
       const credential = async () => undefined
       await backend.execute({}, { log, credential, signal: new AbortController().signal } as never)`,
    )
    const server = spawn(process.execPath, [join(folder, 'server.ts')], { stdio: 'ignore' })
    await podman.untilRunning()
    const [left] = podman.containers()
    server.kill('SIGKILL')
    await once(server, 'exit')
    const other = open(tools.hang)
    const control = new AbortController()
    const working = expect(other.run({}, control.signal)).rejects.toThrow('over')
    await vi.waitUntil(() => podman.containers('running').some((name) => name !== left), { timeout: 30_000 })
    const lines: LogLine[] = []

    const next = open(tools.echo, {}, { log: createMemoryLog(lines) })
    await next.backend.close?.()

    expect(podman.containers()).toHaveLength(1)
    expect(podman.containers()).not.toContain(left)
    control.abort(new Error('over'))
    await working
  })

  test('a call under way when the server closes is ended, container and all', async () => {
    const { backend, run } = open(tools.hang)
    const call = expect(run()).rejects.toMatchObject({ kind: 'unavailable' })
    await podman.untilRunning()

    await backend.close?.()

    await call
    expect(podman.containers()).toEqual([])
  })
})
