/** The explorer at its limits: 10,000 operations, odd names, and a server that goes away and comes back. */
import { operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { encodeArgs } from '../../console/src/explore/link-args.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { startConsole } from './site.ts'

vi.setConfig({ testTimeout: 120_000 })

const NAMES = [
  'v1:a',
  'v1:Z9',
  'v2:a',
  'v1:a-b_c.D-1_.e--f',
  `v1:${'n'.repeat(60)}.${'x'.repeat(100)}`,
  'v1:constructor.prototype_',
  'v1:toString',
] as const

describeWith(browser, 'the explorer at its limits', () => {
  test('10,000 operations and names with every legal character: few rows, found by typing', async () => {
    const many = Array.from({ length: 10_000 }, (_, index) =>
      operation(`v1:group${index % 200}.operation${index}`, {
        description: `Does ${index}`,
        result: z.number(),
        run: () => index,
      }),
    )
    const odd = NAMES.map((name) => operation(name, { result: z.string(), run: () => name }))
    await using site = await startConsole({ operations: [...many, ...odd] })
    const page = await site.open('#/op/v1:a', { at: 'explorer' })
    page.setDefaultTimeout(20_000)
    await page.getByRole('heading', { name: 'v1:a', exact: true }).waitFor()

    expect(await page.locator('.tree-op, .tree-group').count()).toBeLessThan(80)
    await page.getByLabel('Filter operations').fill('operation9999')
    await page.getByText('1 of 10,0').waitFor()
    await page.getByLabel('Filter operations').press('Enter')
    await page.getByRole('heading', { name: 'v1:group199.operation9999' }).waitFor()
    for (const name of NAMES) {
      await page.goto(`${site.url}/explorer/#/op/${name}`)
      await page.getByRole('heading', { name, exact: true }).waitFor()
      await page.getByRole('button', { name: 'Run', exact: true }).click()
      await page.getByText('Complete', { exact: true }).waitFor()
      expect(await page.getByLabel('Result', { exact: true }).innerText()).toContain(name)
    }
    expect(site.complaints).toEqual([])
  })

  test('a server that goes away and comes back: nothing typed is lost, and the call is followed to its end', async () => {
    let isFree = false
    const operations = [
      operation('v1:tests.wait', {
        args: z.object({ text: z.string() }),
        result: z.string(),
        model: 'async',
        ttlSeconds: 600,
        async run({ text }, { signal }) {
          while (!isFree) await new Promise((resolve) => setTimeout(resolve, 20))
          signal.throwIfAborted()
          return `waited ${text}`
        },
      }),
    ]
    await using site = await startConsole({ operations, work: { leaseMs: 1_000 } })
    const page = await site.open(`#/op/v1:tests.wait?a=${await encodeArgs('{"text":"typed"}')}`, { at: 'explorer' })
    page.setDefaultTimeout(30_000)
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('Running', { exact: true }).waitFor()

    await site.stop()
    await page.getByText('The connection to the server broke.').waitFor()
    isFree = true
    await site.start()

    await page.getByText('Complete', { exact: true }).waitFor()
    expect(await page.getByLabel('Result', { exact: true }).innerText()).toContain('waited typed')
    await site.stop()
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('The server did not answer.').waitFor()
    expect(page.url()).toContain(`a=${await encodeArgs('{"text":"typed"}')}`)
  })
})
