/** The frames of a stream as they arrive: the newest are kept, all are counted. Drawing is left to the page. */

export const MAX_FRAMES = 50_000
/** The rate is that of the last seconds. */
const RATE_MS = 2_000

export class FrameLog {
  #frames: string[] = []
  /** Of the frames that are kept. */
  #times: number[] = []
  total = 0
  bytes = 0

  push(text: string, at: number): void {
    this.#frames.push(text)
    this.#times.push(at)
    this.total++
    this.bytes += text.length
    // Seldom, because moving the others costs.
    if (this.#frames.length < MAX_FRAMES * 1.2) return
    const surplus = this.#frames.length - MAX_FRAMES
    this.#frames = this.#frames.slice(surplus)
    this.#times = this.#times.slice(surplus)
  }

  get length(): number {
    return this.#frames.length
  }

  /** The number of the first frame that is kept, from 1. */
  get first(): number {
    return this.total - this.#frames.length + 1
  }

  /** `index` counts from the oldest frame that is kept. */
  frame(index: number): string {
    return this.#frames[index] ?? ''
  }

  timeOf(index: number): number {
    return this.#times[index] ?? 0
  }

  /** Frames per second. */
  rate(now: number): number {
    let count = 0
    for (let index = this.#times.length - 1; index >= 0 && now - (this.#times[index] ?? 0) <= RATE_MS; index--) count++
    const span = Math.min(RATE_MS, Math.max(1, now - this.timeOf(0)))
    return (count * 1000) / span
  }

  /** All kept frames, one on each line. */
  lines(): string {
    return `${this.#frames.join('\n')}\n`
  }

  /** The paths of numbers in the newest frame: `x`, `position.lat`. A frame that is a number has the empty path. */
  numericPaths(): string[] {
    return pathsIn(parse(this.frame(this.length - 1)), '', 0)
  }

  /** A frame by its number in the stream. Empty if it is no longer kept. */
  frameNumber(number: number): string {
    return this.frame(number - this.first)
  }

  /** The values at a path in the last frames before `end`, oldest first. */
  values(path: string, count: number, end = this.length): number[] {
    const values: number[] = []
    for (let index = Math.max(0, end - count); index < end; index++) {
      const value = valueAt(parse(this.frame(index)), path)
      if (typeof value === 'number') values.push(value)
    }
    return values
  }
}

const MAX_PATHS = 12

function pathsIn(value: unknown, path: string, depth: number): string[] {
  if (typeof value === 'number') return [path]
  if (typeof value !== 'object' || value === null || depth > 3) return []
  return Object.entries(value)
    .flatMap(([key, inner]) => pathsIn(inner, path === '' ? key : `${path}.${key}`, depth + 1))
    .slice(0, MAX_PATHS)
}

function valueAt(value: unknown, path: string): unknown {
  if (path === '') return value
  return path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], value)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
