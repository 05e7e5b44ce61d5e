/** Form edits change the bytes of one value. Every other byte stays, whatever the text looks like. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  applySplice,
  insertAt,
  moveAt,
  removeAt,
  renameAt,
  type Splice,
  setAt,
} from '../../../console/src/forms/text/edit.ts'
import { type JsonNode, nodeAt, type Path, plainValue } from '../../../console/src/forms/text/nodes.ts'
import { MAX_DEPTH, parseText } from '../../../console/src/forms/text/parse.ts'
import { compactText, indentText } from '../../../console/src/forms/text/print.ts'

const space = fc.constantFrom('', ' ', '\n', '\n    ', '\t', '\r\n  ')
const scalar = fc.oneof(
  fc.constantFrom('12345678901234567890', '1e400', '-0', '0.10', '1E+2', 'true', 'false', 'null', '"\\u0041\\/"'),
  fc.string().map((text) => JSON.stringify(text)),
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
)
const key = fc.oneof(fc.constantFrom('', '__proto__', 'constructor', 'a/b', '~', 'ü'), fc.string({ maxLength: 4 }))

/** JSON texts with any spaces, written as people write them. */
const { value: jsonText } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc
      .array(fc.tuple(space, tie('value'), space), { maxLength: 4 })
      .map((items) => `[${items.map((parts) => parts.join('')).join(',')}]`),
    fc
      .uniqueArray(fc.tuple(key, space, space, tie('value'), space), { maxLength: 4, selector: ([name]) => name })
      .map((members) => `{${members.map(([n, a, b, v, c]) => `${a}${JSON.stringify(n)}${b}:${v}${c}`).join(',')}}`),
  ),
}))

function pathsOf(node: JsonNode, path: Path = []): Path[] {
  if (node.kind === 'object') {
    return [path, ...node.members.flatMap(({ key: step, value }) => (value ? pathsOf(value, [...path, step]) : []))]
  }
  if (node.kind === 'array') return [path, ...node.items.flatMap((item, index) => pathsOf(item, [...path, index]))]
  return [path]
}

/** The source of every scalar by its path: equal maps mean that no value changed a byte. */
function sources(text: string): Map<string, string> {
  const { root } = parseText(text)
  const all = new Map<string, string>()
  if (!root) return all
  for (const path of pathsOf(root)) {
    const node = nodeAt(root, path)
    if (node && node.kind !== 'object' && node.kind !== 'array') all.set(JSON.stringify(path), node.raw)
  }
  return all
}

describe('reading', () => {
  test('every JSON text is read as JSON.parse reads it, and the places cover the source', () => {
    fc.assert(
      fc.property(space, jsonText, space, (before, inner, after) => {
        const text = before + inner + after
        const { root, mistakes } = parseText(text)
        expect(mistakes).toEqual([])
        expect(root && text.slice(root.start, root.end)).toBe(inner)
        expect(root && plainValue(root)).toEqual(JSON.parse(text))
      }),
    )
  })

  test('a text is free of mistakes exactly if JSON.parse accepts it', () => {
    const near = fc
      .tuple(
        jsonText,
        fc.nat(),
        fc.constantFrom('', ',', '"', '}', ']', '{', '[', ':', 'x', '0', '-', '\\', '\n'),
        fc.nat(2),
      )
      .map(([text, at, insert, cut]) => {
        const place = at % (text.length + 1)
        return text.slice(0, place) + insert + text.slice(place + cut)
      })
    fc.assert(
      fc.property(near, (text) => {
        expect(parseText(text).mistakes.length === 0).toBe(isJson(text))
      }),
      { numRuns: 2_000 },
    )
  })

  test.each([
    ['{"a": 1, "b"', ['a', 'b']],
    ['{"a": 1, "b": ', ['a', 'b']],
    ['{"a": tru, "b": 2}', ['a', 'b']],
    ['{"a": {"c": [1, 2, "b": 2}', ['a']],
    ['{"a" 1, "b": 2,}', ['a', 'b']],
  ])('the unfinished text %s still has its keys', (text, keys) => {
    const { root, mistakes } = parseText(text)
    expect(mistakes).not.toEqual([])
    expect(root?.kind === 'object' && root.members.map((member) => member.key)).toEqual(keys)
  })

  test('a million brackets overflow nothing, and are reported once', () => {
    const text = '['.repeat(1_000_000)
    const { mistakes } = parseText(text)
    expect(mistakes.map(({ kind }) => kind)).toContain('too-deep')
    expect(parseText('['.repeat(MAX_DEPTH) + ']'.repeat(MAX_DEPTH)).mistakes).toEqual([])
  })
})

describe('editing', () => {
  const edit = fc.record({
    kind: fc.constantFrom('set', 'remove', 'rename', 'insert', 'move', 'add'),
    at: fc.nat(),
    key,
    value: scalar,
    to: fc.nat(4),
  })

  test('any sequence of edits changes the named value only', () => {
    fc.assert(
      fc.property(jsonText, fc.array(edit, { maxLength: 6 }), (start, edits) => {
        let text = start
        for (const each of edits) {
          const parsed = parseText(text)
          const paths = parsed.root ? pathsOf(parsed.root) : []
          const path = paths[each.at % paths.length] as Path
          const before = sources(text)
          const splice = spliceOf(each, text, path)
          if (!splice) continue
          const next = applySplice(text, splice)
          expect(parseText(next).mistakes).toEqual([])
          // Outside of the splice nothing can differ; inside a move only whole parts may change places.
          expect(next.slice(0, splice.start)).toBe(text.slice(0, splice.start))
          expect(next.slice(splice.start + splice.insert.length)).toBe(text.slice(splice.end))
          expect(surviving(each.kind, path, before, sources(next))).toBe(true)
          text = next
        }
      }),
      { numRuns: 500 },
    )
  })

  function spliceOf(each: { kind: string; key: string; value: string; to: number }, text: string, path: Path) {
    const parsed = parseText(text)
    const node = nodeAt(parsed.root, path)
    const steps: Record<string, () => Splice | undefined> = {
      set: () => setAt(parsed, path, each.value),
      add: () => (node?.kind === 'object' ? setAt(parsed, [...path, each.key, 'x', 0], each.value) : undefined),
      remove: () => removeAt(parsed, path),
      rename: () => renameAt(parsed, path, each.key),
      insert: () => (node?.kind === 'array' ? insertAt(parsed, path, each.to, each.value) : undefined),
      move: () => moveAt(parsed, path, each.to),
    }
    return steps[each.kind]?.()
  }

  /** Values outside of the edited place keep their source; a move keeps all sources. */
  function surviving(kind: string, path: Path, before: Map<string, string>, after: Map<string, string>): boolean {
    const touched = kind === 'set' || kind === 'add' || kind === 'insert' ? path : path.slice(0, -1)
    const prefix = JSON.stringify(touched).slice(0, -1)
    const outside = [...before].filter(([at]) => !at.startsWith(prefix))
    if (!outside.every(([at, raw]) => after.get(at) === raw)) return false
    if (kind === 'move' || kind === 'rename') return sorted(before) === sorted(after)
    return true
  }

  const sorted = (all: Map<string, string>) => [...all.values()].sort().join('\n')

  test('setting a value replaces its bytes and no others', () => {
    const text = '{ "big":12345678901234567890,\n\t"name" : "a",  "unknown": [1,  2]}'
    const parsed = parseText(text)
    expect(applySplice(text, setAt(parsed, ['name'], '"b"'))).toBe(text.replace('"a"', '"b"'))
    expect(applySplice(text, setAt(parsed, ['big'], '1e400'))).toBe(text.replace('12345678901234567890', '1e400'))
  })

  test('a new property is written in the style of its object', () => {
    const set = (text: string, path: Path, value: string) => applySplice(text, setAt(parseText(text), path, value))
    expect(set('{}', ['a'], '1')).toBe('{\n  "a": 1\n}')
    expect(set('', ['a'], '1')).toBe('{\n  "a": 1\n}')
    expect(set('{"a": 1}', ['b'], '2')).toBe('{"a": 1, "b": 2}')
    expect(set('{\n    "a": 1\n}', ['b', 'c'], '2')).toBe('{\n    "a": 1,\n    "b": {\n        "c": 2\n    }\n}')
    expect(set('{"a": "text"}', ['a', 'b'], '2')).toBe('{"a": {"b": 2}}')
  })

  test('items are inserted, moved and removed with their commas', () => {
    const text = '[\n  "a",\n  "b",\n  "c"\n]'
    const parsed = parseText(text)
    const edited = (splice: Splice | undefined) => splice && applySplice(text, splice)
    expect(edited(insertAt(parsed, [], 1, '"x"'))).toBe('[\n  "a",\n  "x",\n  "b",\n  "c"\n]')
    expect(edited(moveAt(parsed, [2], 0))).toBe('[\n  "c",\n  "a",\n  "b"\n]')
    expect(edited(moveAt(parsed, [0], 1))).toBe('[\n  "b",\n  "a",\n  "c"\n]')
    expect(edited(removeAt(parsed, [1]))).toBe('[\n  "a",\n  "c"\n]')
    expect(edited(removeAt(parsed, [2]))).toBe('[\n  "a",\n  "b"\n]')
  })

  test('a property is not renamed to a name that is there', () => {
    const parsed = parseText('{"a": 1, "b": 2}')
    expect(renameAt(parsed, ['a'], 'b')).toBeUndefined()
    expect(applySplice(parsed.text, renameAt(parsed, ['a'], '__proto__') as Splice)).toBe('{"__proto__": 1, "b": 2}')
  })
})

describe('printing', () => {
  test('indenting and compacting keep every source', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(sources(indentText(text, '  '))).toEqual(sources(text))
        expect(compactText(indentText(text, '\t'))).toBe(compactText(text))
      }),
    )
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
