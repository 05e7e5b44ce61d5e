/** HTTP routes of OpenCALL. */

import { Fault } from '../../../core/fault.ts'
import { nameInPath } from '../../../core/operation/names.ts'
import type { Answer, Exchange, Refusal, Route } from '../../../core/ports/exchange.ts'
import { encodeErrors } from '../discovery/errors-document.ts'
import { createPublishedDocument, withSchemaHash } from '../discovery/published-document.ts'
import { atServer, ERRORS_PATH, encodeRegistry } from '../discovery/registry-document.ts'
import { jsonAnswer, refusalAnswer } from './answers.ts'
import { CallRoute } from './call-route.ts'
import { FollowRoutes } from './follow-routes.ts'
import type { OpenCallParts } from './parts.ts'

export function createOpenCallRoutes(parts: OpenCallParts): Route[] {
  const { catalog, env, settings } = parts
  const { listRemoved } = settings
  const transports = parts.transports.names()
  const calling = new CallRoute(parts)
  const following = new FollowRoutes(parts)
  const refuse = (_exchange: Exchange, why: Refusal) => refusal(why, env.newId())
  return [
    {
      path: '/call',
      refuse: (_exchange, why) => refusal(why, env.newId(), CALL_ADVICE),
      methods: { POST: (exchange) => calling.call(exchange) },
    },
    {
      path: '/ops/{path+}/{version}',
      accepts: (path) => VERSIONED.test(path),
      refuse: (_exchange, why) => refusal(why, env.newId(), PATH_ADVICE),
      methods: { POST: (exchange, { path = '', version = '' }) => calling.call(exchange, nameInPath(path, version)) },
    },
    {
      path: '/ops/{id}',
      refuse,
      methods: {
        GET: (exchange, { id }) => following.poll(exchange, id ?? ''),
        DELETE: (exchange, { id }) => following.cancel(exchange, id ?? ''),
      },
    },
    { path: '/ops/{id}/chunks', refuse, methods: { GET: (exchange, { id }) => following.chunk(exchange, id ?? '') } },
    { path: '/ops/{id}/events', refuse, methods: { GET: (exchange, { id }) => following.events(exchange, id ?? '') } },
    { path: '/streams/{id}', refuse, methods: { GET: (exchange, { id }) => following.stream(exchange, id ?? '') } },
    { path: '/objects/{id}', refuse, methods: { GET: (exchange, { id }) => following.object(exchange, id ?? '') } },
    {
      path: '/.well-known/ops',
      refuse,
      methods: {
        GET: createPublishedDocument(parts, ({ now, internal, basePath }) =>
          withSchemaHash(atServer(encodeRegistry(catalog, now, { internal, listRemoved, transports }), basePath), env),
        ),
      },
    },
    {
      path: ERRORS_PATH,
      refuse,
      methods: {
        GET: createPublishedDocument(parts, ({ now, internal }) =>
          withSchemaHash(encodeErrors(catalog, now, internal), env),
        ),
      },
    },
  ]
}

/**
 * Only a path that ends in a version names an operation. The others are about calls, or are not ours. A full version
 * (`name@1.0.0`) is part of a registry key, and not of a path. docs/readings.md#r42.
 */
const VERSIONED = /^[^@]+\/v\d+$/

const PATH_ADVICE = 'Send POST to this path to invoke the operation; GET /.well-known/ops lists the operations.'
const CALL_ADVICE = 'Send POST /call to invoke an operation; GET /.well-known/ops lists the operations.'

/** Response to a request that did not reach a route's handler. */
export function refusal(why: Refusal, requestId: string, advice = ''): Answer {
  switch (why.kind) {
    case 'fault':
      return refusalAnswer(why.fault, requestId)
    case 'path':
      return refusalAnswer(new Fault('not-found', `There is nothing at this path. ${CALL_ADVICE}`), requestId)
    case 'method': {
      const allow = why.allow.join(', ')
      const message = advice || `This path accepts only ${allow}.`
      const error = { code: 'METHOD_NOT_ALLOWED', message, cause: { allow: [...why.allow] } }
      return jsonAnswer(405, { requestId, state: 'error', error }, { Allow: allow })
    }
  }
}
