import { execFileSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createServer, operation } from 'callplane'
import { expect, test } from 'vitest'
import { createWasmBackend, parseWasmSettings } from '../../src/backends/wasm/index.ts'
import { limitMemory } from '../../src/backends/wasm/limit-memory.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { verifies } from '../requirements.ts'
import { backendContext } from './context.ts'
import { partsWith } from './tool-server.ts'
import { compileWat, folderWith, temporaryFolder, WAT } from './wasm-modules.ts'

const create = (module: Uint8Array, settings: object = {}) =>
  createWasmBackend(
    { kind: 'wasm', module: 'tool.wasm', ...settings },
    { ...partsWith(createManualClock()), folder: folderWith(module) },
  )

const wat = (body: string) => compileWat(`(module ${body})`)

test('a limited module is the same but for its limits', async () => {
  const plain = await compileWat(WAT.echo)

  const limited = limitMemory(plain, 200)

  const asIfWritten = await compileWat(
    WAT.echo.replace('(memory (export "memory") 1)', '(memory (export "memory") 1 200)'),
  )
  expect(Buffer.from(limited)).toEqual(Buffer.from(asIfWritten))
})

test('a lower maximum in the module is kept', async () => {
  const plain = await wat('(memory 1 3)')

  expect(Buffer.from(limitMemory(plain, 200))).toEqual(Buffer.from(plain))
})

test.each([
  ['a shared memory', '(memory 1 2 shared)'],
  ['a table of millions', '(table 2000000 funcref)'],
])('a module with %s is refused', async (_what, body) => {
  const module = await wat(body)

  expect(() => limitMemory(module, 200)).toThrow(expect.objectContaining({ kind: 'policy-invalid' }))
})

const section = (...bytes: number[]) => Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...bytes)

test('so is one with two memories', () => {
  expect(() => limitMemory(section(5, 5, 2, 0, 1, 0, 1), 200)).toThrow('more than one memory')
})

test('and one with garbage collected types: an array of them would end the process', () => {
  const arrayOfNumbers = section(1, 4, 1, 0x5e, 0x7f, 1)

  expect(() => limitMemory(arrayOfNumbers, 200)).toThrow('garbage collected')
})

test.each([
  ['text', new TextEncoder().encode('#!/bin/sh')],
  ['a component', Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0)],
  ['a truncated module', section(5, 100, 1)],
  ['nothing', new Uint8Array()],
])('%s is not a module, and is refused when the server starts', (_what, bytes) => {
  expect(() => create(bytes)).toThrow('is not a valid WebAssembly module')
})

test('a module that begins with more memory than it may have is refused with what it needs', async () => {
  const module = await wat('(memory (export "memory") 33)')

  expect(() => create(module, { memoryMb: 2 })).toThrow('needs 3 MiB')
})

test('a missing file is reported when the server starts', () => {
  const parts = { ...partsWith(createManualClock()), folder: temporaryFolder() }

  expect(() => createWasmBackend({ kind: 'wasm', module: 'none.wasm' }, parts)).toThrow(
    expect.objectContaining({ kind: 'policy-invalid', message: expect.stringContaining('none.wasm') }),
  )
})

test('and with the name of the operation that wants it', async () => {
  const data = temporaryFolder()
  const measure = operation('v1:text.measure', { backend: { kind: 'wasm', module: 'none.wasm' } })

  await expect(createServer({ operations: [measure], data })).rejects.toThrow(
    /^v1:text\.measure: backend\.module cannot be read: .*none\.wasm/,
  )
})

test.each([
  ['imports something unknown', '(import "env" "shell" (func)) (memory (export "memory") 1)', 'env.shell'],
  ['is not a command', '(memory (export "memory") 1)', '_start'],
  ['keeps its memory to itself', '(memory 1) (func (export "_start"))', 'memory'],
])('a module that %s is refused by name', async (_what, body, named) => {
  const backend = create(await wat(body))

  await expect(backend.execute({}, backendContext())).rejects.toMatchObject({
    kind: 'policy-invalid',
    message: expect.stringContaining(named),
  })
})

test.each([
  ['module', undefined],
  ['module', ''],
  ['memoryMb', 5_000],
  ['threads', 0],
  ['maxBytes', '1 MB'],
  ['memory', 64],
])('a wrong backend.%s is refused by name: %j', (name, value) => {
  expect(() => parseWasmSettings({ kind: 'wasm', module: 'tool.wasm', [name]: value })).toThrow(`backend.${name}`)
})

test('without the package that runs modules the fault names it', async () => {
  verifies('contract:048', 'contract:057')
  const folder = folderWith(await compileWat(WAT.echo))
  // Out of reach of our own node_modules.
  const source = join(import.meta.dirname, '../../src')
  for (const part of ['core', 'wire', 'protocols/contract', 'backends/remote', 'backends/wasm']) {
    cpSync(join(source, part), join(folder, 'src', part), { recursive: true })
  }
  writeFileSync(
    join(folder, 'run.ts'),
    `import { createWasmBackend } from './src/backends/wasm/index.ts'
     import { codeOf, CODES } from './src/protocols/contract/faults.ts'
     const parts = { folder: import.meta.dirname, clock: { schedule: () => () => {} } }
     const backend = createWasmBackend({ kind: 'wasm', module: 'tool.wasm' }, parts as never)
     const context = { signal: new AbortController().signal, queued: <T>(turn: Promise<T>) => turn }
     await (backend.execute({}, context as never) as Promise<unknown>).catch(({ kind, message }) => {
       const code = codeOf(kind)
       console.log(JSON.stringify({ code, reason: CODES[code].reason, message }))
     })`,
  )

  const said = JSON.parse(execFileSync(process.execPath, [join(folder, 'run.ts')], { encoding: 'utf8' }))

  expect(said).toEqual({
    code: 'isolation_unavailable',
    reason: 'tool_isolation_unavailable',
    message: expect.stringContaining('npm i @bjorn3/browser_wasi_shim'),
  })
})
