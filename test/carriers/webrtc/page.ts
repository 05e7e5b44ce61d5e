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

/** Pictures of changing colour, encoded by the browser. Each is in base64. */
export const ENCODE_VP8 = `(async () => {
  const pictures = []
  const encoder = new VideoEncoder({
    output(chunk) {
      const bytes = new Uint8Array(chunk.byteLength)
      chunk.copyTo(bytes)
      pictures.push(btoa(String.fromCharCode(...bytes)))
    },
    error(thrown) { throw thrown },
  })
  encoder.configure({ codec: 'vp8', width: 64, height: 64, bitrate: 200000, framerate: 30 })
  const canvas = new OffscreenCanvas(64, 64)
  const context = canvas.getContext('2d')
  for (let n = 0; n < 30; n++) {
    context.fillStyle = 'hsl(' + n * 12 + ' 100% 50%)'
    context.fillRect(0, 0, 64, 64)
    const frame = new VideoFrame(canvas, { timestamp: n * 33333 })
    encoder.encode(frame, { keyFrame: n % 10 === 0 })
    frame.close()
  }
  await encoder.flush()
  return pictures
})()`

/** Shows the stream of a camera until its picture has had five colours, and reads numbers on the same connection. */
export const WATCH_VIDEO = `(async () => {
  const video = document.querySelector('video')
  const reader = newReader((pc) => pc.addTransceiver('video', { direction: 'recvonly' }))
  reader.pc.ontrack = ({ track }) => { video.srcObject = new MediaStream([track]) }
  const { status, stream } = await call('v1:camera.film', { webrtc: await offer(reader.pc) }, 'film')
  await reader.pc.setRemoteDescription(stream.webrtc)
  const canvas = new OffscreenCanvas(8, 8)
  const context = canvas.getContext('2d', { willReadFrequently: true })
  const colours = new Set()
  while (colours.size < 5) {
    await new Promise((resolve) => video.requestVideoFrameCallback(resolve))
    context.drawImage(video, 0, 0, 8, 8)
    colours.add(context.getImageData(4, 4, 1, 1).data.join())
  }
  await call('v1:numbers.count', { count: 3, webrtc: { connection: stream.webrtc.connection } }, 'beside')
  await reader.until(({ closed }) => closed.beside)
  return { status, width: video.videoWidth, colours: [...colours], numbers: reader.frames.beside }
})()`
