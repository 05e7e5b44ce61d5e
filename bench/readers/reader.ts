/** The shared part of the processes that read frames: they open readers of one server, count the frames, and leave. */
import { answerQuestions } from '../ask.ts'

export interface ReadersOptions {
  port: number
  readers: number
  /** The stream to subscribe to. Absent: the server sends to every reader without being asked. */
  operation?: string
  /** The caller's session that the subscriptions belong to, so that one call can end them all. */
  session?: string
  path?: string
  /** The certificate of a server that has one. */
  ca?: string
}

export interface FrameReader {
  /** The number of frames that have arrived. Throws if one of them is wrong. */
  frames(): number
  close(): void | Promise<void>
}

/** How many readers are opened at the same time. */
const AT_ONCE = 32

/** `openOne` resolves when the reader receives frames. */
export function answerReaders(openOne: (options: ReadersOptions) => Promise<FrameReader>): void {
  const open: FrameReader[] = []
  const received = () => open.reduce((sum, reader) => sum + reader.frames(), 0)
  answerQuestions({
    async open(options: ReadersOptions): Promise<void> {
      let left = options.readers
      const openSome = async () => {
        while (left-- > 0) open.push(await openOne(options))
      }
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, options.readers) }, openSome))
    },
    /** Frames received in this time. */
    async read(durationMs: number): Promise<number> {
      const before = received()
      await new Promise((resolve) => setTimeout(resolve, durationMs))
      return received() - before
    },
    /** Closes the readers that were opened last. */
    async close(readers: number): Promise<void> {
      await Promise.all(open.splice(-readers).map((reader) => reader.close()))
    },
    async stop(): Promise<void> {
      await Promise.all(open.map((reader) => reader.close()))
    },
  })
}
