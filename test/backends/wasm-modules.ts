/** Tools as WebAssembly modules, written as text, or in C if the compiler is installed. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import loadWabt from 'wabt'

const IMPORTS = `
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))`

/** A WASI command with one page of memory. The buffer descriptor is at address 0, the byte count at 8. */
const command = (body: string, more = '') => `(module ${IMPORTS}
  (memory (export "memory") 1) ${more}
  (func (export "_start") ${body}))`

/** Writes `length` bytes from `address` to its output. */
const say = (address: number, length: number, fd = 1) => `
  (i32.store (i32.const 0) (i32.const ${address})) (i32.store (i32.const 4) (i32.const ${length}))
  (drop (call $write (i32.const ${fd}) (i32.const 0) (i32.const 1) (i32.const 8)))`

const text = (said: string) => `(data (i32.const 64) "${said.replaceAll('"', '\\22')}")`

export const WAT = {
  echo: command(`(loop $more
    (i32.store (i32.const 0) (i32.const 64)) (i32.store (i32.const 4) (i32.const 32768))
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (if (i32.load (i32.const 8)) (then
      (i32.store (i32.const 4) (i32.load (i32.const 8)))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
      (br $more))))`),
  loop: command('(loop $again (br $again))'),
  flood: command(`(loop $again ${say(0, 65_536)} (br $again))`),
  /** Grows its memory page by page, and traps when it gets no more. */
  eater: command('(loop $more (br_if $more (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0)))) (unreachable)'),
  tableEater: command(
    '(loop $more (br_if $more (i32.ge_s (table.grow $t (ref.null func) (i32.const 500000)) (i32.const 0))))' +
      say(64, 15),
    `(table $t 1 funcref) ${text('{"stayed":true}')}`,
  ),
  trap: command('(unreachable)'),
  garbage: command(say(64, 9), text('not json!')),
  notText: command(say(64, 2), '(data (i32.const 64) "\\ff\\fe")'),
  exits: command(`${say(64, 4, 2)} (call $exit (i32.const 3))`, text('oops')),
  exitsWell: command(`${say(64, 8)} (call $exit (i32.const 0)) (unreachable)`, text('{"a": 1}')),
  /** Passes an excessive number of buffers, each covering the whole memory. */
  manyBuffers: command('(call $exit (call $write (i32.const 1) (i32.const 0) (i32.const 8000) (i32.const 8)))'),
  /** Counts its calls in its memory: 1 in every fresh instance. */
  counter: command(
    `(i32.store8 (i32.const 70) (i32.add (i32.load8_u (i32.const 70)) (i32.const 1))) ${say(64, 8)}`,
    text('{"n": 0}'),
  ),
} satisfies Record<string, string>

export async function compileWat(source: string): Promise<Uint8Array> {
  const { parseWat } = await loadWabt()
  const parsed = parseWat('tool.wat', source, { reference_types: true, threads: true })
  try {
    return parsed.toBinary({}).buffer
  } finally {
    parsed.destroy()
  }
}

/** Returns a folder with this module as `tool.wasm`; removed when the test ends. */
export function folderWith(module: Uint8Array): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'tool.wasm'), module)
  return folder
}

/** The same, compiled from C. */
export function folderWithC(source: string): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'tool.c'), source)
  execFileSync('clang', ['--target=wasm32-wasi', '--sysroot=/usr', '-O2', '-o', 'tool.wasm', 'tool.c'], { cwd: folder })
  return folder
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-wasm-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
