/** The messages between a backend and its threads. A call is sent as bytes: the module's standard input. */
import type { WasmModule } from './webassembly.ts'

export interface ThreadData {
  readonly module: WasmModule
  readonly maxBytes: number
}

export type ThreadAnswer = 'ready' | RunAnswer

export interface RunAnswer {
  readonly ending: { kind: 'exit'; code: number } | { kind: 'trap'; trap: string } | { kind: 'too-much-output' }
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  /** The size of the module's memory when it ended. */
  readonly memoryBytes: number
}
