/** An unusable data folder: the process prints one message, exits with 1 and changes no file. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { startServer, temporaryFolder } from './server.ts'

const CLI = join(import.meta.dirname, '../../src/cli/main.ts')
const OPERATIONS = join(import.meta.dirname, 'operations.ts')
/** Processes start slowly on a busy machine. */
const PATIENT = { timeout: 30_000 }

/** Root may write everywhere, so where the tests run as root the server does not. */
const UNPRIVILEGED = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

function startProcess(data: string, user: { uid?: number; gid?: number } = {}) {
  const args = ['--conditions=callplane-source', CLI, 'serve', OPERATIONS, '--port', '0', '--data', data]
  const child = spawn(process.execPath, args, { ...user, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function serve(data: string, user = {}): Promise<{ code: unknown; said: string; printed: string }> {
  const child = startProcess(data, user)
  const [printed, said, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code, said, printed }
}

/** The folder of a server that has run, with a call and its bytes in it. */
async function usedFolder(): Promise<string> {
  const server = await startServer()
  const response = await server.call({ op: 'v1:Rows.Export', ctx: { requestId: 'rows' } }, { Prefer: 'wait=5' })
  expect(await response.json()).toMatchObject({ state: 'complete' })
  await server.close()
  return server.data
}

/** Every file below and its content. */
function contents(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const digests = files.map(({ parentPath, name }) => {
    const path = join(parentPath, name)
    return [relative(folder, path), createHash('sha256').update(readFileSync(path)).digest('hex')]
  })
  return Object.fromEntries(digests.sort())
}

function expectRefusedStart({ code, said, printed }: Awaited<ReturnType<typeof serve>>, message: RegExp): void {
  expect({ code, printed }).toEqual({ code: 1, printed: '' })
  expect(said).toMatch(message)
  // One line for a person, without a stack trace.
  expect(said.trim().split('\n')).toHaveLength(1)
}

const damages: [what: string, damage: (file: string) => void, message: RegExp][] = [
  ['is not a database', (file) => writeFileSync(file, 'hello'.repeat(1_000)), /damaged or is not a database.*backup/],
  ['was cut short', (file) => truncateSync(file, 5_000), /damaged or is not a database.*backup/],
  [
    'has a page of rubbish',
    (file) => {
      const bytes = readFileSync(file)
      writeFileSync(file, bytes.fill(0xa5, 4_096, 8_192))
    },
    /damaged or is not a database.*backup/,
  ],
  ['is of a newer version', (file) => withDatabase(file, 'PRAGMA user_version = 9999'), /schema 9999.*newer version/],
  [
    'belongs to another program',
    (file) => withDatabase(file, 'PRAGMA application_id = 7'),
    /another program.*another data folder/,
  ],
]

test.each(damages)(
  'a database that %s stops the start, and no file is changed',
  PATIENT,
  async (_, damage, message) => {
    const data = await usedFolder()
    damage(join(data, 'callplane.db'))
    const before = contents(data)

    const refused = await serve(data)

    expectRefusedStart(refused, message)
    expect(refused.said).toMatch(/Nothing in it was changed/)
    expect(contents(data)).toEqual(before)
  },
)

test('a start is refused if another server has the database open, and that server continues', PATIENT, async () => {
  const data = await temporaryFolder()
  // A separate process: reading the files here would drop the lock if this process held it.
  const [line] = await once(createInterface(startProcess(data).stdout), 'line')
  const { url } = JSON.parse(line)
  const before = contents(data)

  const refused = await serve(data)

  expectRefusedStart(refused, /in use by another process. Stop that one first/)
  expect(contents(data)).toEqual(before)
  expect((await fetch(`${url}/ready`)).status).toBe(200)
})

test('the refusal names a data folder that is a file or is below a file', PATIENT, async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'file')
  writeFileSync(file, 'mine')

  for (const data of [file, join(file, 'data')]) {
    expectRefusedStart(await serve(data), /data folder .*file.* cannot be used.*--data/)
  }
  expect(contents(folder)).toEqual({ file: createHash('sha256').update('mine').digest('hex') })
})

test('a data folder that may not be written is named in the refusal', PATIENT, async () => {
  const folder = await temporaryFolder()
  const data = join(folder, 'data')
  mkdirSync(data)
  chmodSync(folder, 0o755)
  chmodSync(data, 0o555)

  expectRefusedStart(await serve(data, UNPRIVILEGED), /data folder .* cannot be used.*--data/)
  expect(readdirSync(data)).toEqual([])
})

test('objects that cannot be written stop the start, too', PATIENT, async () => {
  const data = await temporaryFolder()
  writeFileSync(join(data, 'objects'), 'in the way')

  const refused = await serve(data)

  expectRefusedStart(refused, /storage|cannot be used/)
  expect(readFileSync(join(data, 'objects'), 'utf8')).toBe('in the way')
})

function withDatabase(file: string, sql: string): void {
  const db = new Database(file)
  db.exec(sql)
  db.close()
}
