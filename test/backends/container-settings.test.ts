import { expect, onTestFinished, test, vi } from 'vitest'
import { createContainerBackend, parseContainerSettings } from '../../src/backends/container/index.ts'
import type { Fault } from '../../src/core/fault.ts'
import { CODES, codeOf } from '../../src/protocols/contract/faults.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { verifies } from '../requirements.ts'
import { backendContext } from './context.ts'
import { partsWith } from './tool-server.ts'

const image = 'registry.example/tools/convert:1.4'

test('an omitted setting has its default', () => {
  expect(parseContainerSettings({ kind: 'container', image })).toEqual({
    image,
    command: [],
    engineArgs: [],
    runArgs: [],
    user: '65534:65534',
    memoryMb: 256,
    cpus: 1,
    pids: 64,
    pull: 'never',
    maxBytes: 4 * 1024 * 1024,
  })
})

test.each([
  ['image', undefined],
  ['image', '--privileged'],
  ['command', 'cat'],
  ['engine', ''],
  ['engineArgs', ['--root', '/tmp']],
  ['engineArgs', ['exec']],
  ['runArgs', ['--privileged']],
  ['runArgs', ['--privileged=true']],
  ['runArgs', ['--network=host']],
  ['runArgs', ['--volume=/:/host']],
  ['runArgs', ['-v=/:/host']],
  ['runArgs', ['--ulimit', 'nofile=1024']],
  ['user', '0:0'],
  ['user', 'root'],
  ['memoryMb', 0],
  ['cpus', 0],
  ['pids', 1.5],
  ['pull', 'always'],
  ['maxBytes', -1],
  ['volumes', ['/']],
])('a wrong backend.%s is refused by name: %j', (name, value) => {
  expect(() => parseContainerSettings({ kind: 'container', image, [name]: value })).toThrow(
    expect.objectContaining({ kind: 'policy-invalid', message: expect.stringContaining(`backend.${name}`) }),
  )
})

test.each([
  ['neither of the two is on the PATH', undefined, 'Neither podman nor docker'],
  ['the configured engine is missing', './engines/podman', 'There is no program ./engines/podman'],
])('if %s, the container cannot run', async (_what, engine, advice) => {
  verifies('contract:048', 'contract:057')
  vi.stubEnv('PATH', '/nowhere')
  onTestFinished(() => void vi.unstubAllEnvs())
  const spec = { kind: 'container', image, ...(engine !== undefined && { engine }) }
  const backend = createContainerBackend(spec, partsWith(createManualClock()))

  const call = backend.execute({}, backendContext()) as Promise<never>
  const thrown = await call.catch((fault: Fault) => fault)

  expect(thrown).toMatchObject({ retryable: false, message: expect.stringContaining(advice) })
  expect(codeOf(thrown.kind)).toBe('isolation_unavailable')
  expect(CODES[codeOf(thrown.kind)].reason).toBe('tool_isolation_unavailable')
})
