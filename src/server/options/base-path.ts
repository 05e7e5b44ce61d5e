/** Checks the `basePath` option against the server's own paths. */

import { Fault } from '../../core/fault.ts'
import type { Route } from '../../core/ports/exchange.ts'

const SEGMENTS = /^(\/[A-Za-z0-9._~-]+)+$/

/**
 * A host may strip the path before the server sees a request, or keep it. Both work only if no route of the server
 * begins with it.
 */
export function checkBasePath(basePath: string, routes: readonly Route[]): string {
  if (typeof basePath !== 'string' || !SEGMENTS.test(basePath)) {
    throw refused('basePath must be a path without a trailing slash, such as /api.')
  }
  const own = firstSegment(basePath)
  if (routes.some(({ path }) => firstSegment(path) === own)) {
    throw refused(
      `basePath must not begin with ${own}, which is one of the server's own paths. Choose another, such as /api.`,
    )
  }
  return basePath
}

function firstSegment(path: string): string {
  const end = path.indexOf('/', 1)
  return end < 0 ? path : path.slice(0, end)
}

function refused(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
