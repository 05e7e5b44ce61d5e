/** Serves the built page at `/explorer/` and `/console/` with its policy, and hands every other request to the server. */
import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' blob:",
  "media-src 'self' blob:",
  'frame-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

export interface StaticSite extends AsyncDisposable {
  readonly url: string
}

export async function serveStatic(folder: string, serverUrl: string): Promise<StaticSite> {
  const site = createServer((incoming, response) => {
    const { pathname } = new URL(incoming.url ?? '/', 'http://localhost')
    const file = /^\/(?:explorer|console)\/(assets\/[\w.-]+|icon\.svg)?$/.exec(pathname)
    if (file && incoming.method === 'GET') {
      const name = normalize(file[1] ?? 'index.html')
      response.setHeader('content-type', TYPES[extname(name)] ?? 'application/octet-stream')
      response.setHeader('content-security-policy', POLICY)
      response.end(readFileSync(join(folder, name)))
      return
    }
    const onward = request(
      new URL(incoming.url ?? '/', serverUrl),
      { method: incoming.method ?? 'GET', headers: incoming.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.on('error', () => response.destroy())
        answer.pipe(response)
      },
    )
    // The server is gone: the browser sees a connection that breaks, as it would without this program between.
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  const { port } = site.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      site.closeAllConnections()
      await new Promise((resolve) => site.close(resolve))
    },
  }
}
