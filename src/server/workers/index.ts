/** A server of several processes: a hub that stores and counts, and workers that run calls. */
export { createHub, type Hub } from './hub.ts'
export { openLink, type WorkerLink } from './link.ts'
