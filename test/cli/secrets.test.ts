import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { QUICKSTART, serveProcess, temporaryFolder } from './processes.ts'
import { runCommand } from './streams.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 30_000 })

test('secrets come from standard input, are listed by name and removed, and no file shows them', async () => {
  const env = { CALLPLANE_DATA: join(await temporaryFolder(), 'data') }
  const value = 'hunter2-hunter2'

  const set = await runCommand(['secrets', 'set', 'search-api-key'], { env, stdin: `${value}\n` })
  const fields = JSON.stringify({ client_id: 'a', client_secret: value })
  await runCommand(['secrets', 'set', 'crm', '--fields'], { env, stdin: fields })
  const listed = await runCommand(['secrets', 'list', '--json'], { env })
  const removed = await runCommand(['secrets', 'remove', 'crm'], { env })
  const again = await runCommand(['secrets', 'remove', 'crm'], { env })
  const left = await runCommand(['secrets', 'list'], { env })

  expect(set).toEqual({ code: 0, stdout: 'Stored the secret search-api-key.\n', stderr: '' })
  expect(JSON.parse(listed.stdout)).toEqual(['crm', 'search-api-key'])
  expect([removed.code, again.code, left.stdout]).toEqual([0, 1, 'search-api-key\n'])
  const files = readdirSync(env.CALLPLANE_DATA, { withFileTypes: true }).filter((entry) => entry.isFile())
  expect(files.map(({ name }) => name)).toContain('callplane.db')
  for (const { name } of files) expect(readFileSync(join(env.CALLPLANE_DATA, name)).includes(value)).toBe(false)
})

test('a key of the environment seals instead of one in the folder', async () => {
  const CALLPLANE_DATA = join(await temporaryFolder(), 'data')
  const env = { CALLPLANE_DATA, CALLPLANE_VAULT_KEY: randomBytes(32).toString('hex') }

  const { code } = await runCommand(['secrets', 'set', 'a'], { env, stdin: 'value' })

  expect(code).toBe(0)
  expect(readdirSync(CALLPLANE_DATA)).not.toContain('vault.key')
})

test('a secret that cannot be stored or found is reported by name, without its value', async () => {
  const env = { CALLPLANE_DATA: join(await temporaryFolder(), 'data') }
  const wrong: [string[], string, RegExp, number][] = [
    [[], '', /set, list or remove/, 2],
    [['print', 'a'], '', /set, list or remove/, 2],
    [['set'], 'hunter2', /Name the secret/, 2],
    [['set', '../a'], 'hunter2', /cannot be the name of a secret/, 2],
    [['set', 'a'], '\n', /Standard input is empty/, 2],
    [['set', 'a', '--fields'], 'hunter2', /JSON object of strings/, 2],
    [['set', 'a', '--fields'], '{"hunter2":1}', /JSON object of strings/, 2],
    [['set', 'a', 'hunter3'], '', /Unexpected argument "hunter3"/, 2],
    [['list'], '', /There is no database in/, 1],
  ]
  for (const [args, stdin, message, exit] of wrong) {
    const { code, stdout, stderr } = await runCommand(['secrets', ...args], { env, stdin })
    expect(stderr).toMatch(message)
    expect(stdout + stderr).not.toContain('hunter2')
    expect(code).toBe(exit)
  }
})

test('while a server uses the folder nothing is changed, and the message says so', async () => {
  const data = join(await temporaryFolder(), 'data')
  await serveProcess([QUICKSTART, '--data', data])

  const { code, stderr } = await runCommand(['secrets', 'set', 'a', '--data', data], { stdin: 'value' })

  expect(stderr).toBe(`callplane: A server is using ${data}. Stop it, run this command again, and restart it.\n`)
  expect(code).toBe(1)
})
