/** The pages of the errors in Chromium: each code has one, under its own name and under that of every protocol. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { browser, describeWith } from '../engines/engines.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { settled, until } from './waiting.ts'
import { callAs, doSomeWork, someRuns, TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

interface Listed {
  faults: { code: string; meaning: string; remedy?: string; wires: Record<string, { code?: string | number }> }[]
}

/** Goes to the page of each code, and reads it. A code without a page stays at the last one, and the test ends by its time. */
const visitAll = (names: readonly string[]) => `(async () => {
  const shown = {}
  for (const name of ${JSON.stringify(names)}) {
    location.hash = '#/errors/' + encodeURIComponent(name)
    while (document.querySelector('.split-detail h1')?.textContent !== name)
      await new Promise((drawn) => requestAnimationFrame(drawn))
    shown[name] = document.querySelector('.split-detail').innerText
  }
  return shown
})()`

describeWith(browser, 'the page of an error', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole(worldOptions())
    await doSomeWork(site.url)
  })
  afterAll(() => site[Symbol.asyncDispose]())

  test('feature 23: every code has one, with its meaning and remedy', async () => {
    const { faults } = (await callAs(site.url, 'operator', 'v1:callplane.faults.list', {})).result as Listed
    const page = await site.open('#/errors', { token: TOKENS.operator })
    await page.getByRole('link', { name: /^TIMEOUT/ }).waitFor()
    expect(await page.locator('.split-list li .mono').allTextContents()).toEqual(faults.map(({ code }) => code))

    const namesOf = ({ code, wires }: Listed['faults'][number]) =>
      new Set([code, ...Object.values(wires).flatMap((form) => (form.code === undefined ? [] : [String(form.code)]))])
    const names = [...new Set(faults.flatMap((fault) => [...namesOf(fault)]))]
    const shown = (await page.evaluate(visitAll(names))) as Record<string, string>
    for (const fault of faults)
      for (const name of namesOf(fault)) {
        expect([name, shown[name]]).toEqual([name, expect.stringContaining(fault.meaning)])
        expect([name, shown[name]]).toEqual([name, expect.stringContaining(fault.remedy ?? '')])
      }
    expect(faults.map(({ code }) => code)).toEqual(expect.arrayContaining(['CARRIER_AWAY', 'DOORBELL_NOT_FOUND']))
    expect(site.complaints).toEqual([])
  })

  test('the chosen code is in sight in the list, and its page begins at the top', async () => {
    const { faults } = (await callAs(site.url, 'operator', 'v1:callplane.faults.list', {})).result as Listed
    const last = faults.at(-1)?.code ?? ''
    const page = await site.open(`#/errors/${last}`, { token: TOKENS.operator })
    await page.getByRole('heading', { name: last }).waitFor()

    const current = `document.querySelector('.split-list a[aria-current]').getBoundingClientRect()`
    await until(page, `${current}.bottom <= innerHeight + 1`)

    await page.setViewportSize({ width: 1280, height: 300 })
    await page.evaluate(`document.querySelector('.split-detail').scrollTo(0, 1000)`)
    await page.evaluate(`location.hash = '#/errors/TIMEOUT'`)
    await page.getByRole('heading', { name: 'TIMEOUT' }).waitFor()
    await until(page, `document.querySelector('.split-detail').scrollTop === 0`)
    const head = `document.querySelector('.split-list > header').getBoundingClientRect()`
    await until(page, `${current}.top >= ${head}.bottom - 1 && ${current}.bottom <= innerHeight + 1`)
  })

  test('feature 23: failures lead there, in the list of runs, in a run and in the audit trail', async () => {
    const [failed] = await someRuns(site.url)
    const page = await site.open(`#/run/${failed}`, { token: TOKENS.operator })
    for (const place of [`#/run/${failed}`, '#/audit?f=code:CARRIER_AWAY']) {
      await page.goto(`${site.url}/console/${place}`)
      await settled(page)
      await page.locator('main').getByRole('link', { name: 'CARRIER_AWAY' }).first().click()
      await page.getByRole('heading', { name: 'CARRIER_AWAY' }).waitFor()
      await page.getByText('Try again later.').waitFor()
    }
    await page.getByRole('link', { name: 'Runs that failed with it' }).click()
    await page.getByText('3 runs').waitFor()
  })
})
