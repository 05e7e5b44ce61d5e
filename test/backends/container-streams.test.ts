/** Which engines hand their standard streams to the container, tested with a program in place of the engine. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createContainerBackend } from '../../src/backends/container/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { backendContext } from './context.ts'
import { partsWith } from './tool-server.ts'

/** Its container prints the log driver, and the type of the standard input. */
function writeEngine(info: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-engine-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'engine.sh')
  writeFileSync(
    file,
    `#!/bin/sh
    case "$1" in
      info) echo asked >> "$0.asked"; ${info};;
      run)
        for option; do case "$option" in --log-driver=*) echo "$option";; esac; done
        if [ -p /dev/stdin ]; then echo pipe; else echo socket; fi
    esac`,
  )
  chmodSync(file, 0o755)
  return file
}

test.each([
  ['podman 4 on this machine', 'echo false false 4.3.1', '--log-driver=passthrough\npipe\n'],
  ['podman 5 on this machine', 'echo false false 5.0.0-rc1', '--log-driver=passthrough\npipe\n'],
  ['an older podman', 'echo false false 3.4.4', '--log-driver=none\nsocket\n'],
  ['podman on another machine', 'echo true false 4.3.1', '--log-driver=none\nsocket\n'],
  ['podman under SELinux', 'echo false true 4.3.1', '--log-driver=none\nsocket\n'],
  ['docker, which has no such field', 'echo template parsing error >&2; exit 1', '--log-driver=none\nsocket\n'],
])('%s is asked once how its containers get their streams', async (_engine, info, expected) => {
  const engine = writeEngine(info)
  const spec = { kind: 'container', image: 'localhost/tool', engine }
  const backend = createContainerBackend(spec, partsWith(createManualClock()))
  onTestFinished(() => backend.close?.())

  const results = [await backend.execute({}, backendContext()), await backend.execute({}, backendContext())]

  expect(results).toEqual([{ result: expected }, { result: expected }])
  expect(readFileSync(`${engine}.asked`, 'utf8')).toBe('asked\n')
})
