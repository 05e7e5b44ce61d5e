/** Saved views of the runs: for one caller, in the storage that tabs share, and in files. */
import { expect, test } from 'vitest'
import { createSavedViews, exportViews, importViews } from '../../console/src/runs/saved-views.ts'

const ADA = { tenant: 'main', owner: 'callplane|ada' }
const FAILED = { name: 'Failed', filter: 'state:error' }
const SLOW = { name: 'Slow', filter: 'slow:5s "a b"' }

function createTab(kept: Map<string, string>, otherTabs: Parameters<typeof createSavedViews>[1] = () => {}) {
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  } as unknown as Storage
  return createSavedViews(storage, otherTabs, 'https://tools.example')
}

test('views survive a reload, are those of their caller, and one name is one view', () => {
  const kept = new Map<string, string>()
  createTab(kept)(ADA).save(FAILED, SLOW)
  createTab(kept)(ADA).save({ ...FAILED, filter: 'state:error since:1h' })

  const views = createTab(kept)
  expect(views(ADA).list.value).toEqual([SLOW, { ...FAILED, filter: 'state:error since:1h' }])
  expect(views({ ...ADA, owner: 'callplane|bob' }).list.value).toEqual([])
  expect(views({ ...ADA, tenant: 'other' }).list.value).toEqual([])
})

test('a tab does not undo what another one has saved', () => {
  const kept = new Map<string, string>()
  let told = (_key: string | null) => {}
  const one = createTab(kept, (changed) => {
    told = changed
  })(ADA)
  const other = createTab(kept)(ADA)
  one.save(FAILED)
  other.save(SLOW)
  for (const key of kept.keys()) told(key)
  expect(one.list.value).toEqual([FAILED, SLOW])
  one.forget(FAILED.name)

  expect(one.list.value).toEqual([SLOW])
  expect(createTab(kept)(ADA).list.value).toEqual([SLOW])
})

test('a file is read back as it was written, and anything else is refused', () => {
  expect(importViews(exportViews([FAILED, SLOW]))).toEqual([FAILED, SLOW])
  for (const text of [
    '',
    '{}',
    '[]',
    '{"callplane":"saved-views"}',
    '{"callplane":"saved-views","views":[{"name":""}]}',
  ])
    expect(importViews(text)).toBeUndefined()
})

test('storage that holds something else is as good as empty', () => {
  const kept = new Map<string, string>()
  createTab(kept)(ADA).save(FAILED)
  for (const key of kept.keys()) kept.set(key, '{"name":1}')

  expect(createTab(kept)(ADA).list.value).toEqual([])
})
