/** Forms of every keyword in Chromium, against a real server: what the form writes, the server takes. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { browser, describeWith } from '../../engines/engines.ts'
import { everyKeyword, KEYWORDS, type Step } from '../fixtures/every-keyword.ts'
import { type ConsoleSite, startConsole } from '../site.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 })

const PAGE = join(import.meta.dirname, '../../../console/test/arguments')
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const RUN_AXE = `axe.run('main').then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' | ')))`
const NOTHING = encodeURIComponent('{"title":"nothing"}')

describeWith(browser, 'the arguments', () => {
  let site: ConsoleSite
  let page: Page
  beforeAll(async () => {
    site = await startConsole({ operations: everyKeyword }, PAGE)
    page = await site.open(`#${NOTHING}`, { at: 'explorer' })
    page.setDefaultTimeout(5_000)
  })
  afterAll(() => site[Symbol.asyncDispose]())

  async function show(what: string | object): Promise<void> {
    const fragment = typeof what === 'string' ? what : encodeURIComponent(JSON.stringify(what))
    const name = typeof what === 'string' ? what : 'given'
    // The same arguments twice are the same address, so another place comes between.
    await page.evaluate(`location.hash = '${NOTHING}'`)
    await page.getByRole('heading', { name: 'given', exact: true }).waitFor()
    await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`)
    await page.getByRole('heading', { name, exact: true }).waitFor()
  }

  const text = () => page.locator('#text').innerText()

  describe('feature 1: every keyword', () => {
    test.each(KEYWORDS)('$op', async ({ op, steps, sent }) => {
      await show(op)
      for (const step of steps) await take(page, step)
      await page.getByRole('button', { name: 'Run', exact: true }).click()
      await page.locator('#reply:not(:empty)').waitFor()

      expect(await errorsShown(page)).toBe(0)
      const reply = JSON.parse(await page.locator('#reply').innerText())
      expect(reply).toMatchObject({ state: 'complete', result: sent })
      expect(site.complaints).toEqual([])
    })
  })

  describe('feature 2: the editor', () => {
    const order = {
      type: 'object',
      required: ['status'],
      properties: {
        status: { enum: ['open', 'closed'], description: 'Where the order stands.' },
        total: { type: 'integer', minimum: 1, title: 'Total' },
      },
    }
    const editor = () => page.getByRole('textbox', { name: 'Arguments as JSON' })

    async function showEditor(): Promise<void> {
      await show(order)
      await page.getByRole('button', { name: 'JSON', exact: true }).click()
      await page.locator('.cm-content').waitFor()
    }

    test('completes names and values from the schema', async () => {
      await showEditor()
      await editor().press('Control+a')
      await editor().pressSequentially('{"st')
      await page.getByRole('option', { name: '"status"' }).click()
      expect(await text()).toContain('"status": "open"')

      await editor().press('Control+a')
      await editor().pressSequentially('{"status": "cl')
      await page.getByRole('option', { name: '"closed"' }).click()
      expect(await text()).toContain('"status": "closed"')
      expect(site.complaints).toEqual([])
    })

    test('explains the name under the pointer', async () => {
      await showEditor()
      await editor().fill('{"status": "open"}')
      await page.locator('.cm-content').getByText('"status"').hover()
      await page.getByText('Where the order stands.').waitFor()
    })

    test('marks what is wrong, in the line and in the summary', async () => {
      await showEditor()
      await editor().fill('{"total": 0}')
      await page.locator('.cm-lintRange-error').first().waitFor()
      await page.getByRole('button', { name: 'total: Give a number of at least 1.' }).waitFor()
      await page.getByRole('button', { name: 'status: This is required.' }).waitFor()

      await editor().fill('{"total": }')
      await page.getByRole('button', { name: 'Line 1, column 9: A value is missing here.' }).waitFor()
    })

    test('E goes from view to view, but not while one types', async () => {
      await show(order)
      await page.getByLabel('Total', { exact: true }).press('e')
      expect(await page.getByRole('button', { name: 'Form', exact: true }).getAttribute('aria-pressed')).toBe('true')
      for (const view of ['JSON', 'Both', 'Form']) {
        await page.getByRole('heading', { name: 'given' }).click()
        await page.keyboard.press('e')
        await page.locator(`button[aria-pressed="true"]:text-is("${view}")`).waitFor()
      }
    })

    test('Ctrl+Z in the editor takes back an edit of the form', async () => {
      await showEditor()
      await editor().fill('{"status": "open", "total": 1}')
      await page.getByRole('button', { name: 'Both', exact: true }).click()
      await page.getByRole('radio', { name: 'closed' }).check()
      await expect.poll(() => editor().innerText()).toContain('closed')
      await editor().press('Control+z')
      await expect.poll(text).toBe('{"status": "open", "total": 1}')
    })
  })

  describe('feature 3: one text', () => {
    const editor = () => page.getByRole('textbox', { name: 'Arguments as JSON' })

    test('editing one field leaves all other bytes alone', async () => {
      await show({ type: 'object', properties: { name: { type: 'string' }, big: { type: 'integer' } } })
      await page.getByRole('button', { name: 'Both', exact: true }).click()
      const odd = '{ "unknown":[1,  2e0],\n\t"big" : 12345678901234567890,"name":"a" }'
      await page.locator('.cm-content').waitFor()
      await editor().fill(odd)
      await page.getByLabel('name', { exact: true }).fill('b')
      expect(await text()).toBe(odd.replace('"a"', '"b"'))

      await page.getByLabel('big', { exact: true }).fill('9007199254740993000000001')
      expect(await text()).toContain('"big" : 9007199254740993000000001,"name":"b" }')
      await page.getByText('The server reads this number as 9.007199254740993e+24.').first().waitFor()
    })

    test('broken text freezes the form, and mending it goes on', async () => {
      await show({ type: 'object', properties: { name: { type: 'string' } } })
      await page.getByRole('button', { name: 'Both', exact: true }).click()
      await page.locator('.cm-content').waitFor()
      await editor().fill('{"name": "kept"}')
      await expect.poll(() => page.getByLabel('name', { exact: true }).inputValue()).toBe('kept')
      await editor().fill('{"name": "kept", "more": ')
      await page.getByText('The form shows the last complete arguments').waitFor()
      expect(await page.getByLabel('name', { exact: true }).inputValue()).toBe('kept')
      expect(await page.getByLabel('name', { exact: true }).isDisabled()).toBe(true)
      await expect.poll(text).toBe('{"name": "kept", "more": ')

      await editor().fill('{"name": "kept", "more": 1}')
      await page.getByLabel('name', { exact: true }).fill('new')
      await expect.poll(text).toBe('{"name": "new", "more": 1}')
    })

    test('a branch that is left keeps its values for the way back', async () => {
      await show('v1:Keyword.OneOf')
      await page.getByLabel('radius', { exact: true }).fill('7')
      await page.getByLabel('Kind of the arguments').selectOption('square')
      await page.getByLabel('side', { exact: true }).fill('2')
      expect(JSON.parse(await text())).toEqual({ kind: 'square', side: 2 })
      await page.getByLabel('Kind of the arguments').selectOption('circle')
      expect(JSON.parse(await text())).toEqual({ kind: 'circle', radius: 7 })
    })

    test('a half-typed number stays in its field only', async () => {
      await show('v1:Keyword.Number')
      await page.getByLabel('value', { exact: true }).fill('12')
      await page.getByLabel('value', { exact: true }).fill('12e')
      expect(JSON.parse(await text())).toEqual({ value: 12 })
      await page.getByText('This is not a number.').waitFor()
    })

    test('rows of a spreadsheet go into the table', async () => {
      await show('v1:Keyword.Grid')
      await page.getByRole('button', { name: 'Add value', exact: true }).click()
      await page.getByRole('button', { name: 'Add item: value' }).click()
      await page.getByLabel('sku 1', { exact: true }).focus()
      await page.evaluate(`{
        const clipboardData = new DataTransfer()
        clipboardData.setData('text/plain', 'a\\t1\\nb\\t2\\n')
        const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
        document.activeElement.dispatchEvent(paste)
      }`)
      expect(JSON.parse(await text())).toEqual({
        value: [
          { sku: 'a', n: 1 },
          { sku: 'b', n: 2 },
        ],
      })
      await page.getByRole('button', { name: 'Move Item 2 up' }).click()
      expect(JSON.parse(await text()).value[0]).toEqual({ sku: 'b', n: 2 })
    })

    test('sensitive values are masked, and in no text to share', async () => {
      await show('v1:Keyword.Password')
      await page.getByLabel('value', { exact: true }).fill('hunter2')
      expect(await page.getByLabel('value', { exact: true }).getAttribute('type')).toBe('password')
      expect(await text()).toContain('hunter2')
      expect(await page.locator('#shared').innerText()).not.toContain('hunter2')
    })
  })

  describe('feature 10: attachments', () => {
    test('type and size are checked first', async () => {
      await show('v1:Keyword.Media')
      await page.getByText('This attachment is required.').waitFor()
      const input = page.getByLabel('photo', { exact: true }).and(page.locator('input'))
      const bytes = (size: number) => Buffer.alloc(size)
      await input.setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: bytes(3) })
      await page.getByText('The operation does not take text/plain. It takes image/png, image/jpeg.').waitFor()
      await input.setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: bytes(2_048) })
      await page.getByText('The file has 2 KiB; the operation takes at most 1,000 bytes.').waitFor()
      expect(await page.locator('#files').innerText()).toBe('')

      await input.setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: bytes(10) })
      await page.getByText('a.png (image/png, 10 bytes)').waitFor()
      expect(await page.locator('#files').innerText()).toBe('photo')
    })
  })

  describe('hostile schemas', () => {
    const properties = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`p${n}`, { type: 'string' }]))

    test('5,000 properties show some, and find the others by name', async () => {
      await show({ type: 'object', properties })
      expect(await page.locator('.form-field').count()).toBeLessThan(100)
      await page.getByLabel('Name of the new property: the arguments').fill('p4999')
      await page.getByRole('button', { name: 'Add property' }).click()
      await page.getByLabel('p4999', { exact: true }).fill('x')
      expect(JSON.parse(await text())).toEqual({ p4999: 'x' })
    })

    test('an object that requires itself, without end', async () => {
      await show({
        $ref: '#/$defs/a',
        $defs: { a: { type: 'object', required: ['a'], properties: { a: { $ref: '#/$defs/a' } } } },
      })
      await page.getByRole('button', { name: 'Add a' }).click()
      expect(await errorsShown(page)).toBe(1)
    })

    test('deep and doubled allOf', async () => {
      const $defs: Record<string, unknown> = { x60: { properties: { end: { type: 'string' } } } }
      for (let n = 0; n < 60; n++)
        $defs[`x${n}`] = { allOf: [{ $ref: `#/$defs/x${n + 1}` }, { $ref: `#/$defs/x${n + 1}` }] }
      await show({ $ref: '#/$defs/x0', $defs })
      await page.getByLabel('end', { exact: true }).fill('x')
      await page.getByText('Some rules of this schema cannot be checked here.').waitFor()
    })

    test('a remote reference is shown and never fetched', async () => {
      await show({ type: 'object', properties: { value: { $ref: 'https://example.com/schema.json' } } })
      await page.getByText('refers to https://example.com/schema.json').waitFor()
      await page.getByLabel('value', { exact: true }).fill('1')
      expect(site.complaints.filter((complaint) => complaint.startsWith('request'))).toEqual([])
    })

    test('names that objects inherit, empty names and hidden characters', async () => {
      await show({
        type: 'object',
        properties: JSON.parse('{"__proto__": {"type": "string"}, "": {"type": "string"}}'),
        additionalProperties: { type: 'string' },
      })
      await page.getByLabel('__proto__', { exact: true }).fill('x')
      await page.getByLabel('Name of the new property: the arguments').fill('a\u202eb')
      await page.getByRole('button', { name: 'Add property' }).click()
      expect(await text()).toContain('"__proto__": "x"')
      await page.getByText('U+202E').first().waitFor()
    })

    test('a list of 1,000 items is shown in windows', async () => {
      await show({ type: 'object', properties: { list: { type: 'array', items: { type: 'integer' } } } })
      await page.getByRole('button', { name: 'JSON', exact: true }).click()
      await page.locator('.cm-content').waitFor()
      await page
        .getByRole('textbox', { name: 'Arguments as JSON' })
        .fill(JSON.stringify({ list: Array.from({ length: 1_000 }, (_, n) => n) }))
      await page.getByRole('button', { name: 'Form', exact: true }).click()
      await page.getByText('Items 1 to 100 of 1000').waitFor()
      await page.getByRole('button', { name: 'Later items' }).click()
      await page.getByLabel('Item 101', { exact: true }).fill('7')
      expect(JSON.parse(await text()).list[100]).toBe(7)
      expect(await page.locator('.form-items > li').count()).toBe(100)
    })
  })

  test('axe finds nothing', async () => {
    const found: string[] = []
    for (const op of [
      'v1:Keyword.OneOf',
      'v1:Keyword.Grid',
      'v1:Keyword.Names',
      'v1:Keyword.Media',
      'v1:Keyword.Enum',
    ]) {
      await show(op)
      if (op.endsWith('Grid')) {
        await page.getByRole('button', { name: 'Add value', exact: true }).click()
        await page.getByRole('button', { name: 'Add item: value' }).click()
      }
      await page.getByRole('button', { name: 'Both', exact: true }).click()
      await page.locator('.cm-content').waitFor()
      await page.evaluate(await readFile(AXE, 'utf8'))
      found.push(...(await page.evaluate<string[]>(RUN_AXE)))
    }
    expect(found).toEqual([])
  })
})

async function take(page: Page, [kind, label, value = '']: Step): Promise<void> {
  switch (kind) {
    case 'fill':
      return page.getByLabel(label, { exact: true }).first().fill(value)
    case 'choose':
      await page.getByLabel(label, { exact: true }).selectOption({ label: value })
      return
    case 'check':
      return page.getByRole('radio', { name: label, exact: true }).check()
    case 'press':
      return page.getByRole('button', { name: label, exact: true }).first().click()
  }
}

async function errorsShown(page: Page): Promise<number> {
  return JSON.parse(await page.locator('#state').innerText()).errors
}
