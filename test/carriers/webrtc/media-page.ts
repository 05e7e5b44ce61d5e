/** Scripts that a browser's page runs: it encodes audio and video, and later plays what a track brings. */

/** Pictures of changing colour, encoded by the browser. Each is in base64. */
export function encodeVideo(config: object): string {
  return `(async () => {
  const pictures = []
  const encoder = new VideoEncoder({
    output(chunk) {
      const bytes = new Uint8Array(chunk.byteLength)
      chunk.copyTo(bytes)
      pictures.push(btoa(String.fromCharCode(...bytes)))
    },
    error(thrown) { throw thrown },
  })
  encoder.configure({ width: 64, height: 64, bitrate: 200000, framerate: 30, ...${JSON.stringify(config)} })
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
}

/** True if the browser can encode and, over WebRTC, decode this codec. */
export function canPlay(config: object, mimeType: string): string {
  return `(async () => {
  const { supported } = await VideoEncoder.isConfigSupported({ width: 64, height: 64, ...${JSON.stringify(config)} })
  const { codecs } = RTCRtpReceiver.getCapabilities('video')
  return supported && codecs.some(({ mimeType }) => mimeType.toLowerCase() === ${JSON.stringify(mimeType)})
})()`
}

/** Half a second of a tone of 440 Hz as packets of Opus, 20 ms each, in base64. */
export const ENCODE_TONE = `(async () => {
  const packets = []
  const encoder = new AudioEncoder({
    output(chunk) {
      const bytes = new Uint8Array(chunk.byteLength)
      chunk.copyTo(bytes)
      packets.push(btoa(String.fromCharCode(...bytes)))
    },
    error(thrown) { throw thrown },
  })
  encoder.configure({ codec: 'opus', sampleRate: 48000, numberOfChannels: 1, bitrate: 64000 })
  for (let packet = 0; packet < 25; packet++) {
    const data = Float32Array.from({ length: 960 }, (_, at) => Math.sin(2 * Math.PI * 440 * (packet * 960 + at) / 48000) / 2)
    encoder.encode(new AudioData({
      format: 'f32-planar', sampleRate: 48000, numberOfFrames: 960, numberOfChannels: 1, timestamp: packet * 20000, data,
    }))
  }
  await encoder.flush()
  return packets
})()`

/** Listens until a tenth of a second in a row is loud, and returns its frequency. */
export const HEAR_TONE = `(async () => {
  const reader = newReader((pc) => pc.addTransceiver('audio', { direction: 'recvonly' }))
  const heard = new Promise((resolve) => { reader.pc.ontrack = ({ track }) => resolve(track) })
  const { status, stream } = await call('v1:microphone.listen', { webrtc: await offer(reader.pc) }, 'tone')
  await reader.pc.setRemoteDescription(stream.webrtc)
  const track = await heard
  const audio = document.createElement('audio')
  audio.srcObject = new MediaStream([track])
  void audio.play()
  const samples = new MediaStreamTrackProcessor({ track }).readable.getReader()
  let loud = []
  for (;;) {
    const { value } = await samples.read()
    const data = new Float32Array(value.numberOfFrames)
    value.copyTo(data, { planeIndex: 0, format: 'f32-planar' })
    loud = data.some((sample) => Math.abs(sample) > 0.2) ? [...loud, ...data] : []
    const { sampleRate } = value
    value.close()
    if (loud.length < sampleRate / 10) continue
    let rises = 0
    for (let at = 1; at < loud.length; at++) if (loud[at - 1] < 0 && loud[at] >= 0) rises++
    return { status, hertz: rises * sampleRate / loud.length }
  }
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
