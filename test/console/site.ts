/** A real server with the built page, and Chromium. What must never happen on the page is collected. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CallplaneServer, createServer, type ServerOptions } from 'callplane'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { buildConsole } from '../../scripts/console-files.ts'
import { openChromium } from '../engines/chromium.ts'
import { type BuiltPage, buildPart } from './forms/build-part.ts'
import { serveStatic } from './forms/static-site.ts'

export interface ConsoleSite extends AsyncDisposable {
  /** The address of the server; the page is at `/explorer/` and `/console/` below it. */
  readonly url: string
  readonly server: CallplaneServer
  readonly browser: Browser
  /** Requests to other hosts, breaches of the policy, and errors of the page's scripts: all must stay empty. */
  readonly complaints: string[]
  /** A fresh browser context at a fragment: `open('#/runs')`. */
  open(fragment?: string, options?: OpenOptions): Promise<Page>
  /** Ends the server and starts it again, on the same data and port. */
  stop(): Promise<void>
  start(): Promise<void>
}

export interface OpenOptions extends BrowserContextOptions {
  at?: 'explorer' | 'console'
  /** The tab is signed in with this token already. */
  token?: string
  /** The time that the page believes. */
  now?: Date
}

/** `part` is a page that shows one part of the console instead, as in `console/test`, or another build of the page. */
export async function startConsole<App>(options: ServerOptions<App>, part?: string | BuiltPage): Promise<ConsoleSite> {
  const data = options.data ?? mkdtempSync(join(tmpdir(), 'callplane-console-'))
  await using ending = new AsyncDisposableStack()
  if (part === undefined) await buildConsole()
  const create = () => createServer<App>({ ...options, data })
  let server = await create()
  let { url } = await server.listen({ port: 0 })
  if (part !== undefined) {
    const page = ending.use(typeof part === 'string' ? await buildPart(part) : part)
    url = ending.use(await serveStatic(page.folder, url)).url
  }
  const browser = await openChromium()
  const complaints: string[] = []
  const parts = ending.move()
  return {
    url,
    get server() {
      return server
    },
    browser,
    complaints,
    async open(fragment = '', { at = 'console', token, now, ...more } = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...more })
      if (token) await context.addInitScript(signInOnce(token))
      if (now) await context.clock.setFixedTime(now)
      const opened = await context.newPage()
      watch(opened, url, complaints)
      await opened.goto(`${url}/${at}/${fragment}`)
      return opened
    },
    stop: () => server.close(0),
    async start() {
      server = await create()
      await server.listen({ port: Number(new URL(url).port) })
    },
    async [Symbol.asyncDispose]() {
      await browser.close()
      await parts.disposeAsync()
      await server.close(0)
      rmSync(data, { recursive: true, force: true })
    },
  }
}

/** Runs before every page of the context; a later sign-in of the page stays. */
function signInOnce(token: string): string {
  return `sessionStorage.getItem('callplane.session') ?? sessionStorage.setItem('callplane.session', '${token}')`
}

function watch(page: Page, own: string, complaints: string[]): void {
  page.on('request', (request) => {
    // The browser's own viewer of PDF files is an extension of it.
    if (!/^(?:blob|data|chrome|chrome-extension):/.test(request.url()) && !request.url().startsWith(own))
      complaints.push(`request to ${request.url()}`)
  })
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted ?Type/i.test(message.text())) complaints.push(message.text())
  })
}
