/** Only one file of the engine advances instances, because a second one could bypass the state table. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const OWNER = 'src/engine/end/transitions.ts'
/** A write of a change, the states before one, and a change written out by hand. */
const STEPS = [/\.advance\(/, /\bstatesBefore\b/, /\bfrom: \[/]

function decidesAStep(file: string, text: string): boolean {
  return file !== OWNER && STEPS.some((step) => step.test(text))
}

async function sourcesOf(...folders: readonly string[]): Promise<string[]> {
  const found = folders.map(async (folder) => {
    const names = await readdir(join(root, folder), { recursive: true })
    return names.filter((name) => name.endsWith('.ts')).map((name) => `${folder}/${name}`)
  })
  return (await Promise.all(found)).flat()
}

test('only transitions.ts advances an instance', async () => {
  const files = await sourcesOf('src/engine', 'src/server')
  const read = await Promise.all(files.map(async (file) => ({ file, text: await readFile(join(root, file), 'utf8') })))

  expect(files).toContain(OWNER)
  expect(read.filter(({ file, text }) => decidesAStep(file, text)).map(({ file }) => file)).toEqual([])
})

test('a step that is written elsewhere is noticed', () => {
  const file = 'src/engine/wait/approvals.ts'

  expect(decidesAStep(file, 'await this.#store.advance(change)')).toBe(true)
  expect(decidesAStep(file, "const change = { id, from: statesBefore('error') }")).toBe(true)
  expect(decidesAStep(file, "const change: Change = { id, from: ['pending'], to: 'pending' }")).toBe(true)
  expect(decidesAStep(OWNER, 'return store.advance(change)')).toBe(false)
})
