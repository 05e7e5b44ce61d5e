/** How a process knows that it is one of several workers, and finds the one in the middle. */
import cluster from 'node:cluster'
import { Socket } from 'node:net'
import { systemClock } from '../../server/build/environment.ts'
import { openLink, type WorkerLink } from '../../server/workers/index.ts'

/** The descriptor of the line to the process in the middle; the one before it is Node's own. */
export const LINE = 4

const WORKER = 'CALLPLANE_WORKER'

export interface Place {
  /** 1 for the first. */
  number: number
  /** Where all of them listen: not a free port for each. */
  port: number
}

export function encodePlace(place: Place): Record<string, string> {
  return { [WORKER]: JSON.stringify(place) }
}

/** Nothing, unless this process was started to be a worker. */
export function takePlace(env: Record<string, string | undefined>): Place | undefined {
  const text = env[WORKER]
  // What an application starts in turn is no worker.
  delete env[WORKER]
  return text === undefined ? undefined : (JSON.parse(text) as Place)
}

export function joinServer({ number }: Place): WorkerLink {
  if (cluster.worker) {
    // Node's own line to the process in the middle breaks together with ours, which says so.
    cluster.worker.on('error', () => undefined)
    // Else Node ends this process on the spot when that one has gone, and whoever waits for an answer gets none.
    cluster.worker.exitedAfterDisconnect = true
  }
  return openLink(new Socket({ fd: LINE }), number, systemClock)
}
