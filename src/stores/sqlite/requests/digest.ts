/** SHA-256 in hex, as `Environment` has it: the fingerprints of stored calls are made here too. */
import { hash } from 'node:crypto'
import type { Digest } from '../../../core/call/fingerprint.ts'

export const digest: Digest = (text) => hash('sha256', text, 'hex')
