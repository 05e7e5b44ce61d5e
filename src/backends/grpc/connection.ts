/** Keeps one connection to a tool: opens it on first use and replaces it when it fails. */
import { readFileSync } from 'node:fs'
import type { ClientHttp2Session } from 'node:http2'
import { connect as connectPlain, isIP } from 'node:net'
import { resolve as resolvePath } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { Fault } from '../../core/fault.ts'
import type { BackendParts } from '../../core/ports/backend.ts'
import type { GrpcSettings } from './settings.ts'

/** How long an unused connection is kept. `CONNECT_MS` limits how long opening one may take. */
const IDLE_MS = 60_000
const CONNECT_MS = 10_000
const PING_MS = 2_000

export interface Connection {
  /** Resolves to a session that accepts requests. */
  session(): Promise<ClientHttp2Session>
  /** Keeps the process alive until the caller calls the returned function. */
  hold(session: ClientHttp2Session): () => void
  /** Reports that a call received no response in time, so that the next call does not use a dead connection. */
  doubt(session: ClientHttp2Session): void
  close(): Promise<void>
}

type Parts = Pick<BackendParts, 'lookup' | 'folder' | 'log' | 'clock'>

export function createConnection(settings: GrpcSettings, { lookup, folder, log, clock }: Parts): Connection {
  const { hostname, port, protocol, origin } = new URL(settings.endpoint)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const ca = settings.ca === undefined ? undefined : readCa(resolvePath(folder, settings.ca))
  let opening: Promise<ClientHttp2Session> | undefined
  let calls = 0

  async function open(): Promise<ClientHttp2Session> {
    const [first] = await addresses()
    if (!first) throw unreachable(host)
    const target = { host: first.address, port: Number(port) || (protocol === 'https:' ? 443 : 80) }
    const name = isIP(host) === 0 ? { servername: host } : {}
    const socket = settings.plaintext
      ? connectPlain(target)
      : connectTls({ ...target, ...name, ALPNProtocols: ['h2'], ...(ca !== undefined && { ca }) })
    const session = process.getBuiltinModule('node:http2').connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false },
    })
    session.unref()
    session.setTimeout(IDLE_MS, () => session.close())
    session.on('error', (err) => log.debug({ err, host }, 'the connection to a tool failed'))
    return new Promise((resolve, reject) => {
      const late = clock.schedule(CONNECT_MS, () => session.destroy(new Error('the connection attempt timed out')))
      const failed = (cause?: Error) => {
        late()
        reject(unreachable(host, cause))
      }
      session.once('error', failed)
      session.once('close', failed)
      session.once('connect', () => {
        late()
        session.off('error', failed)
        session.off('close', failed)
        resolve(session)
      })
    })
  }

  async function addresses() {
    if (lookup) return lookup(host, settings.allowPrivate)
    throw new Fault(
      'internal',
      'A grpc backend needs a "lookup" function among its parts, to check the addresses it connects to.',
    )
  }

  return {
    async session() {
      const known = opening
      const current = await known?.catch(() => undefined)
      // Node closes the session when the tool sends GOAWAY, and destroys it when the connection is lost.
      if (current && !current.closed && !current.destroyed) return current
      // If several calls find the connection closed, the first one opens a new one.
      if (opening === known) opening = open()
      return opening as Promise<ClientHttp2Session>
    },
    hold(session) {
      if (calls++ === 0) session.ref()
      return () => {
        if (--calls === 0) session.unref()
      }
    },
    doubt(session) {
      if (session.closed || session.destroyed) return
      const dead = clock.schedule(PING_MS, () => session.destroy())
      session.ping(() => dead())
    },
    async close() {
      const session = await opening?.catch(() => undefined)
      opening = undefined
      if (!session || session.destroyed) return
      await new Promise<void>((resolve) => {
        session.once('close', resolve)
        session.destroy()
      })
    },
  }
}

function readCa(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Fault('policy-invalid', `backend.ca: ${file} cannot be read. Name a PEM file.`, { cause })
  }
}

function unreachable(host: string, cause?: Error): Fault {
  const code = cause && 'code' in cause ? ` (${String(cause.code)})` : ''
  return new Fault('upstream', `The tool at ${host} cannot be reached${code}. Try again later.`, { cause })
}
