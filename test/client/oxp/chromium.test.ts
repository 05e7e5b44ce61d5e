/** The client in a page of Chromium, from its sources. */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { openChromium } from '../../engines/chromium.ts'
import { browser, describeWith } from '../../engines/engines.ts'
import { startSite } from '../../scenarios/server.ts'

vi.setConfig({ testTimeout: 60_000 })

const root = join(import.meta.dirname, '../../..')

/** Runs in the page. */
const SCRIPT = `async () => {
  const { createOxpClient, OxpError } = await import('/src/client/oxp/index.ts')
  const oxp = createOxpClient({ url: location.origin })
  const tools = await oxp.tools()
  const sum = await oxp.call('Calculator.Add', { a: 10, b: 5 }, { callId: 'c1' })
  const failed = await oxp.call('Doorbell.Ring').catch((error) => error)
  const moved = await createOxpClient({ url: location.origin + '/moved' }).call('a.b').catch((error) => error)
  return {
    tools: tools.map(({ id }) => id),
    sum,
    failed: [failed instanceof OxpError, failed.code, failed.callId.endsWith('-retry-1'), failed.forModel()],
    moved: [moved.code, moved.outcome],
  }
}`

describeWith(browser, 'Chromium', () => {
  test('a page lists tools, calls them, retries, and follows no redirect', async () => {
    const add = operation('v1:Calculator.Add', { run: ({ a, b }) => Number(a) + Number(b) })
    const ring = operation('v1:Doorbell.Ring', {
      run: (_args, ctx) => {
        const retryable = !ctx.requestId.includes('retry')
        ctx.fail('BUSY', 'Busy', { retryable, retryAfterMs: 0, promptContent: 'Ring doorbell42.' })
      },
    })
    const { url } = await startSite({ operations: [add, ring] })
    await using chromium = await openChromium()
    const page = await chromium.newPage()
    await page.route(`${url}/src/**`, (route) => {
      const source = readFileSync(join(root, new URL(route.request().url()).pathname), 'utf8')
      return route.fulfill({ contentType: 'text/javascript', body: stripTypeScriptTypes(source) })
    })
    await page.route(`${url}/moved/**`, (route) => route.fulfill({ status: 307, headers: { Location: '/tools/call' } }))
    await page.goto(`${url}/health`)

    expect(await page.evaluate(`(${SCRIPT})()`)).toEqual({
      tools: ['Calculator.Add@1.0.0', 'Doorbell.Ring@1.0.0'],
      sum: { value: 15, callId: 'c1', durationMs: expect.any(Number) },
      failed: [
        true,
        'TOOL_FAILED',
        true,
        'Busy\nCalling the tool again with the same input will not help.\nRing doorbell42.',
      ],
      moved: ['REDIRECTED', 'unknown'],
    })
  })
})
