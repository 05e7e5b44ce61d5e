/** A call of OpenCALL over HTTP or in a record, such as one that subscribes to a stream. */

let made = 0

/** The body, with a request id of its own, and the headers of its request. */
export function callBody(op: string, args: object, sessionId?: string) {
  const requestId = `frames-${process.pid}-${made++}`
  const ctx = { requestId, ...(sessionId !== undefined && { sessionId }) }
  return { body: JSON.stringify({ op, args, ctx }), headers: { 'Content-Type': 'application/json' } }
}
