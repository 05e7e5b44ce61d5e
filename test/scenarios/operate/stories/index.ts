/** All that operators do with calls, on any store. */
import { describe } from 'vitest'
import type { NewPlace } from '../../places.ts'
import { cancelStories } from './cancel.ts'
import { deadLetterStories } from './dead-letters.ts'
import { exportStories } from './exports.ts'
import { keyStories } from './keys.ts'
import { replayStories } from './replay.ts'

export function describeOperating(newPlace: NewPlace): void {
  describe('replay', () => replayStories(newPlace))
  describe('dead letters', () => deadLetterStories(newPlace))
  describe('exports', () => exportStories(newPlace))
  describe('canceling', () => cancelStories(newPlace))
  describe('checking', () => keyStories(newPlace))
}
