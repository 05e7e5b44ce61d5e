/**
 * The HTTP carrier for hosts with the Fetch API: routes as `(Request) => Response`, for Hono, Next.js, Bun and Deno.
 */
export { createFetchHandler } from './handler.ts'
export { toResponse } from './response.ts'
export { webRequest } from './web-request.ts'
