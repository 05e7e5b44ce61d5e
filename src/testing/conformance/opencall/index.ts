/** The OpenCALL 2026-02-10 suite over HTTP and WebSocket, in the order of the document, and the later revision. */
import type { ConformanceCase } from '../case.ts'
import { alone } from '../define.ts'
import { asyncCases } from './cases/async.ts'
import { authCases } from './cases/auth.ts'
import { chunkCases } from './cases/chunks.ts'
import { endpointCases } from './cases/endpoint.ts'
import { idempotencyCases } from './cases/idempotency.ts'
import { isolationCases } from './cases/isolation.ts'
import { laterCases } from './cases/later.ts'
import { mediaCases } from './cases/media.ts'
import { nameCases } from './cases/names.ts'
import { objectCases } from './cases/objects.ts'
import { registryCases } from './cases/registry.ts'
import { requestCases } from './cases/request.ts'
import { responseCases } from './cases/response.ts'
import { socketCases } from './cases/sockets.ts'
import { streamCases } from './cases/streams.ts'

export const opencallCases: readonly ConformanceCase[] = [
  ...endpointCases,
  ...nameCases,
  ...requestCases,
  ...idempotencyCases.map(alone),
  ...responseCases,
  ...asyncCases,
  ...chunkCases,
  ...objectCases,
  ...mediaCases,
  ...streamCases,
  ...authCases,
  ...isolationCases,
  ...registryCases,
  ...socketCases,
  ...laterCases,
]
