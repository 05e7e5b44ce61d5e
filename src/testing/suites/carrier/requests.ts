/** Part of the carrier suite: a handler gets the body of a request bounded, validated and at its own pace. */

import { Fault } from '../../../core/fault.ts'
import type { Handle } from '../../../core/ports/exchange.ts'
import type { TestRunner } from '../runner.ts'
import type { CarrierStory } from './carrier.ts'
import { codeOf, echo, route, text } from './content.ts'

const routes = [route('/echo', { POST: echo })]

/** Responds with one line for each part. */
const list: Handle = async (exchange) => {
  const lines: string[] = []
  for await (const { name, mimeType, filename = '', bytes } of exchange.parts({ maxParts: 4, maxHeaderBytes: 500 })) {
    const content: number[] = []
    for await (const piece of bytes) content.push(...piece)
    lines.push(`${name}|${mimeType}|${filename}|${content.join(' ')}`)
  }
  return text(lines.join('\n'))
}

const twice: Handle = async (exchange) => {
  await exchange.text(1_000)
  try {
    return text(await exchange.text(1_000))
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    return text(thrown.code)
  }
}

function inPieces(...pieces: readonly string[]): RequestInit {
  const encoder = new TextEncoder()
  const body = new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(encoder.encode(piece))
      controller.close()
    },
  })
  return { method: 'POST', body, duplex: 'half' }
}

export function describeCarrierRequests({ expect }: TestRunner, story: CarrierStory): void {
  const posted = (body: string | Uint8Array<ArrayBuffer>, headers = {}) => ({ method: 'POST', body, headers })

  story('a text arrives whole, at once or in pieces, or empty', routes, async ({ send }) => {
    expect(await (await send('/echo', posted('grüße 🦊'))).text()).toBe('grüße 🦊')
    expect(await (await send('/echo', inPieces('grü', 'ße ', '🦊'))).text()).toBe('grüße 🦊')
    expect(await (await send('/echo', posted(''))).text()).toBe('')
    expect(await (await send('/echo', { method: 'POST' })).text()).toBe('')
  })

  story('a body above the limit is refused, with and without Content-Length', routes, async ({ send }) => {
    expect((await (await send('/echo', posted('x'.repeat(1_000)))).text()).length).toBe(1_000)
    expect(await codeOf(await send('/echo', posted('x'.repeat(1_001))))).toBe('BODY_TOO_LARGE')
    expect(await codeOf(await send('/echo', inPieces('x'.repeat(900), 'x'.repeat(101))))).toBe('BODY_TOO_LARGE')
  })

  story('a body that is not UTF-8 is refused', routes, async ({ send }) => {
    expect(await codeOf(await send('/echo', posted(Uint8Array.of(0x61, 0x80))))).toBe('INVALID_UTF8')
    expect(await codeOf(await send('/echo', posted(Uint8Array.of(0xf0, 0x9f))))).toBe('INVALID_UTF8')
  })

  story('a text declared as compressed or in another charset is refused', routes, async (site) => {
    const refusal = async (headers: Record<string, string>) =>
      (await (await site.send('/echo', posted('hi', headers))).json()) as { code: string; message: string }
    const zipped = await refusal({ 'content-encoding': 'gzip' })
    const latin = await refusal({ 'content-type': 'application/json; charset=iso-8859-1' })
    const plain = { 'content-type': 'application/json; Charset="UTF-8"', 'content-encoding': 'Identity' }

    expect([zipped.code, latin.code]).toEqual(['UNSUPPORTED_CONTENT_TYPE', 'UNSUPPORTED_CONTENT_TYPE'])
    expect(zipped.message.includes('without a Content-Encoding')).toBe(true)
    expect(latin.message.includes('encode it as UTF-8')).toBe(true)
    expect(await (await site.send('/echo', posted('hi', plain))).text()).toBe('hi')
  })

  story('a body can be read once only', [route('/twice', { POST: twice })], async ({ send }) => {
    expect(await (await send('/twice', posted('hi'))).text()).toBe('BODY_ALREADY_READ')
  })

  story('the parts of a form are named bytes', [route('/up', { POST: list })], async ({ send }) => {
    const form = new FormData()
    form.set('plain', 'hä')
    form.set('file', new Blob([Uint8Array.of(0, 255, 13, 10, 45, 45)], { type: 'image/png' }), 'na"ïve.png')

    const reply = await send('/up', { method: 'POST', body: form })

    expect((await reply.text()).split('\n')).toEqual([
      'plain|text/plain||104 195 164',
      'file|image/png|na"ïve.png|0 255 13 10 45 45',
    ])
  })

  story('an invalid form is refused', [route('/up', { POST: list })], async ({ send }) => {
    expect(await codeOf(await send('/up', posted('hi', { 'content-type': 'text/plain' })))).toBe('INVALID_MULTIPART')
    const headers = { 'content-type': 'multipart/form-data; boundary=b' }
    expect(await codeOf(await send('/up', posted('--b\r\n', headers)))).toBe('INVALID_MULTIPART')
  })
}
