/** SHA-256 in hex, as in `Environment`. The store also computes fingerprints of stored calls. */
import { hash } from 'node:crypto'
import type { Digest } from '../../../core/call/fingerprint.ts'

export const digest: Digest = (text) => hash('sha256', text, 'hex')
