/**
 * Calls belong to their caller. The specification does not say so, but a server that shows them to other callers leaks
 * data.
 */
import { must } from '../../assertions.ts'
import type { HttpAnswer } from '../../http.ts'
import { requireOtherToken } from '../../parts.ts'
import { defineCase } from '../define.ts'
import { awaitEnd, startCall } from '../following.ts'

const REFUSED = [401, 403, 404]

function mustBeHidden(answer: HttpAnswer): void {
  must(REFUSED.includes(answer.status), `${answer.asked} by another caller gets ${answer.status}, not 404.`, { answer })
}

export const isolationCases = [
  defineCase('calls-are-private', "no caller can poll another caller's call", [112, 131], async (server) => {
    requireOtherToken(server.target)
    const { ids, uri } = await startCall(server, await server.part('async'))
    const polled = await server.send(`/ops/${ids.requestId}`, { asOther: true })
    mustBeHidden(polled)
    mustBeHidden(await server.send(uri, { asOther: true }))
    await awaitEnd(server, uri)
    mustBeHidden(await server.send(uri, { asOther: true }))
  }),

  defineCase(
    'chunks-are-private',
    "no caller can fetch the chunks of another caller's call",
    [112, 174],
    async (server) => {
      requireOtherToken(server.target)
      const { ids, uri } = await startCall(server, await server.part('chunked'))
      await awaitEnd(server, uri)
      mustBeHidden(await server.send(`/ops/${ids.requestId}/chunks`, { asOther: true }))
    },
  ),
]
