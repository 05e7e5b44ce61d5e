/** Runs `npm create callplane` in this process, in a temporary folder. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { main } from '../../create-callplane/src/main.ts'

export const FIXTURES = join(import.meta.dirname, 'fixtures')

export interface Made {
  code: number
  output: string
  errors: string
  /** The folder that the command ran in. */
  folder: string
  read(path: string): string
  list(path: string): string[]
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'create-callplane-'))
}

export function folderWith(files: Record<string, string> = {}): string {
  const folder = temporaryFolder()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

export async function make(args: readonly string[], folder = folderWith(), typed?: string): Promise<Made> {
  const input = Object.assign(new PassThrough(), { isTTY: typed !== undefined })
  const [output, errors] = [new PassThrough(), new PassThrough()]
  if (typed !== undefined) input.write(typed)
  const [code, written, complaints] = await Promise.all([
    main({ args, folder, input, output, errors }).finally(() => {
      output.end()
      errors.end()
    }),
    text(output),
    text(errors),
  ])
  return {
    code,
    output: written,
    errors: complaints,
    folder,
    read: (path) => readFileSync(join(folder, path), 'utf8'),
    list: (path) => readdirSync(join(folder, path)).sort(),
  }
}
