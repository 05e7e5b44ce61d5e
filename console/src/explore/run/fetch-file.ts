/** Gets a result that is bytes: from its own address, or in chunks, each of which the client verifies. */
import type { Download } from '../../../../src/client/downloads/download.ts'
import { collect } from '../../api/collect.ts'
import type { Server } from '../../api/server.ts'
import type { Outcome } from '../wires/wire.ts'
import type { Ended } from './run.ts'

export interface ReadFile {
  blob: Blob
  name?: string
  /** JSON text of the value that accompanies the bytes. */
  json?: string
}

type FileOutcome = Extract<Outcome, { kind: 'file' | 'bytes' | 'running' }>

export async function fetchFile(
  server: Server,
  outcome: FileOutcome,
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Ended> {
  if (outcome.kind === 'running') return { kind: 'failed', failure: { kind: 'failure', message: '' } }
  if (outcome.kind === 'bytes') return { kind: 'file', file: { blob: blobOf(outcome) } }
  const { uri, json, auth } = outcome
  const more = json === undefined ? {} : { json }
  const requestId = /\/ops\/([^/]+)\/chunks$/.exec(new URL(uri, server.base).pathname)?.[1]
  if (requestId !== undefined) {
    const client = await server.fullClient()
    const download = (await client.resume(decodeURIComponent(requestId)).result({ signal })) as Download
    return { kind: 'file', file: { blob: await collect(download, onBytes), ...more } }
  }
  const response = await getFile(server, uri, auth, signal)
  if (!response) return { kind: 'value', json: JSON.stringify({ uri }) }
  const blob = await response.blob()
  const name = filenameIn(response.headers.get('content-disposition'))
  return { kind: 'file', file: { blob, ...(name !== undefined && { name }), ...more } }
}

/** `undefined` for a file at another server: the page asks no other server for anything. */
async function getFile(
  server: Server,
  uri: string,
  auth: string | undefined,
  signal: AbortSignal,
): Promise<Response | undefined> {
  const path = /(\/objects\/[^/]+)$/.exec(uri)?.[1]
  if (path === undefined) return undefined
  const headers = auth === undefined ? {} : { authorization: `Bearer ${auth}` }
  return server.fetch(path, { headers, signal })
}

function blobOf({ mimeType, base64, text }: Extract<Outcome, { kind: 'bytes' }>): Blob {
  if (text !== undefined) return new Blob([text], { type: mimeType })
  const bytes = Uint8Array.from(atob(base64 ?? ''), (character) => character.charCodeAt(0))
  return new Blob([bytes], { type: mimeType })
}

function filenameIn(disposition: string | null): string | undefined {
  const plain = /filename="((?:[^"\\]|\\.)*)"/.exec(disposition ?? '')?.[1]
  const extended = /filename\*=UTF-8''([^;]+)/i.exec(disposition ?? '')?.[1]
  return extended === undefined ? plain : decodeURIComponent(extended)
}
