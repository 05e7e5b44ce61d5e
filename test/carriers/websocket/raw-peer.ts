/**
 * A WebSocket client on a bare socket: it reads only when asked, and sends any bytes. For tests of what a library would
 * not send, and of a peer that does not read.
 */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'

export interface RawMessage {
  opcode: number
  payload: Buffer
}

export class RawPeer {
  readonly socket: Socket
  readonly #chunks: AsyncIterator<Buffer>
  #pieces: Buffer[] = []
  #held = 0

  private constructor(socket: Socket) {
    this.socket = socket
    this.#chunks = socket.iterator({ destroyOnReturn: false })
  }

  /** Resolves with the status of the handshake. */
  static async connect(port: number, path: string, headers = ''): Promise<{ peer: RawPeer; head: string }> {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    const peer = new RawPeer(socket)
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n${headers}\r\n`,
    )
    let head = ''
    while (!head.endsWith('\r\n\r\n')) {
      const byte = await peer.#take(1)
      if (!byte) break
      head += byte.toString('latin1')
    }
    return { peer, head }
  }

  /** A masked frame, as a client must send it. */
  static frame(opcode: number, payload: string | Uint8Array, fin = true): Buffer {
    const data = Buffer.from(payload as Uint8Array)
    const mask = randomBytes(4)
    const length =
      data.length < 126
        ? Buffer.of(0x80 | data.length)
        : data.length < 65_536
          ? Buffer.of(0xfe, data.length >> 8, data.length & 0xff)
          : Buffer.concat([Buffer.of(0xff, 0, 0, 0, 0), u32(data.length)])
    const masked = data.map((byte, index) => byte ^ (mask[index % 4] as number))
    return Buffer.concat([Buffer.of((fin ? 0x80 : 0) | opcode), length, mask, masked])
  }

  /** Resolves when the socket has room. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.socket.destroyed || this.socket.write(bytes)) return
    await new Promise<void>((resolve) => this.socket.once('drain', resolve).once('close', () => resolve()))
  }

  send(message: string | Uint8Array): Promise<void> {
    return this.write(RawPeer.frame(typeof message === 'string' ? 1 : 2, message))
  }

  /** The next message, or `undefined` at the end. Does not read ahead. */
  async next(): Promise<RawMessage | undefined> {
    const head = await this.#take(2)
    if (!head) return undefined
    let length = (head[1] as number) & 0x7f
    if (length === 126) length = (await this.#take(2))?.readUInt16BE() ?? 0
    else if (length === 127) length = Number((await this.#take(8))?.readBigUInt64BE() ?? 0)
    const payload = length === 0 ? Buffer.alloc(0) : await this.#take(length)
    return payload && { opcode: (head[0] as number) & 0x0f, payload }
  }

  async text(): Promise<string | undefined> {
    const message = await this.next()
    return message?.opcode === 8 ? undefined : message?.payload.toString()
  }

  async #take(length: number): Promise<Buffer | undefined> {
    while (this.#held < length) {
      const step = await this.#chunks.next().catch(() => ({ done: true as const, value: undefined }))
      if (step.done) return undefined
      this.#pieces.push(step.value)
      this.#held += step.value.length
    }
    const all = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces)
    this.#pieces = [all.subarray(length)]
    this.#held -= length
    return all.subarray(0, length)
  }
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
