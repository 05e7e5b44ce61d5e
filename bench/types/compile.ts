/** Writes programs to a folder of their own, with the packages as a user has them, and type-checks them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Program } from './programs.ts'

const ROOT = join(import.meta.dirname, '../..')
const PEERS = ['zod', '@trpc', '@orpc', '@types']

/** The compilers that are here: the repository's, and the one that comes with the benchmark's packages. */
export const COMPILERS: Readonly<Record<string, string>> = {
  'TypeScript 6': join(ROOT, 'node_modules/typescript/bin/tsc'),
  'TypeScript 7': join(ROOT, 'bench/node_modules/typescript/bin/tsc'),
}

export const TSSERVER = join(ROOT, 'node_modules/typescript/lib/tsserver.js')

const OPTIONS = {
  target: 'es2024',
  lib: ['es2024', 'dom', 'dom.asynciterable', 'esnext.disposable'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
}

/** Links the peers, and adds the declarations of our package as `npm run build` makes them. */
export async function preparePackages(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules')
  const ours = join(modules, 'callplane')
  mkdirSync(ours, { recursive: true })
  for (const peer of PEERS) symlinkSync(join(ROOT, 'bench/node_modules', peer), join(modules, peer))
  symlinkSync(join(ROOT, 'node_modules'), join(ours, 'node_modules'))
  copyFileSync(join(ROOT, 'package.json'), join(ours, 'package.json'))
  const project = join(folder, 'declarations.json')
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.build.json'),
      compilerOptions: {
        rootDir: join(ROOT, 'src'),
        outDir: join(ours, 'dist'),
        typeRoots: [join(ROOT, 'node_modules/@types')],
        emitDeclarationOnly: true,
        noCheck: true,
      },
      include: [],
      files: ['index.ts', 'client/index.ts'].map((file) => join(ROOT, 'src', file)),
    }),
  )
  await compile(COMPILERS['TypeScript 6'] as string, project)
}

/** Returns the path of its `tsconfig.json`. */
export function writeProgram(folder: string, program: Program): string {
  mkdirSync(folder, { recursive: true })
  for (const [path, content] of program) writeFileSync(join(folder, path), content)
  const project = join(folder, 'tsconfig.json')
  writeFileSync(project, JSON.stringify({ compilerOptions: OPTIONS, include: ['*.ts'] }))
  return project
}

export interface Compiled {
  /** CPU time of the compiler, with all its threads. */
  cpuMs: number
  instantiations: number
  types: number
  memoryMb: number
}

/** Fails if the program has errors. `--singleThreaded` of version 7 is not used: its user waits for all threads. */
export async function compile(compiler: string, project: string): Promise<Compiled> {
  // The shell reports the CPU time of its children, also of a compiler that is no JavaScript.
  const measured = ['"$@" >&3', 'code=$?', 'times', 'exit $code'].join('\n')
  const command = [process.execPath, compiler, '--project', project, '--extendedDiagnostics', '--pretty', 'false']
  const child = spawn('/bin/sh', ['-c', measured, 'sh', ...command], {
    cwd: dirname(project),
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  const [times, said, [code]] = await Promise.all([
    text(child.stdout as Readable),
    text(child.stdio[3] as Readable),
    once(child, 'exit'),
  ])
  if (code !== 0) throw new Error(`${project} has errors:\n${said.slice(0, 4_000)}`)
  return { cpuMs: childrenMs(times), ...parseDiagnostics(said) }
}

/** The second line of `times`: `0m1.230s 0m0.210s`, user and system time of the children. */
export function childrenMs(times: string): number {
  const parts = [...(times.split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
  if (parts.length !== 2) throw new Error(`The shell reported no times: ${JSON.stringify(times)}`)
  return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1_000, 0)
}

export function parseDiagnostics(said: string): Omit<Compiled, 'cpuMs'> {
  const figure = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(said)?.[1] ?? Number.NaN)
  return {
    instantiations: figure('Instantiations'),
    types: figure('Types'),
    memoryMb: figure('Memory used') / 1_024,
  }
}
