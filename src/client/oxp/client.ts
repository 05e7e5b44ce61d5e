/** `createOxpClient`: calls the tools of any OXP or OTC server. */
import type { JsonObject } from '../../core/json.ts'
import { Addresses } from './addresses.ts'
import { Calling, type CallingParts } from './calling.ts'
import { Deadline, systemClock } from './deadline.ts'
import { Exchange } from './exchange.ts'
import type { OxpCallOptions, OxpClient, OxpClientOptions, OxpToolTypes } from './options.ts'
import { versionHeader } from './requests.ts'
import { decodeToolList } from './tool-list.ts'

const DEFAULTS = { timeoutMs: 300_000, retries: 3, pollMs: 2_000, maxResponseBytes: 16 * 2 ** 20 } as const

export function createOxpClient(options: OxpClientOptions): OxpClient
export function createOxpClient<Tools extends OxpToolTypes>(options: OxpClientOptions): OxpClient<Tools>
export function createOxpClient(options: OxpClientOptions): OxpClient {
  const { protocol = 'oxp', sendVersion = true, clock = systemClock } = options
  const addresses = new Addresses(options.url, options.trustedOrigins)
  const send = options.fetch ?? globalThis.fetch
  const exchange = new Exchange({
    addresses,
    // Called as a function: a browser's `fetch` cannot be called as a method of another object.
    fetch: (address, init) => send(address, init),
    token: options.token,
    headers: options.headers ?? {},
    maxBytes: options.maxResponseBytes ?? DEFAULTS.maxResponseBytes,
  })
  const parts: CallingParts = {
    exchange,
    addresses,
    protocol,
    sendVersion,
    retries: options.retries ?? DEFAULTS.retries,
    repeatLostCalls: options.repeatLostCalls ?? false,
    pollMs: options.pollMs ?? DEFAULTS.pollMs,
    onChallenge: options.onChallenge,
    revise: options.revise,
  }

  async function withDeadline<T>(
    { signal, timeoutMs = options.timeoutMs ?? DEFAULTS.timeoutMs }: Pick<OxpCallOptions, 'signal' | 'timeoutMs'>,
    work: (deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const deadline = new Deadline(clock, timeoutMs, [options.signal, signal])
    try {
      return await work(deadline)
    } finally {
      deadline.end()
    }
  }

  return {
    tools: (settings = {}) =>
      withDeadline(settings, async (deadline) => {
        const headers = versionHeader(protocol, sendVersion)
        return decodeToolList(await exchange.send(`${addresses.base}/tools`, deadline, { headers }))
      }),
    call: (toolId: string, input: JsonObject = {}, settings: OxpCallOptions = {}) =>
      withDeadline(settings, (deadline) => {
        const { callId = newCallId(), traceId, context } = settings
        return new Calling(parts, { toolId, callId, input, traceId, context }, deadline).run()
      }),
  }
}

/** `crypto.randomUUID` exists only on pages with a secure origin. */
function newCallId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
