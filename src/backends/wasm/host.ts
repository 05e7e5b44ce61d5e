/**
 * The host functions of a module: input, output, a clock and randomness. It uses the library's functions where they
 * only access the module's memory, and replaces those that let a module allocate host memory without bound.
 */
import { Fd, WASI as Wasi, wasi } from '@bjorn3/browser_wasi_shim'

/** Thrown into a module that exceeds its output limit. */
export class TooMuchOutput extends Error {}

export class Input extends Fd {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    super()
    this.#bytes = bytes
  }

  override fd_fdstat_get() {
    return { ret: wasi.ERRNO_SUCCESS, fdstat: device(wasi.RIGHTS_FD_READ) }
  }

  override fd_read(size: number) {
    const data = this.#bytes.subarray(this.#at, this.#at + size)
    this.#at += data.length
    return { ret: wasi.ERRNO_SUCCESS, data }
  }
}

export class Output extends Fd {
  readonly #chunks: Uint8Array[] = []
  readonly #maxBytes: number
  readonly #strict: boolean
  #length = 0
  overflowed = false

  /** If `strict`, output above the limit ends the module. Otherwise the excess is discarded. */
  constructor(maxBytes: number, strict: boolean) {
    super()
    this.#maxBytes = maxBytes
    this.#strict = strict
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(this.#length)
    let at = 0
    for (const chunk of this.#chunks) {
      whole.set(chunk, at)
      at += chunk.length
    }
    return whole
  }

  override fd_fdstat_get() {
    return { ret: wasi.ERRNO_SUCCESS, fdstat: device(wasi.RIGHTS_FD_WRITE) }
  }

  override fd_write(data: Uint8Array) {
    const room = this.#maxBytes - this.#length
    if (data.length > room) {
      this.overflowed = true
      if (this.#strict) throw new TooMuchOutput()
    }
    const kept = data.subarray(0, room)
    if (kept.length > 0) this.#chunks.push(kept)
    this.#length += kept.length
    return { ret: wasi.ERRNO_SUCCESS, nwritten: data.length }
  }
}

function device(rights: number): wasi.Fdstat {
  const fdstat = new wasi.Fdstat(wasi.FILETYPE_CHARACTER_DEVICE, 0)
  fdstat.fs_rights_base = BigInt(rights)
  return fdstat
}

/** wasi-libc uses two. Each buffer becomes a host object before anything is read or written. */
const MOST_BUFFERS = 1_024

export function createHost(input: Input, stdout: Output, stderr: Output): Wasi {
  // The library's debugging output is on by default.
  const host = new Wasi([], [], [input, stdout, stderr], { debug: false })
  const own = host.wasiImport
  const few = (call: (...given: number[]) => number) => (fd: number, buffers: number, count: number, out: number) =>
    count >>> 0 > MOST_BUFFERS ? wasi.ERRNO_INVAL : call(fd, buffers, count, out)
  Object.assign(own, { fd_read: few(own.fd_read as never), fd_write: few(own.fd_write as never) })
  for (const name of Object.keys(own)) {
    // The library copies a path before it checks the folder, and throws on socket calls.
    if (name.startsWith('path_')) own[name] = () => wasi.ERRNO_BADF
    if (name.startsWith('sock_') || /^fd_(?:pread|pwrite|readdir|allocate)$/.test(name))
      own[name] = () => wasi.ERRNO_NOTSUP
  }
  own.proc_raise = () => wasi.ERRNO_NOTSUP
  return host
}
