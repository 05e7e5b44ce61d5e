/**
 * Finds the cell of a request, before any protocol sees it: by the cell that the client names, by its caller, or by the
 * call id in the path of a signed link. Requests for other cells are forwarded.
 */
import type { IncomingMessage } from 'node:http'
import type { RequestListener, UpgradeClaim } from '../../carriers/http/index.ts'
import type { Caller } from '../../core/call/caller.ts'
import { slotOfId } from '../../core/call/slots.ts'
import { Fault } from '../../core/fault.ts'
import type { Answer } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { CellDefinition, CellMap } from '../options/cells.ts'
import { slotOfCaller } from './caller-slot.ts'
import { CELL, createForwarding, FORWARDED } from './forwarding.ts'

/** These paths are about this server, so they are never forwarded. */
const OWN = /\/(?:ready|health|metrics)(?:$|\?)/
/** Paths with an id that has the slot. They may be requested without a credential: the link is signed. */
const BY_ID = /\/(?:approvals|objects|streams|v1\/tool-callbacks)\/([0-9a-f-]{36})/

export interface CellRoutingParts {
  cells: CellMap
  /** The caller by the credential in the headers or in the query. */
  authenticate(header: (name: string) => string | undefined, query: string): Known | Promise<Known>
  /** The error response if a cell cannot be reached. */
  refuse(fault: Fault): Answer
  log: Log
}

export interface CellRouting {
  listener(own: RequestListener): RequestListener
  claim(own: UpgradeClaim): UpgradeClaim
  close(): void
}

export function createCellRouting(parts: CellRoutingParts): CellRouting {
  const { cells, authenticate, refuse, log } = parts
  const forwarding = createForwarding({ from: cells.self.name, log })

  /** `undefined` if this server handles the request. A promise only if the credential must be looked up. */
  function targetOf(request: IncomingMessage): Target | Promise<Target> {
    const { headers, url = '' } = request
    const named = headers[CELL]
    if (named !== undefined) return namedTarget(String(named), headers[FORWARDED] !== undefined)
    if (OWN.test(url)) return undefined
    const header = (name: string) => headers[name] as string | undefined
    const queryAt = url.indexOf('?')
    const caller = authenticate(header, queryAt < 0 ? '' : url.slice(queryAt + 1))
    return caller instanceof Promise ? caller.then((known) => byCaller(known, url)) : byCaller(caller, url)
  }

  function namedTarget(name: string, forwarded: boolean): Target {
    if (name === cells.self.name) return undefined
    const cell = cells.named(name)
    if (!cell) throw new Fault('not-found', `There is no cell "${name.slice(0, 64)}".`, { code: 'NO_SUCH_CELL' })
    if (forwarded) {
      const message = `The cells do not agree: a request for the cell "${name}" was forwarded to "${cells.self.name}". Its operator must compare the cell maps.`
      throw new Fault('unavailable', message, { code: 'CELLS_DIFFER' })
    }
    return cell
  }

  function byCaller(caller: Known, url: string): Target {
    const slot = caller ? slotOfCaller(caller) : slotIn(url)
    const cell = slot === undefined ? cells.self : cells.of(slot)
    return cell === cells.self ? undefined : cell
  }

  /** The protocol refuses a credential that is not valid. The administrator's token is valid only here. */
  function decide(request: IncomingMessage, go: (target: Target) => void, fail: (fault: Fault) => void): void {
    const failed = (thrown: unknown) => {
      const fault = Fault.from(thrown)
      if (fault.kind === 'unauthenticated') go(undefined)
      else fail(fault)
    }
    let target: Target | Promise<Target>
    try {
      target = targetOf(request)
    } catch (thrown) {
      failed(thrown)
      return
    }
    if (target instanceof Promise) target.then(go, failed)
    else go(target)
  }

  return {
    listener: (own) => (request, response, next) =>
      decide(
        request,
        (cell) => {
          if (cell) forwarding.request(cell, request, response, refuse)
          else own(request, response, next)
        },
        (fault) => {
          const { status, headers, body } = refuse(fault)
          response.writeHead(status, { ...headers, connection: 'close' }).end(body)
        },
      ),
    claim: (own) => ({
      ...own,
      take: (request, socket, head, facts) =>
        decide(
          request,
          (cell) => {
            if (cell) forwarding.upgrade(cell, request, socket, head, facts.refuse)
            else own.take(request, socket, head, facts)
          },
          facts.refuse,
        ),
    }),
    close: () => forwarding.close(),
  }
}

type Target = CellDefinition | undefined
type Known = Caller | undefined

function slotIn(url: string): number | undefined {
  const id = BY_ID.exec(url)?.[1]
  return id === undefined ? undefined : slotOfId(id)
}
