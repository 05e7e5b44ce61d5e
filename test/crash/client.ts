/** A client with one task that it does not give up: it sends, follows the call, and continues after every restart. */
import { createHash, randomUUID } from 'node:crypto'
import type { CrashingServer } from './crashing-server.ts'
import type { Decider } from './decider.ts'
import type { ClientCall, SeenChunk, SeenState, Sighting } from './history.ts'

export interface Wish {
  label: string
  /** `Grant` does the same work as `Held`, in a protocol that cannot wait for the approval. */
  operation: 'Work' | 'Charge' | 'Order' | 'Export' | 'Held' | 'Grant'
  args: { ms: number; fail?: 'never' | 'once' | 'always' }
  /**
   * What the client does if the connection breaks before the reply: repeat the key, repeat the request id, or give up.
   */
  whenCutOff: 'same-key' | 'same-id' | 'leave'
}

interface Envelope {
  state: SeenState
  result?: unknown
  error?: { code: string; message: string }
  location?: { uri: string }
}

type Seen = ClientCall & { sightings: Sighting[]; readings: SeenChunk[][] }

/** On a slow machine several kills in a row can hit the same call, and the server stops retrying it after a limit. */
const CUT_OFF = 'PANIC_CUT_OFF'
const MAY_FAIL_WITH = {
  Work: ['AS_ASKED', CUT_OFF],
  Charge: ['OUTCOME_UNKNOWN'],
  Order: ['OUTCOME_UNKNOWN', CUT_OFF],
  Export: [CUT_OFF],
  Held: [CUT_OFF],
  Grant: [],
} as const

export class Client {
  /** One entry for each request id that it used. */
  readonly calls: Seen[] = []
  readonly #server: CrashingServer
  readonly #wish: Wish
  readonly #heard: () => void
  readonly #decider: Pick<Decider, 'nextRound'>

  /** Calls `heard` for every reply. */
  constructor(server: CrashingServer, wish: Wish, heard: () => void, decider: Pick<Decider, 'nextRound'>) {
    this.#decider = decider
    this.#server = server
    this.#wish = wish
    this.#heard = heard
  }

  /** Runs until the wish has an outcome or the client gives up. */
  async pursue(): Promise<void> {
    if (this.#wish.operation === 'Grant') return this.#pursueGrant(this.#newCall())
    for (let call = this.#newCall(); ; ) {
      const answered = await this.#trying((url) => this.#send(url, call))
      if (answered) return this.settle()
      if (this.#wish.whenCutOff === 'leave') return
      if (this.#wish.whenCutOff === 'same-key') call = this.#newCall()
    }
  }

  /** Sends the same request until it is approved and has run. A client that gives up leaves its approval unused. */
  async #pursueGrant(call: Seen): Promise<void> {
    for (;;) {
      const sent = await this.#trying((url) => this.#sendGrant(url, call))
      if (sent === 'ran' || this.#wish.whenCutOff === 'leave') return
      await this.#decider.nextRound
    }
  }

  async #sendGrant(url: string, call: Seen): Promise<'ran' | 'refused'> {
    const { label, args } = this.#wish
    const response = await fetch(`${url}/tools/call`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ tool_id: 'Crash.Held', call_id: label, input: { label, ...args } }),
    })
    const body = (await response.json()) as { value?: unknown; missing_requirements?: object; message?: string }
    if (response.status === 503) throw new StoreGone()
    if (response.status === 400 && body.missing_requirements) return 'refused'
    if (response.status !== 200) throw new Error(`${label} was refused: ${response.status} ${JSON.stringify(body)}`)
    call.sightings.push({ state: 'complete', outcome: JSON.stringify(body.value) })
    return 'ran'
  }

  /** Polls each of its calls until the call has ended or is known not to exist. */
  async settle(): Promise<void> {
    if (this.#wish.operation === 'Grant') return this.#settleGrant()
    for (const call of this.calls) {
      for (;;) {
        const seen = await this.#trying((url) => this.#look(url, call, 'wait=5'))
        if (seen === 'complete' || seen === 'error' || seen === 'missing') break
      }
    }
  }

  /** The call id is internal to this server, so the client learns the outcome by repeating the request. */
  async #settleGrant(): Promise<void> {
    const [call] = this.calls
    if (!call || call.sightings.length > 0) return
    call.sightings.push({ state: 'missing' })
    if (this.#wish.whenCutOff === 'leave') return
    await this.#pursueGrant(call)
  }

  async lookOnceMore(): Promise<void> {
    if (this.#wish.operation === 'Grant') return
    for (const call of this.calls) {
      for (let seen: SeenState | undefined; seen === undefined; )
        seen = await this.#trying((url) => this.#look(url, call))
    }
  }

  #newCall(): Seen {
    const { label, operation } = this.#wish
    const call: Seen = {
      requestId: randomUUID(),
      label,
      effect: operation === 'Charge' ? 'once' : 'repeatable',
      mayFailWith: MAY_FAIL_WITH[operation],
      sightings: [],
      readings: [],
    }
    this.calls.push(call)
    return call
  }

  /** Returns `undefined` if the server was killed meanwhile. By then the next server is running. */
  async #trying<T>(act: (url: string) => Promise<T>): Promise<T | undefined> {
    const url = await this.#server.address
    try {
      const value = await act(url)
      this.#heard()
      return value
    } catch (thrown) {
      if (thrown instanceof StoreGone) return undefined
      if (!(thrown instanceof TypeError)) throw thrown
      if (this.#server.outlivesConnections || (await this.#server.address) !== url) return undefined
      // The server closes idle connections, and may close one just as a request is sent on it.
      if (!isReset(thrown)) throw thrown
      return undefined
    }
  }

  async #send(url: string, call: Seen): Promise<true> {
    const { label, operation, args, whenCutOff } = this.#wish
    const keyed = operation === 'Charge' || whenCutOff === 'same-key'
    const response = await fetch(`${url}/call`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        op: `v1:Crash.${operation}`,
        args: { label, ...args },
        ctx: { requestId: call.requestId, ...(keyed && { idempotencyKey: label }) },
      }),
    })
    const envelope = await envelopeIn(response)
    const refused =
      envelope.state === 'error' && !MAY_FAIL_WITH[operation].some((code) => code === envelope.error?.code)
    if (refused) throw new Error(`${label} was refused: ${response.status} ${JSON.stringify(envelope.error)}`)
    await this.#note(call, envelope)
    return true
  }

  async #look(url: string, call: Seen, prefer = 'wait=0'): Promise<SeenState> {
    const response = await fetch(`${url}/ops/${call.requestId}`, { headers: { Prefer: prefer } })
    const envelope = await envelopeIn(response)
    if (response.status === 404) call.sightings.push({ state: 'missing' })
    else if (response.status > 202) throw new Error(`${call.label} cannot be polled: ${response.status}`)
    else await this.#note(call, envelope, url)
    return call.sightings.at(-1)?.state ?? 'missing'
  }

  async #note(call: Seen, { state, result, error }: Envelope, url?: string): Promise<void> {
    const outcome =
      state === 'error' ? error?.code : state === 'complete' ? JSON.stringify(result ?? 'chunks') : undefined
    call.sightings.push({ state, ...(outcome !== undefined && { outcome }) })
    if (this.#wish.operation === 'Export' && url !== undefined) await this.#readChunks(url, call)
  }

  /** Reads from the first chunk to the last available one. Chunks read before a kill count as read. */
  async #readChunks(url: string, call: Seen): Promise<void> {
    const reading: SeenChunk[] = []
    call.readings.push(reading)
    for (let cursor: string | null = ''; cursor !== null; ) {
      const response = await fetch(`${url}/ops/${call.requestId}/chunks${cursor && `?cursor=${cursor}`}`)
      const {
        chunk,
        data,
        cursor: next,
      } = (await response.json()) as {
        chunk?: Omit<SeenChunk, 'computed'>
        data: string
        cursor: string | null
      }
      if (!chunk) return
      reading.push({ ...chunk, computed: `sha256:${createHash('sha256').update(data).digest('hex')}` })
      cursor = next
    }
  }
}

function isReset({ cause }: TypeError): boolean {
  return (
    cause instanceof Error &&
    ['ECONNRESET', 'UND_ERR_SOCKET', 'EPIPE'].includes((cause as NodeJS.ErrnoException).code ?? '')
  )
}

/** A worker reports that the process with the store was killed, so the outcome of the request is unknown. */
class StoreGone extends Error {}

async function envelopeIn(response: Response): Promise<Envelope> {
  const envelope = (await response.json()) as Envelope
  if (response.status === 503 && envelope.error?.code === 'PANIC_STORE_GONE') throw new StoreGone()
  return envelope
}
