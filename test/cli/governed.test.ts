import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../engines/free-port.ts'
import { callOver, runProcess, SOURCE, serveProcess, temporaryFolder } from './processes.ts'

// A process for each command, and they start slowly on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const ROOT = join(import.meta.dirname, '../..')
const EXAMPLE = join(ROOT, 'examples/governed')
const CALLPLANE = 'npm run -s callplane -- '

/** Every block of commands, with the block that shows what they print. */
async function blocksOf(file: string): Promise<{ commands: string; output: string | undefined }[]> {
  const found = (await readFile(file, 'utf8')).matchAll(/```sh\n([^`]+)```\n(?:\n```\n([^`]+)```\n)?/g)
  return [...found].map(([, commands = '', output]) => ({ commands, output }))
}

/** Runs the commands in a shell, as a reader would. The output includes standard error. */
async function paste(commands: string, env: Record<string, string>): Promise<string> {
  const program = `"$NODE" --conditions=callplane-source ${join(ROOT, 'src/cli/main.ts')} `
  const script = `exec 2>&1\n${commands.replaceAll(CALLPLANE, program)}`
  const shell = spawn('sh', ['-c', script], { cwd: ROOT, env: { ...process.env, NODE: process.execPath, ...env } })
  onTestFinished(() => void shell.kill('SIGKILL'))
  const [said] = await Promise.all([text(shell.stdout), once(shell, 'exit')])
  return said
}

/** An ellipsis in the shown output matches any text. */
function shown(output: string): RegExp {
  const pieces = output.split(/\s*…\s*/).map((piece) => piece.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${pieces.join('[^]*?')}$`)
}

test('the example does what its page says, command by command', async () => {
  const [start, ...steps] = await blocksOf(join(EXAMPLE, 'README.md'))
  const data = await temporaryFolder()
  const words = start?.commands.trim().replace(`${CALLPLANE}serve `, '').split(' ') ?? []
  const { url } = await serveProcess([...words, '--data', data])

  let id = ''
  for (const { commands, output } of steps) {
    const said = await paste(commands, { CALLPLANE_URL: url, ID: id })
    id = /^[\da-f-]{36}(?= +pending)/m.exec(said)?.[0] ?? id
    expect(said).toMatch(shown(output ?? ''))
  }
  expect(steps).toHaveLength(7)
})

const one = `
  import { operation } from '${SOURCE}'
  export const op = operation('v1:One', { run: () => 1 })
  export const server = { policy: { default: 'allow' } }`

test('--policy counts before the policy of the application, and its changes are noticed', async () => {
  const folder = await temporaryFolder({ 'a.ts': one, 'policy.yaml': 'default: deny\n' })
  const policy = join(folder, 'policy.yaml')
  const server = await serveProcess([folder, '--watch', '--policy', policy, '--data', join(folder, '.data')])

  const denied = await callOver(server.url, 'v1:One')
  await writeFile(policy, 'default: allow\n')
  const allowed = await callOver((await server.nextStart()).url, 'v1:One')

  expect(denied.body).toMatchObject({ state: 'error', error: { code: 'POLICY_DENIED' } })
  expect(allowed.body).toMatchObject({ state: 'complete', result: 1 })
})

test('a policy with a mistake keeps the server from starting, and says where', async () => {
  const folder = await temporaryFolder({ 'a.ts': one, 'policy.yaml': 'default: deny\nrulez: []\n' })
  const serve = (policy: string) =>
    runProcess([
      'serve',
      join(folder, 'a.ts'),
      '--policy',
      join(folder, policy),
      '--port',
      '0',
      '--data',
      join(folder, '.data'),
    ])

  expect(await serve('policy.yaml')).toMatchObject({ code: 1, stderr: expect.stringContaining('policy.yaml:2') })
  expect(await serve('other.yaml')).toMatchObject({ code: 1, stderr: expect.stringContaining('other.yaml') })
})

test('--grpc-port serves the Tool Contract over gRPC as well', async () => {
  const folder = await temporaryFolder({ 'a.ts': one })
  const port = await freePort()
  await serveProcess([join(folder, 'a.ts'), '--grpc-port', String(port), '--data', join(folder, '.data')])
  const session = connect(`http://127.0.0.1:${port}`)
  onTestFinished(() => session.destroy())

  const stream = session.request({ ':method': 'POST', ':path': '/nowhere', 'content-type': 'application/grpc+json' })
  stream.end()
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]

  expect(headers[':status']).toBe(200)
  expect(String(headers['content-type'])).toMatch(/^application\/grpc/)
})
