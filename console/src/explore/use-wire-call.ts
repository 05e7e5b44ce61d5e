/** The call of the page as the wires take it. The name of the tool is asked for when a wire needs it. */
import { useQuery } from '@tanstack/preact-query'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { CheckArgs } from '../api/types.ts'
import type { Attachments } from '../forms/arguments-view.tsx'
import { usePage } from '../shell/page.ts'
import { findToolName } from './wires/tool-names.ts'
import type { Attachment, Entry, WireCall, WireId } from './wires/wire.ts'

export interface PageCall extends WireCall {
  /** False while the name of the tool is not known yet. */
  isReady: boolean
  /** The same call with ids of its own. */
  fresh(): WireCall
}

interface Parts {
  entry: Entry
  entries: readonly Entry[]
  text: string
  attachments: Attachments
  wire: WireId
}

/** Larger files are not encoded for a message: the wire refuses them anyway. */
const MAX_ENCODED = 1_000_000

export function useWireCall({ entry, entries, text, attachments, wire }: Parts): PageCall {
  const { server } = usePage()
  const tool = useQuery({
    queryKey: ['tool-name', entry.op],
    enabled: entry.executionModel !== 'stream' && !isOwn(entry),
    staleTime: 60_000,
    queryFn: async () => {
      const get = async (path: string) => {
        const response = await server.fetch(`/${path}`)
        return response.ok ? response.json() : undefined
      }
      return (await findToolName(entry, entries, get)) ?? null
    },
  })
  const encoded = useEncoded(attachments, wire === 'mcp')
  const requestId = useMemo(() => crypto.randomUUID(), [entry.op])
  const call: WireCall = {
    entry,
    argsText: text,
    requestId,
    idempotencyKey: requestId,
    ...(tool.data && { tool: tool.data }),
    ...(encoded.length > 0 && { attachments: encoded }),
  }
  return {
    ...call,
    isReady: tool.isFetched || entry.executionModel === 'stream' || isOwn(entry),
    fresh() {
      const id = crypto.randomUUID()
      return { ...call, requestId: id, idempotencyKey: id }
    },
  }
}

/** The server's own operations are no tools. */
function isOwn({ op }: Entry): boolean {
  return op.startsWith('v1:callplane.')
}

/** Files as a wire needs them. Only MCP has the bytes in its message. */
function useEncoded(attachments: Attachments, withBytes: boolean): readonly Attachment[] {
  const [encoded, setEncoded] = useState<readonly Attachment[]>([])
  useEffect(() => {
    let isGone = false
    const encoding = Object.entries(attachments).map(async ([name, given]): Promise<Attachment> => {
      if (!(given instanceof File)) return { name, mimeType: given.type, ref: given.ref }
      return { name, mimeType: typeOf(given), base64: withBytes ? await base64Of(given) : '' }
    })
    void Promise.all(encoding).then((ready) => !isGone && setEncoded(ready))
    return () => {
      isGone = true
    }
  }, [attachments, withBytes])
  return encoded
}

async function base64Of(file: File): Promise<string> {
  if (file.size > MAX_ENCODED) return 'A'.repeat(MAX_ENCODED + 1)
  const bytes = new Uint8Array(await file.arrayBuffer())
  let binary = ''
  for (let at = 0; at < bytes.length; at += 8_192) binary += String.fromCharCode(...bytes.subarray(at, at + 8_192))
  return btoa(binary)
}

export function filesOf(attachments: Attachments): ReadonlyMap<string, File> {
  return new Map(Object.entries(attachments).filter((pair): pair is [string, File] => pair[1] instanceof File))
}

/** What a check needs to know of the attachments: not their bytes. */
export function notesOf(attachments: Attachments): NonNullable<CheckArgs['media']> {
  return Object.entries(attachments).map(([name, given]) =>
    given instanceof File
      ? { name, mimeType: typeOf(given), bytes: given.size }
      : { name, mimeType: given.type, ref: given.ref },
  )
}

function typeOf(file: File): string {
  return file.type || 'application/octet-stream'
}
