/** The arguments of the operation on the page. Their text is the truth; the link follows it, and a new link changes it. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { withoutSensitive } from '../forms/schema/sensitive.ts'
import { usePage } from '../shell/page.ts'
import { decodeArgs, encodeArgs } from './link-args.ts'
import { sampleArgs } from './sample-args.ts'
import type { Entry } from './wires/wire.ts'

/** The link is written when a person stops typing for this long. */
const SETTLED_MS = 300

export interface Arguments {
  /** `undefined` until the link is read. */
  text: string | undefined
  setText(text: string): void
}

export function useArguments(entry: Entry, drafts: Map<string, string>): Arguments {
  const { router } = usePage()
  const place = router.place.value
  const linked = place?.name === 'operation' && place.params.op === entry.op ? place.query.a : undefined
  const [text, setText] = useState<string>()
  const written = useRef<string | undefined>(undefined)
  const { op, argsSchema } = entry
  useEffect(() => {
    if (text !== undefined && linked === written.current) return
    let isGone = false
    void (linked === undefined ? undefined : decodeArgs(linked))?.then((read) => {
      if (isGone) return
      written.current = linked
      setText(read ?? drafts.get(op) ?? sampleArgs(argsSchema))
    })
    if (linked === undefined) {
      written.current = undefined
      setText(drafts.get(op) ?? sampleArgs(argsSchema))
    }
    return () => {
      isGone = true
    }
  }, [op, linked])
  useEffect(() => {
    if (text === undefined) return
    drafts.set(op, text)
    const timer = setTimeout(async () => {
      const kept = withoutSensitive(text, argsSchema)
      // Broken text cannot be searched for secrets, so the link keeps what it has.
      if (kept === undefined) return
      const a = kept === sampleArgs(argsSchema) ? undefined : await encodeArgs(kept)
      if (a === written.current) return
      written.current = a
      router.setQuery('operation', { a })
    }, SETTLED_MS)
    return () => clearTimeout(timer)
  }, [op, text])
  return { text, setText }
}

/** Why the text cannot be sent. */
export function problemWith(text: string): 'broken' | 'no-object' | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? undefined : 'no-object'
  } catch {
    return 'broken'
  }
}
