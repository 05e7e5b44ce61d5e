/** Scripts that a browser's page runs: its end of a WebRTC connection, written with the browser's own interfaces. */
import type { Browser, Page } from 'playwright-core'

/** Opens a page of the server, so that its calls are of the same origin. */
export async function openPage(chromium: Browser, url: string): Promise<Page> {
  const page = await chromium.newPage()
  await page.route('**/blank', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<video autoplay muted playsinline></video>' }),
  )
  // Encoding video needs a secure context, and loopback is one.
  await page.goto(`${url}/blank`)
  await page.evaluate(LIBRARY)
  return page
}

const LIBRARY = `
globalThis.open = {}
globalThis.call = async (op, args, requestId, headers = {}) => {
  const response = await fetch('/call', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ op, args, ctx: { requestId } }),
  })
  return { status: response.status, ...(await response.json()) }
}
globalThis.offer = async (pc) => {
  await pc.setLocalDescription(await pc.createOffer())
  while (pc.iceGatheringState !== 'complete') {
    await new Promise((resolve) => pc.addEventListener('icegatheringstatechange', resolve, { once: true }))
  }
  const { type, sdp } = pc.localDescription
  return { type, sdp }
}
globalThis.newReader = (sections = () => {}) => {
  const pc = new RTCPeerConnection()
  const reader = { pc, frames: {}, closed: {}, ends: [], wake: () => {} }
  pc.createDataChannel('reader')
  sections(pc)
  pc.ondatachannel = ({ channel }) => {
    channel.binaryType = 'arraybuffer'
    if (channel.label === 'callplane') channel.onmessage = ({ data }) => { reader.ends.push(JSON.parse(data)); reader.wake() }
    else {
      reader.frames[channel.label] = []
      reader[channel.label] = channel
      channel.onmessage = ({ data }) => {
        reader.frames[channel.label].push(typeof data === 'string' ? JSON.parse(data) : [...new Uint8Array(data)])
        reader.wake()
      }
      channel.onclose = () => { reader.closed[channel.label] = true; reader.wake() }
    }
  }
  pc.onconnectionstatechange = () => reader.wake()
  reader.until = async (done) => {
    while (!done(reader)) await new Promise((resolve) => { reader.wake = resolve })
  }
  return reader
}
undefined`
