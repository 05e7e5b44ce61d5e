/** Tells a process that it is one of several workers, and connects it to the hub process. */
import cluster from 'node:cluster'
import { Socket } from 'node:net'
import { systemClock } from '../../server/build/environment.ts'
import { openLink, type WorkerLink } from '../../server/workers/index.ts'

/** The file descriptor of the connection to the hub process. The one before it is Node's IPC channel. */
export const LINE = 4

const WORKER = 'CALLPLANE_WORKER'

export interface Place {
  /** Starts at 1. */
  number: number
  /** The port that all workers share, so that each does not pick its own. */
  port: number
}

export function encodePlace(place: Place): Record<string, string> {
  return { [WORKER]: JSON.stringify(place) }
}

/** `undefined` if this process was not started as a worker. */
export function takePlace(env: Record<string, string | undefined>): Place | undefined {
  const text = env[WORKER]
  // Removed, so that processes started by the application do not act as workers.
  delete env[WORKER]
  return text === undefined ? undefined : (JSON.parse(text) as Place)
}

export function joinServer({ number }: Place): WorkerLink {
  if (cluster.worker) {
    // Node's IPC channel breaks together with our connection, which reports it.
    cluster.worker.on('error', () => undefined)
    // Otherwise Node would end this process as soon as the hub is gone, and waiting clients would get no response.
    cluster.worker.exitedAfterDisconnect = true
  }
  return openLink(new Socket({ fd: LINE }), number, systemClock)
}
