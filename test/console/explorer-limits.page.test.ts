/** The explorer at its limits: 10,000 operations, odd names, and a server that goes away and comes back. */
import { operation } from 'callplane'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { encodeArgs } from '../../console/src/explore/link-args.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

const NAMES = [
  'v1:a',
  'v1:Z9',
  'v2:a',
  'v1:a-b_c.D-1_.e--f',
  `v1:${'n'.repeat(60)}.${'x'.repeat(100)}`,
  'v1:constructor.prototype_',
  'v1:toString',
] as const

const MANY = 10_000
const nameOf = (index: number) => `v1:group${index % 200}.operation${index}`

describeWith(browser, 'the explorer with 10,000 operations', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    const many = Array.from({ length: MANY }, (_, index) =>
      operation(nameOf(index) as `v1:${string}`, {
        description: `Does ${index}`,
        result: z.number(),
        run: () => index,
      }),
    )
    const odd = NAMES.map((name) => operation(name, { result: z.string(), run: () => name }))
    site = await startConsole({ operations: [...many, ...odd] })
  })
  afterAll(() => site[Symbol.asyncDispose]())

  test('and names with every legal character: few rows, found by typing', async () => {
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

  test('feature 17: the palette finds any of them, whichever screen is open, with little work for each letter', async () => {
    const page = await site.open('#/errors')
    await page.getByRole('link', { name: /^TIMEOUT/ }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('operation4711')
    await page.getByRole('option', { name: nameOf(4711) }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: nameOf(4711) }).waitFor()

    await page.keyboard.press('Control+k')
    await page.getByRole('option').first().waitFor()
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    const wanted = [0, 1, 42, 4_999, 9_998, 9_999].map((index) => [`operation${index}`, nameOf(index)])
    const found = (await page.evaluate(`(async () => {
      const input = document.querySelector('.palette input')
      const list = document.querySelector('.palette [role=listbox]')
      const type = async (text) => {
        input.value = text
        input.dispatchEvent(new InputEvent('input', { bubbles: true }))
        await new Promise((drawn) => queueMicrotask(() => queueMicrotask(drawn)))
        await new Promise((drawn) => setTimeout(drawn))
        return list.children[0].textContent
      }
      const { indexOf } = String.prototype
      const seen = { firsts: [], ms: [], options: 0, looks: 0 }
      for (const [text] of ${JSON.stringify(wanted)}) {
        await type('')
        const before = performance.now()
        seen.firsts.push(await type(text))
        seen.ms.push(performance.now() - before)
        seen.options = Math.max(seen.options, list.children.length)
        await type('')
        String.prototype.indexOf = function (...given) {
          seen.looks++
          return indexOf.apply(this, given)
        }
        await type(text)
        String.prototype.indexOf = indexOf
      }
      return seen
    })()`)) as { firsts: string[]; ms: number[]; options: number; looks: number }

    expect(found.firsts).toEqual(wanted.map(([, name]) => expect.stringContaining(name as string)))
    expect(found.options).toBeLessThanOrEqual(50)
    // Each name is looked at for the whole text, and then letter by letter.
    expect(found.looks / wanted.length).toBeLessThan(MANY * 2 * 'operation9999'.length)
    expect(requests).toEqual([])
    // Reported, not asserted: the machine may be busy. The goal is 50.
    console.log('palette with 10,000 operations, longest, ms:', Math.round(Math.max(...found.ms)))
    expect(site.complaints).toEqual([])
  })
})

describeWith(browser, 'the explorer', () => {
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
