/** How a process knows that it is one of several workers, and finds the one in the middle. */
import { Socket } from 'node:net'
import { systemClock } from '../server/environment.ts'
import { openLink, type WorkerLink } from '../server/workers/index.ts'

/** Holds the worker's number. */
export const WORKER = 'CALLPLANE_WORKER'
/** The descriptor of the line to the process in the middle; the one before it is Node's own. */
export const LINE = 4

export function joinServer(env: Record<string, string | undefined>): WorkerLink {
  const number = Number(env[WORKER])
  // What an application starts in turn is no worker.
  delete env[WORKER]
  return openLink(new Socket({ fd: LINE }), number, systemClock)
}
