/** The hooks of React, and Vue and Svelte with our query options, in Chromium against a real server. */
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { expect, test, vi } from 'vitest'
import { openChromium } from '../engines/chromium.ts'
import { browser, describeWith, LARGE_PACKAGES, largePackages } from '../engines/engines.ts'
import { type Site, startSite } from '../scenarios/server.ts'
import { count, getItem, report, watched } from './operations.ts'
import { SVELTE_ENTRY, sveltePlugin } from './svelte-bundle.ts'

vi.setConfig({ testTimeout: 60_000 })

async function bundle(name: string): Promise<string> {
  const isSvelte = name.endsWith('.svelte')
  const path = join(import.meta.dirname, name)
  const built = await rolldown({
    input: isSvelte ? SVELTE_ENTRY : path,
    plugins: isSvelte ? [await sveltePlugin(path)] : [],
    platform: 'browser',
    // Packages mark modules for servers that render React, which this page has no use for.
    onLog: () => {},
    resolve: {
      conditionNames: ['callplane-source', ...(isSvelte ? ['svelte'] : []), 'browser', 'import', 'module', 'default'],
      modules: ['node_modules', LARGE_PACKAGES],
    },
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  })
  return (await built.generate({ format: 'esm' })).output[0].code
}

async function openPage(chromium: Awaited<ReturnType<typeof openChromium>>, { url }: Site, name: string) {
  const script = await bundle(name)
  const page = await chromium.newPage()
  await page.route(`${url}/page`, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><script type="module" src="/page.js"></script>' }),
  )
  await page.route(`${url}/page.js`, (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
  await page.goto(`${url}/page`)
  const shows = (id: string, text: string | RegExp) =>
    expect.poll(() => page.textContent(`#${id}`), { timeout: 20_000 }).toMatch(text)
  return { page, shows }
}

describeWith(browser, 'Chromium', () => {
  test('React shows results, runs with their progress, and streams', async () => {
    const site = await startSite({ operations: [getItem, report, count] })
    await using chromium = await openChromium()
    const { page, shows } = await openPage(chromium, site, 'react-page.ts')

    await shows('item', /^success ITEM 1$/)
    await page.click('#next')
    await shows('item', /^success ITEM 2$/)
    await page.click('#none')
    await shows('item', /^error NO_ITEM$/)

    await shows('report', /^idle/)
    await page.click('#start')
    await shows('report', /^complete 1 3$/)
    await page.click('#long')
    await shows('report', /^running 0\.\d+ $/)
    await page.click('#cancel')
    await shows('report', /^error .*CANCELED$/)

    await shows('clock', /^complete 4 \[2,3,4\]$/)
    await page.click('#more')
    await shows('clock', /^streaming 200 \[198,199,200\]$/)
    expect(watched.streams).toBe(1)
    await page.click('#hide')
    await expect.poll(() => watched.streams).toBe(0)
  })

  test('Vue uses the same options through its own adapter', async () => {
    const site = await startSite({ operations: [getItem] })
    await using chromium = await openChromium()
    const { shows } = await openPage(chromium, site, 'vue-page.ts')

    await shows('item', /^item 7$/)
  })
})

describeWith(browser, 'Chromium', () => {
  describeWith(largePackages, 'Svelte', () => {
    test('uses the same options through its own adapter', async () => {
      const site = await startSite({ operations: [getItem] })
      await using chromium = await openChromium()
      const { page, shows } = await openPage(chromium, site, 'svelte-page.svelte')

      await shows('item', /^item 7$/)
      await page.click('#next')
      await shows('item', /^item 8$/)
    })
  })
})
