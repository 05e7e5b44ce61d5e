import { expect, test } from 'vitest'
import { parseAddress } from '../../../src/stores/postgres/connect/address.ts'
import { loadDriver } from '../../../src/stores/postgres/connect/driver.ts'
import { SideLine } from '../../../src/stores/postgres/nodes/side-line.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { startPostgres } from '../../engines/postgres.ts'

const CHANNEL = 'hints'
const turn = () => new Promise((resolve) => setImmediate(resolve))

describeWith(postgresServer, 'hints between nodes', () => {
  test('lines of one turn travel together, and every line arrives once and in order', async () => {
    await using server = await startPostgres()
    const heard: string[] = []
    const settings = { driver: await loadDriver(), pooled: false, connectMs: 5_000, statementMs: 5_000 }
    const address = parseAddress(server.url)
    const line = new SideLine({
      settings: { ...settings, address },
      heard: (payload) => heard.push(payload),
      log: undefined,
    })
    await line.start()
    await line.listen(CHANNEL)
    const later = Array.from({ length: 200 }, (_, n) => `later ${n}`)

    line.tell(CHANNEL, 'first')
    line.tell(CHANNEL, 'second')
    await expect.poll(() => heard).toEqual(['first\nsecond'])
    for (const one of later) {
      line.tell(CHANNEL, one)
      await turn()
    }
    await expect.poll(() => heard.at(-1)).toMatch(/later 199$/)
    await line.end()

    expect(heard.join('\n').split('\n')).toEqual(['first', 'second', ...later])
    expect(heard.length).toBeLessThan(later.length)
  })
})
