import { afterAll, beforeAll, expect } from 'vitest'
import { readCatalogue } from '../../../src/codegen/read-catalogue.ts'
import { describeWith, pythonClients } from '../../engines/engines.ts'
import { describeLies } from './lies.ts'
import { describeClient } from './suite.ts'
import { pythonTeller, type Teller, workFolder } from './tellers.ts'

describeWith(pythonClients, 'Python', () => {
  const catalogue = readCatalogue({ operations: [] })
  let folder: Awaited<ReturnType<typeof workFolder>>
  const tellers: Partial<Record<'sync' | 'async', Teller>> = {}

  beforeAll(async () => {
    folder = await workFolder()
    tellers.sync = await pythonTeller(folder.path, catalogue, 'sync')
    tellers.async = await pythonTeller(folder.path, catalogue, 'async')
  })
  afterAll(async () => {
    const complaints = await Promise.all(Object.values(tellers).map((teller) => teller.end()))
    await folder.remove()
    // Such as connections that were not closed.
    expect(complaints).toEqual(['', ''])
  })

  for (const flavour of ['sync', 'async'] as const) {
    describeClient(flavour, () => tellers[flavour] as Teller)
    describeLies(flavour, () => tellers[flavour] as Teller)
  }
})
