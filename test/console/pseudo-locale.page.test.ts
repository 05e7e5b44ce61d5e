/** The page in a language whose texts are longer: all words come from the catalogue, and none leaves a narrow screen. */
import type { Page, Response } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { WIRES } from '../../console/src/explore/wires/index.ts'
import type { RouteName } from '../../console/src/routes.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { addressesOf } from './addresses.ts'
import { buildPseudoPage } from './pseudo-locale.ts'
import { type ConsoleSite, type OpenOptions, startConsole } from './site.ts'
import { settled } from './waiting.ts'
import { doSomeWork, TOKENS, worldOptions } from './world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const WIDTH = 360

/** Names of protocols and signs of units are the same in every language. The browser knows the months. */
const MONTHS = Array.from({ length: 12 }, (_, month) =>
  new Intl.DateTimeFormat('en', { month: 'short' }).format(new Date(2026, month)),
)
const NAMES = wordsIn([...WIRES.map(({ title }) => title), 'Callplane JSON ms min kB MB GB UTC', ...MONTHS].join(' '))

/** Words that a person reads or hears, without those of the catalogue. */
const OTHER_WORDS = `(() => {
  const found = []
  const add = (text) => {
    let rest = text
    for (let before; before !== rest; ) {
      before = rest
      rest = rest.replace(/⟦[^⟦⟧]*⟧/g, ' ')
    }
    if (/\\p{L}/u.test(rest)) found.push(rest.trim())
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) =>
    node instanceof Element && node.matches('script, style, noscript, kbd, time, code, pre')
      ? NodeFilter.FILTER_REJECT
      : NodeFilter.FILTER_ACCEPT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node instanceof Text) add(node.data)
    else for (const name of ['aria-label', 'title', 'placeholder', 'alt']) add(node.getAttribute(name) ?? '')
  }
  add(document.title)
  return found
})()`

/** Texts of the catalogue that stand outside the screen, or that something cuts off. */
const CUT_TEXTS = `(() => {
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const unseen = '.only-read, noscript, [popover], details:not([open]) > :not(summary)'
    if (!node.data.includes('⟦') || node.parentElement.closest(unseen)) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    const { left, right, width } = range.getBoundingClientRect()
    if (width === 0) continue
    let [from, to] = [0, innerWidth]
    for (let box = node.parentElement; box; box = box.parentElement) {
      const { overflowX, textOverflow, clipPath } = getComputedStyle(box)
      // A person can scroll there, sees dots, or only hears it. The screen as a whole does not scroll sideways.
      const scrolls = /auto|scroll/.test(overflowX) && box.scrollWidth > box.clientWidth && box.tagName !== 'MAIN'
      if (scrolls || clipPath !== 'none' || (textOverflow === 'ellipsis' && overflowX !== 'visible')) {
        from = -Infinity
        to = Infinity
        break
      }
      if (overflowX === 'hidden' || overflowX === 'clip') {
        const rect = box.getBoundingClientRect()
        from = Math.max(from, rect.left)
        to = Math.min(to, rect.right)
      }
    }
    if (left < from - 1 || right > to + 1) found.push(node.data + ' at ' + Math.round(left) + ' to ' + Math.round(right))
  }
  const { scrollWidth } = document.documentElement
  if (scrollWidth > innerWidth) found.push('the page is ' + scrollWidth + ' wide')
  const main = document.querySelector('main')
  if (main && main.scrollWidth > main.clientWidth) found.push('main is ' + main.scrollWidth + ' wide')
  return found
})()`

function wordsIn(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/\p{L}+/gu) ?? [])
}

/** The page cuts long values, also within a word. */
function isCut(word: string, text: string, known: ReadonlySet<string>): boolean {
  return text.toLowerCase().endsWith(word) && [...known].some((whole) => whole.startsWith(word))
}

describeWith(browser, 'the page in a longer language', () => {
  let site: ConsoleSite
  let addresses: Record<RouteName, string>
  beforeAll(async () => {
    site = await startConsole(worldOptions(), await buildPseudoPage())
    await doSomeWork(site.url)
    addresses = await addressesOf(site.url)
  })
  afterAll(() => site[Symbol.asyncDispose]())

  /** Goes through all screens in one tab, and to the sign-in in another. */
  const visit = async (options: OpenOptions, look: (page: Page, route: string) => Promise<unknown>) => {
    const tab = await site.open('#/nowhere', { ...options, token: TOKENS.operator })
    for (const [route, address] of Object.entries(addresses)) {
      const page = route === 'login' ? await site.open(address, options) : tab
      await page.goto(`${site.url}/console/${address}`)
      await settled(page)
      await look(page, route)
    }
  }

  test('every word comes from the catalogue or from the server', async () => {
    const others: string[] = []
    const known = wordsIn(Object.values(addresses).map(decodeURIComponent).join(' '))
    const learn = async (response: Response) => {
      if (!/json/.test(response.headers()['content-type'] ?? '')) return
      for (const word of wordsIn(await response.text().catch(() => ''))) known.add(word)
    }
    site.browser.on('context', (context) => context.on('response', (response) => void learn(response)))
    await visit({}, async (page, route) => {
      const look = async () => {
        const unknown: string[] = []
        for (const text of (await page.evaluate(OTHER_WORDS)) as string[])
          for (const word of wordsIn(text))
            if (word.length > 1 && !known.has(word) && !NAMES.has(word) && !isCut(word, text, known))
              unknown.push(`${route}: "${word}" in "${text}"`)
        return unknown
      }
      // A response may be drawn before the test has read it.
      await expect
        .poll(look)
        .toEqual([])
        .catch(async () => others.push(...(await look())))
    })
    expect(others).toEqual([])
  })

  test('at 360 pixels no text is cut off, and no screen is wider than the window', async () => {
    const cut: string[] = []
    await visit({ viewport: { width: WIDTH, height: 740 } }, async (page, route) => {
      for (const text of (await page.evaluate(CUT_TEXTS)) as string[]) cut.push(`${route}: ${text}`)
    })
    expect(cut).toEqual([])
  })
})
