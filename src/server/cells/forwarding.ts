/**
 * Forwards HTTP requests and upgrades to another cell, and its responses back, piece by piece. It changes only the
 * headers that belong to one connection.
 */
import type { IncomingMessage, RequestOptions, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream'
import { Fault } from '../../core/fault.ts'
import type { Answer } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { CellDefinition } from '../options/cells.ts'

// A named import of node:http also evaluates its `WebSocket` and loads all of undici.
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')

/** Names the cell that handles the request. Clients may set it, too. */
export const CELL = 'callplane-cell'
/** Names the cell that forwarded the request. A request is forwarded once. */
export const FORWARDED = 'callplane-forwarded'

/** RFC 9110, "Connection". `upgrade` and `connection` are set again for an upgrade. */
const OF_A_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
const CONNECT_MS = 5_000
const RETRY_AFTER_MS = 1_000

export interface Forwarding {
  request(
    cell: CellDefinition,
    request: IncomingMessage,
    response: ServerResponse,
    refuse: (fault: Fault) => Answer,
  ): void
  upgrade(
    cell: CellDefinition,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    refuse: (fault: Fault) => void,
  ): void
  /** Closes idle connections. */
  close(): void
}

export function createForwarding({ from, log }: { from: string; log: Log }): Forwarding {
  const plain = new http.Agent({ keepAlive: true })
  const secure = new https.Agent({ keepAlive: true })

  function open(cell: CellDefinition, request: IncomingMessage, more: readonly string[] = []) {
    const { method = 'GET', url = '/', rawHeaders, socket } = request
    const address = new URL(cell.url)
    const isSecure = address.protocol === 'https:'
    const own = [CELL, cell.name, FORWARDED, from, 'x-forwarded-for', socket.remoteAddress ?? 'unknown']
    const options: RequestOptions = {
      method,
      path: url,
      headers: [...endToEnd(rawHeaders, request), ...own, ...more],
      // The path is sent as it came. The Host header stays that of the client, for links in the response.
      setHost: false,
      agent: isSecure ? secure : plain,
    }
    const sent = isSecure ? https.request(address, options) : http.request(address, options)
    sent.on('socket', (to) => {
      if (!to.connecting) return
      const timer = setTimeout(() => to.destroy(new Error(`no connection within ${CONNECT_MS} ms`)), CONNECT_MS)
      to.once('connect', () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
    })
    return sent
  }

  function unreachable(cell: CellDefinition, err: Error): Fault {
    log.warn({ err, cell: cell.name }, 'could not forward a request to its cell')
    const message = `The cell of your calls cannot be reached. Try again later with the same request id.`
    return new Fault('unavailable', message, { code: 'CELL_UNREACHABLE', retryAfterMs: RETRY_AFTER_MS })
  }

  return {
    request(cell, request, response, refuse) {
      const sent = open(cell, request)
      response.once('close', () => {
        if (!response.writableFinished) sent.destroy()
      })
      sent.once('response', (received) => {
        const headers = endToEnd(received.rawHeaders, received)
        response.writeHead(received.statusCode ?? 502, headers)
        // An end in the middle of a body destroys the client's connection, so that it does not look complete.
        pipeline(received, response, () => undefined)
      })
      sent.once('error', (err) => {
        if (response.headersSent || response.destroyed) return void response.destroy()
        const { status, headers, body } = refuse(unreachable(cell, err))
        response.writeHead(status, { ...headers, connection: 'close' }).end(body)
      })
      // The response may come before the end of the request, and an aborted request is the client's own end.
      pipeline(request, sent, () => undefined)
    },
    upgrade(cell, request, socket, head, refuse) {
      const { upgrade = '' } = request.headers
      const sent = open(cell, request, ['connection', 'upgrade', 'upgrade', upgrade])
      socket.once('close', () => sent.destroy())
      sent.once('upgrade', (received, to, first) => {
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines(received.rawHeaders)}\r\n`)
        if (first.length > 0) socket.write(first)
        if (head.length > 0) to.write(head)
        pipeline(socket, to, socket, () => undefined)
      })
      sent.once('response', (received) => {
        const status = `HTTP/1.1 ${received.statusCode} ${received.statusMessage}\r\n`
        socket.write(`${status}${lines(endToEnd(received.rawHeaders, received))}connection: close\r\n\r\n`)
        pipeline(received, socket, () => undefined)
      })
      sent.once('error', (err) => {
        if (!socket.destroyed) refuse(unreachable(cell, err))
      })
      sent.end()
    },
    close() {
      plain.destroy()
      secure.destroy()
    },
  }
}

/** Alternating names and values, without the headers of one connection and those that `Connection` lists. */
function endToEnd(raw: readonly string[], { headers }: IncomingMessage): string[] {
  const listed = (headers.connection ?? '').toLowerCase().split(',')
  const dropped = new Set([...listed.map((name) => name.trim()), ...OF_A_CONNECTION, CELL, FORWARDED])
  const kept: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at], raw[at + 1]]
    if (!dropped.has(name.toLowerCase())) kept.push(name, value)
  }
  return kept
}

function lines(raw: readonly string[]): string {
  let text = ''
  for (let at = 0; at + 1 < raw.length; at += 2) text += `${raw[at]}: ${raw[at + 1]}\r\n`
  return text
}
