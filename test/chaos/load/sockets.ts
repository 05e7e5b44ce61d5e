/** Calls over WebSocket. When its connection ends, a client asks for its call over the next one, at any node. */
import { randomUUID } from 'node:crypto'
import { WebSocket } from 'ws'
import type { ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'
import { type ChaosCall, isEnd, nowMs, type Seen } from '../history.ts'
import { CALLERS, type Subject, tokenOf } from './callers.ts'
import { type Site, stateIn } from './site.ts'

const SILENCE_MS = 12_000

export async function pursueSocket(site: Site): Promise<void> {
  const label = site.newLabel('socket')
  const caller = CALLERS[site.random(CALLERS.length)] as Subject
  const call = site.history.newCall({
    requestId: randomUUID(),
    label,
    kind: 'socket',
    caller,
    effect: 'repeatable',
    mayFailWith: ['PANIC_CUT_OFF'],
  })
  const args = { label, ms: site.random(300), fail: 'never' }
  while (!site.isOver) {
    // The same envelope with the same id joins the call that is there.
    const ended = await converse(site, call, { op: 'v1:Chaos.Work', args, ctx: { requestId: call.requestId } })
    if (ended) return
    await site.rest(300)
  }
}

/** True if the call has ended. */
function converse(site: Site, call: ChaosCall, envelope: object): Promise<boolean> {
  const node = site.anyNode()
  const connection = site.newLabel('connection')
  const headers = { Authorization: `Bearer ${tokenOf(call.caller)}` }
  return new Promise((resolve) => {
    const socket = new WebSocket(`${site.urlOf(node).replace('http', 'ws')}/call`, { headers })
    const silence = setTimeout(() => socket.terminate(), SILENCE_MS)
    let sentMs = nowMs()
    socket.on('open', () => {
      sentMs = nowMs()
      socket.send(JSON.stringify(envelope))
    })
    socket.on('message', (data: Buffer) => {
      const body = JSON.parse(String(data)) as ResponseEnvelope
      if (body.requestId !== call.requestId) return
      if (body.error && !call.mayFailWith.includes(body.error.code)) {
        // The storage is away. That refuses a call that is not recorded yet, and says nothing about one that is.
        const isRecorded = call.sightings.some((seen) => seen.connection === connection)
        if (isRecorded || !/STORAGE|BUSY|CLOSING|UNAVAILABLE|SHUTTING/.test(body.error.code))
          site.history.find(`${call.label} was refused over WebSocket: ${body.error.code} ${body.error.message}`)
        return socket.terminate()
      }
      const seen: Seen = { ...stateIn(body), via: 'socket', node, sentMs, heardMs: nowMs(), connection }
      site.history.saw(call, seen)
      if (!isEnd(seen)) return
      resolve(true)
      socket.terminate()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(silence)
      resolve(false)
    })
  })
}
