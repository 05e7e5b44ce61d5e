/** The application's own check of who may run a tool, as a wrapper around the call. */
import type { Answer, Exchange } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'

/**
 * Throws to refuse the call. Calls `next` to run the tool, and returns its response or another one. The tool's handler
 * sees an `AsyncLocalStorage` that the hook sets around `next`.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a hook that only looks on returns nothing.
export type AuthHook = (request: Request, next: () => Promise<Response>) => Promise<Response | void>

export interface HookParts {
  toRequest: (exchange: Exchange) => Request
  toResponse: (exchange: Exchange, answer: Answer) => Response
  unauthorized: Answer
  log: Log
}

export type Around = (exchange: Exchange, run: () => Promise<Answer>) => Promise<Answer>

export function aroundCalls(hook: AuthHook, { toRequest, toResponse, unauthorized, log }: HookParts): Around {
  return async (exchange, run) => {
    let ran: Promise<Answer> | undefined
    const next = async () => {
      // The tool runs once, even if the hook calls `next` again.
      ran ??= run()
      return toResponse(exchange, await ran)
    }
    try {
      const returned = await hook(toRequest(exchange), next)
      if (isResponse(returned) && !returned.bodyUsed) return await toAnswer(returned)
    } catch (thrown) {
      if (!ran) {
        log.warn({ err: thrown, path: exchange.path }, 'the auth hook refused a call')
        return unauthorized
      }
      // docs/readings.md#rest-6: the tool has run, so its result is returned.
      log.warn({ err: thrown, path: exchange.path }, 'the auth hook failed after the tool had run')
    }
    return ran ?? unauthorized
  }
}

/** Duck-typed, because a host may have its own Fetch implementation. */
function isResponse(value: unknown): value is Response {
  return typeof value === 'object' && value !== null && 'arrayBuffer' in value && 'status' in value
}

async function toAnswer(response: Response): Promise<Answer> {
  const { status } = response
  const headers = Object.fromEntries(response.headers)
  const body = new Uint8Array(await response.arrayBuffer())
  return body.length === 0 ? { status, headers } : { status, headers, body }
}
