/** The parts of the benchmark of types: what it generates, and how it reads what compilers and editors say. */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { childrenMs, parseDiagnostics } from '../../bench/types/compile.ts'
import { placeAfter, readMessages } from '../../bench/types/editor.ts'
import { createProgram, NAMESPACE } from '../../bench/types/programs.ts'

test.each(['callplane', 'trpc', 'orpc'] as const)(
  'the program of %s defines and calls every operation once',
  (name) => {
    const program = createProgram(name, { namespaces: 4, operations: 3 })
    const calls = program.get('calls.ts')?.match(/await api\.\w+\.\w+/g) ?? []
    expect(new Set(calls).size).toBe(12)
    expect(calls).toHaveLength(12)
    expect(calls).toContain(`await api.${NAMESPACE}.do2`)
    expect(program.get(`${NAMESPACE}.ts`)?.match(/total: z\.number/g)).toHaveLength(3)
    expect([...program.keys()].filter((path) => /^area|^orders/.test(path))).toHaveLength(4)
  },
)

test('the CPU time is that of the children of the shell', () => {
  expect(childrenMs('0m0.010s 0m0.020s\n1m2.500s 0m0.250s\n')).toBe(62_750)
  expect(() => childrenMs('')).toThrow('reported no times')
})

test('figures are read from the diagnostics of both compilers', () => {
  const said =
    'Types:                      105297\nInstantiations:             836915\nMemory used:               398848K\n'
  expect(parseDiagnostics(said)).toEqual({ types: 105_297, instantiations: 836_915, memoryMb: 389.5 })
})

test('messages of the language server arrive whole, however they are cut', () => {
  const source = new PassThrough()
  const received: unknown[] = []
  readMessages(source, (message) => received.push(message))
  const sent = ['{"type":"event"}\n', '{"type":"response","request_seq":1,"body":"é"}\n']
  const bytes = Buffer.from(sent.map((body) => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`).join(''))
  for (const byte of bytes) source.emit('data', Buffer.of(byte))
  expect(received).toEqual(sent.map((body) => JSON.parse(body)))
})

test('a place counts lines and characters from 1', () => {
  expect(placeAfter('one\nawait api.orders', 'await api.')).toEqual({ line: 2, offset: 11 })
  expect(() => placeAfter('one', 'two')).toThrow('has no "two"')
})
