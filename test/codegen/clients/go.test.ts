import { afterAll, beforeAll, expect, vi } from 'vitest'
import { readCatalogue } from '../../../src/codegen/read-catalogue.ts'
import { describeWith, goCompiler } from '../../engines/engines.ts'
import { describeLies } from './lies.ts'
import { describeClient } from './suite.ts'
import { goTeller, type Teller, workFolder } from './tellers.ts'

// The first build compiles the standard library.
vi.setConfig({ hookTimeout: 300_000 })

describeWith(goCompiler, 'Go', () => {
  let folder: Awaited<ReturnType<typeof workFolder>>
  let teller: Teller

  beforeAll(async () => {
    folder = await workFolder()
    teller = await goTeller(folder.path, readCatalogue({ operations: [] }))
  })
  afterAll(async () => {
    const complaints = await teller.end()
    await folder.remove()
    expect(complaints).toBe('')
  })

  describeClient('Go', () => teller)
  describeLies('Go', () => teller)
})
