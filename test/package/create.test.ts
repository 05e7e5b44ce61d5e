/** The packed packages, as a user gets them: `npm create callplane` makes projects that install, test, start and answer. */
import { execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { openTool } from '../backends/tool-server.ts'
import { FIXTURES, temporaryFolder } from '../create/make.ts'

// Packing compiles both packages, and installing asks the registry.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 })

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/**
 * The commands of this test's Node, and nothing of the `npm` that runs the test. The certificates that Node trusts stay:
 * the registry may be behind a proxy.
 */
function environment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|CALLPLANE_|VITEST|NODE_(?!EXTRA_CA_CERTS$)|PORT$)/.test(name),
  )
  return { ...Object.fromEntries(own), PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`, ...more }
}

async function npm(folder: string, args: readonly string[], more?: Record<string, string>): Promise<string> {
  const { stdout } = await run('npm', [...args], { cwd: folder, env: environment(more), maxBuffer: 16 * 1024 * 1024 })
  return stdout
}

interface Packed {
  folder: string
  callplane: string
  create: string
  /** A project that the other tests share the installed packages of. */
  project: string
}

let packed: Packed

beforeAll(async () => {
  const folder = temporaryFolder()
  await npm(root, ['pack', '--silent', '--pack-destination', folder])
  await npm(join(root, 'create-callplane'), ['pack', '--silent', '--pack-destination', folder])
  const find = (start: RegExp) => `file:${join(folder, readdirSync(folder).find((name) => start.test(name)) ?? '')}`
  packed = { folder, callplane: find(/^callplane-/), create: find(/^create-/), project: join(folder, 'shop') }
  await create('shop')
  await npm(packed.project, ['install', '--prefer-offline', '--no-audit', '--no-fund'])
  return () => rmSync(folder, { recursive: true, force: true })
})

/** What `npm create callplane` runs. */
function create(name: string, ...options: string[]): Promise<string> {
  const command = ['create-callplane', name, '--callplane', packed.callplane, ...options]
  return npm(packed.folder, ['exec', '--yes', '--prefer-offline', `--package=${packed.create}`, '--', ...command])
}

/** Returns the address. The server ends with the test. */
async function start(project: string): Promise<string> {
  const server = spawn('npm', ['start', '--silent'], {
    cwd: project,
    env: environment({ PORT: '0', CALLPLANE_SECRET_PETS_KEY: 'key-12345678' }),
    stdio: ['ignore', 'pipe', 'inherit'],
    // A group of its own: npm starts a shell, which starts the server.
    detached: true,
  })
  const ended = new Promise((resolve) => server.once('close', resolve))
  onTestFinished(async () => {
    process.kill(-(server.pid as number), 'SIGTERM')
    await ended
  })
  for await (const line of createInterface({ input: server.stdout })) {
    const { msg, url } = JSON.parse(line)
    if (msg !== 'listening') continue
    server.stdout.resume()
    return url
  }
  throw new Error('The server did not start. Its message is above.')
}

test('a made project passes its tests and its type check', async () => {
  const tests = await npm(packed.project, ['test'])
  await npm(packed.project, ['run', 'check'])
  // As the Dockerfile installs: it refuses a lock file that lacks something.
  await npm(packed.project, ['ci', '--omit=dev', '--dry-run', '--prefer-offline', '--no-audit', '--no-fund'])

  expect(tests).toMatch(/7 passed/)
})

test('a made project starts, and its client calls a sync, an async and a stream operation', async () => {
  const url = await start(packed.project)

  const said = await npm(packed.project, ['run', '--silent', 'call'], { CALLPLANE_URL: url })

  expect(said).toMatch(/^Order A-1: Lamp for 40\nRefunded 20 in the recorded call \S+\n(The parcel is here: .+\n){4}$/)
})

test('the installed package serves the console with its compressed files', async () => {
  const url = await start(packed.project)

  const page = await fetch(`${url}/console/`)
  const text = await page.text()
  const [, script = ''] = /<script type="module"[^>]* src="\.\/(assets\/[^"]+)"/.exec(text) ?? []
  const file = await fetch(`${url}/explorer/${script}`, { headers: { 'Accept-Encoding': 'br' } })

  expect([page.status, page.headers.get('content-security-policy')]).toEqual([
    200,
    expect.stringContaining("default-src 'none'"),
  ])
  expect([file.status, file.headers.get('content-encoding'), file.headers.get('cache-control')]).toEqual([
    200,
    'br',
    'public, max-age=31536000, immutable',
  ])
  expect((await file.text()).length).toBeGreaterThan(1_000)
})

test('the image is built from files that the project has, and sends the builder nothing else', () => {
  const read = (file: string) => readFileSync(join(packed.project, file), 'utf8')
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
    files.split(' '),
  )
  const sent = read('.dockerignore')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? line.slice(1) : []))

  expect(readdirSync(packed.project)).toEqual(expect.arrayContaining(copied))
  expect(new Set(sent)).toEqual(new Set(copied))
  expect(read('Dockerfile')).toMatch(/^USER node$/m)
})

test('the tools of an OpenAPI document pass their tests, and the client calls the API through them', async () => {
  const api = await openTool((_asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('[{"id":"7","name":"Rex"}]')
  })
  const project = join(packed.folder, 'pets')
  const from = ['--from', join(FIXTURES, 'pet-shop.yaml'), '--namespace', 'pets']
  const told = await create('pets', ...from, '--server', `${api.url}/v9`, '--allow-private')
  symlinkSync(join(packed.project, 'node_modules'), join(project, 'node_modules'))

  const tests = await npm(project, ['test'])
  await npm(project, ['run', 'check'])
  const url = await start(project)
  const list = await npm(project, ['run', '--silent', 'call'], { CALLPLANE_URL: url })
  const call = ['run', '--silent', 'call', '--', 'v1:pets.listPets', '{"status":["sold"]}']
  const pets = await npm(project, call, { CALLPLANE_URL: url })

  expect(told).toContain('6 tools from "The Pet Shop API"')
  expect(tests).toMatch(/1 passed/)
  expect(list.split('\n')).toContain('v1:pets.removePet')
  expect(JSON.parse(pets)).toEqual([{ id: '7', name: 'Rex' }])
  expect(api.asked).toMatchObject([{ path: '/v9/pets?status=sold', headers: { 'x-api-key': 'key-12345678' } }])
})
