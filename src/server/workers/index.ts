/** A server of several processes: one in the middle that keeps and counts, and workers that run. */
export { createHub, type Hub } from './hub.ts'
export { openLink, type WorkerLink } from './link.ts'
