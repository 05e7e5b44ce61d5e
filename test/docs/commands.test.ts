/** Runs the commands of the README's first screen, of docs/start.md and of two guides, as a reader would. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { QUICKSTART, type Served, serveProcess, temporaryFolder } from '../cli/processes.ts'
import { runCommand } from '../cli/streams.ts'
import { type Block, blocksIn, ROOT, readPage } from './pages.ts'
import { commandsIn } from './shell.ts'
import { settingOf } from './typed-blocks.ts'

// A process for each command, and they start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

const SHOWN_URL = 'http://127.0.0.1:4747'

interface Place {
  readonly folder: string
  readonly url: string
  readonly env?: Record<string, string>
}

/** The output of the commands on both streams, in a shell where `callplane` runs from its sources. */
async function paste(commands: string, { folder, url, env }: Place): Promise<string> {
  const program = `"$NODE" --conditions=callplane-source ${join(ROOT, 'src/cli/main.ts')}`
  const script = `exec 2>&1\ncallplane() { ${program} "$@"; }\n${commands.replaceAll(SHOWN_URL, url)}`
  const shell = spawn('sh', ['-c', script], {
    cwd: folder,
    env: { ...process.env, NODE: process.execPath, CALLPLANE_URL: url, ...env },
  })
  onTestFinished(() => void shell.kill('SIGKILL'))
  const [said] = await Promise.all([text(shell.stdout), once(shell, 'exit')])
  return said
}

/** `…` stands for anything. */
function shown(output: string): RegExp {
  const pieces = output.trim().split(/\s*…\s*/)
  return new RegExp(`^${pieces.map((piece) => piece.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('[^]*?')}\\s*$`)
}

/** A project with the package and zod installed. */
async function project(): Promise<string> {
  const folder = await temporaryFolder({ 'package.json': '{ "type": "module" }' })
  await mkdir(join(folder, 'node_modules'))
  await symlink(ROOT, join(folder, 'node_modules/callplane'))
  await symlink(join(ROOT, 'node_modules/zod'), join(folder, 'node_modules/zod'))
  return folder
}

test("the call on the README's first screen prints what the page shows", async () => {
  const page = readPage('README.md')
  const firstScreen = page.slice(0, page.indexOf('\n## '))
  const [start, call] = blocksIn('README.md', firstScreen).filter(({ language }) => language === 'sh')
  const { url } = await serveProcess([QUICKSTART, '--data', await temporaryFolder()])

  const said = await paste(call?.code ?? '', { folder: ROOT, url })

  expect(commandsIn(start?.code ?? '')).toEqual([
    ['npm', 'ci'],
    ['npm', 'start'],
  ])
  expect(said).toMatch(shown(/^# (.*)$/m.exec(call?.code ?? '')?.[1] ?? ''))
})

test('docs/start.md leads to a durable operation under a policy, command by command', async () => {
  const folder = await project()
  const blocks = blocksIn('docs/start.md', readPage('docs/start.md'))
  let server: Served | undefined
  let id = ''
  let compared = 0

  for (const [index, block] of blocks.entries()) {
    const file = settingOf(block, 'file')
    if (file) await writeIn(folder, file, block)
    if (block.language !== 'sh' || block.code.startsWith('npm ')) continue
    const [words = []] = commandsIn(block.code)
    if (words[1] === 'serve') {
      server?.kill('SIGTERM')
      await server?.ended
      server = await serveProcess(words.slice(2), { cwd: folder })
      continue
    }
    const said = await paste(block.code, { folder, url: server?.url ?? '', env: { ID: id } })
    id = /^[\da-f-]{36}(?= +pending)/m.exec(said)?.[0] ?? id
    expect(said).toMatch(shown(blocks[index + 1]?.code ?? ''))
    compared++
  }

  expect(compared).toBe(9)
})

test('docs/guides/policy.md shows what the policy test prints', async () => {
  const page = 'docs/guides/policy.md'
  const blocks = blocksIn(page, readPage(page))
  const at = blocks.findIndex(({ language }) => language === 'sh')

  const said = await paste(blocks[at]?.code ?? '', { folder: ROOT, url: SHOWN_URL })

  expect(said).toMatch(shown(blocks[at + 1]?.code ?? ''))
})

test('docs/guides/operating.md shows what an operator sees on a terminal', async () => {
  const folder = await project()
  const page = 'docs/guides/operating.md'
  const blocks = blocksIn(page, readPage(page))
  let server: Served | undefined
  let id = ''
  let compared = 0

  for (const [index, block] of blocks.entries()) {
    const file = settingOf(block, 'file')
    if (file) await writeIn(folder, file, block)
    if (block.language !== 'sh') continue
    const [words = []] = commandsIn(block.code)
    if (words[1] === 'serve') {
      server = await serveProcess(words.slice(2), { cwd: folder })
      continue
    }
    const env = { CALLPLANE_URL: server?.url ?? '', CALLPLANE_DATA: join(folder, '.callplane') }
    const isOperators = ['runs', 'replay', 'dead-letters', 'approvals', 'nodes'].includes(words[1] ?? '')
    const args = words.slice(1).map((word) => (word === '$ID' ? id : word))
    const said = isOperators
      ? await runCommand(args, { env, tty: true }).then(({ stdout, stderr }) => stdout + stderr)
      : await paste(block.code, { folder, url: env.CALLPLANE_URL })
    id = /^[\da-f-]{36}(?= )/m.exec(said)?.[0] ?? id
    const next = blocks[index + 1]
    if (next?.language !== '') continue
    expect(said).toMatch(shown(next.code))
    compared++
  }

  expect(compared).toBe(11)
  expect((await readFile(join(folder, 'failed.csv'), 'utf8')).split('\n')[1]).toContain('BANK_AWAY')
})

async function writeIn(folder: string, file: string, { code }: Block): Promise<void> {
  await mkdir(dirname(join(folder, file)), { recursive: true })
  await writeFile(join(folder, file), code)
}
