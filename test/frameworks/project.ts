/** A project of a reader: the code blocks of docs/guides/frameworks.md as files, and one of them as a running host. */
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { blocksIn, ROOT, readPage } from '../docs/pages.ts'
import { settingOf } from '../docs/typed-blocks.ts'
import { freePort } from '../engines/free-port.ts'
import { startServer } from '../engines/server-process.ts'
import type { Command } from '../engines/tied-process.ts'

const PAGE = 'docs/guides/frameworks.md'

const NODE: Command = [process.execPath, '--conditions=callplane-source']

/** The page's module without the decorator, which Node cannot run: it removes types only. */
const APP_MODULE = `import { Module } from '@nestjs/common'
export class AppModule {}
Module({})(AppModule)
`

export interface HostSettings {
  /** Name of the block's file, such as `express.ts`. */
  file: string
  /** The program with its arguments. The path of the file is added. Default: Node. */
  program?: Command
}

/** Starts the block on a free port. Resolves with its origin when it answers. */
export async function startHost({ file, program = NODE }: HostSettings): Promise<string> {
  const folder = await createProject()
  await linkPackages(folder)
  const port = await freePort()
  const path = join(folder, file)
  const code = (await readFile(path, 'utf8')).replaceAll('3000', String(port))
  await writeFile(path, `${code}\nconsole.log('the host has started')\n`)
  // `data` is relative to the working directory.
  const command: Command = ['env', '--chdir', folder, ...program, path]
  const host = await startServer({ command, readyLine: 'the host has started' })
  onTestFinished(() => host[Symbol.asyncDispose]())
  const origin = `http://127.0.0.1:${port}`
  // Some hosts begin to listen after the last line.
  await vi.waitFor(() => fetch(origin), { timeout: 10_000, interval: 20 })
  return origin
}

export async function createProject(within = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(within, 'callplane-framework-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [file, code] of readBlocks()) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), code)
  }
  await copyFile(join(import.meta.dirname, 'operations.ts'), join(folder, 'operations.ts'))
  await writeFile(join(folder, 'app.module.ts'), APP_MODULE)
  return folder
}

/** The code of each block with a file name. */
export function readBlocks(): Map<string, string> {
  const named = blocksIn(PAGE, readPage(PAGE)).map((block) => [settingOf(block, 'file'), block.code] as const)
  return new Map(named.flatMap(([file, code]) => (file ? [[file.replace(/^framework\//, ''), code]] : [])))
}

/** The packages of this repository, and the package itself. */
async function linkPackages(folder: string): Promise<void> {
  const packages = join(ROOT, 'node_modules')
  await mkdir(join(folder, 'node_modules'))
  await symlink(ROOT, join(folder, 'node_modules/callplane'))
  for (const name of await readdir(packages)) {
    if (!name.startsWith('.')) await symlink(join(packages, name), join(folder, 'node_modules', name))
  }
}
