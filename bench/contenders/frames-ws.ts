/** The limit for frames over WebSocket: the library `ws` alone, with sixteen frames in a write by hand. */
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import type { Contender } from './contender.ts'
import { FRAME_BYTES } from './frames.ts'
import { serve } from './serve.ts'

const FRAMES_A_WRITE = 16

export const start: Contender = async () => {
  const http = createServer()
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false })
  http.on('upgrade', (request, raw: Socket, head) => {
    sockets.handleUpgrade(request, raw, head, (socket) => {
      if (request.url?.startsWith('/idle')) return
      const send = () => {
        if (raw.destroyed) return
        raw.cork()
        for (let n = 0; n < FRAMES_A_WRITE; n++) socket.send(FRAME_BYTES, { binary: true })
        raw.uncork()
        if (raw.writableNeedDrain) raw.once('drain', send)
        else setImmediate(send)
      }
      socket.on('error', () => {})
      send()
    })
  })
  return serve(http)
}
