/** The frame of the page in Chromium: it starts, shows places, and complains about nothing. */
import { expect, test, vi } from 'vitest'
import * as quickstart from '../../examples/quickstart/operations.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { startConsole } from './site.ts'

vi.setConfig({ testTimeout: 60_000 })

const operations = Object.values(quickstart)

describeWith(browser, 'the page', () => {
  test('the explorer starts, and an address of no screen says so', async () => {
    await using site = await startConsole({ operations })
    const page = await site.open('', { at: 'explorer' })

    await page.getByRole('link', { name: 'v1:Calculator.Add' }).waitFor()
    await page.goto(`${site.url}/explorer/#/nowhere`)
    await page.getByRole('heading', { name: 'No such place' }).waitFor()

    expect(site.complaints).toEqual([])
  })
})
