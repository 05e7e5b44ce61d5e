/** Lets UDP out to 127.0.0.1 only, and refuses look-ups of names, so that no test reaches another machine. */
import { Socket } from 'node:dgram'
import dns from 'node:dns'
import { isIP } from 'node:net'
import { afterAll, beforeAll, expect, vi } from 'vitest'

/** Call it once in a test file. After the last test it checks that nothing else was tried. */
export function guardUdp(): void {
  const refused: string[] = []
  let sent = 0
  beforeAll(() => {
    const send = Socket.prototype.send as (...args: unknown[]) => void
    vi.spyOn(Socket.prototype, 'send').mockImplementation(function (this: Socket, ...args: unknown[]) {
      const host = args.find((arg) => typeof arg === 'string' && /[.:]/.test(arg))
      if (host === '127.0.0.1') {
        sent++
        send.apply(this, args)
      } else refused.push(`a packet to ${host}`)
    } as Socket['send'])
    const lookup = dns.lookup as unknown as (...args: unknown[]) => void
    vi.spyOn(dns, 'lookup').mockImplementation(((name: string, ...rest: unknown[]) => {
      if (isIP(name) || name === 'localhost') return lookup(name, ...rest)
      refused.push(`a look-up of ${name}`)
      const callback = rest.at(-1)
      if (typeof callback === 'function') callback(new Error('refused in this test'))
    }) as unknown as typeof dns.lookup)
  })
  afterAll(() => {
    vi.restoreAllMocks()
    expect(refused).toEqual([])
    expect(sent).toBeGreaterThan(0)
  })
}
