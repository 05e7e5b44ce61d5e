import { expect, test } from 'vitest'
import { isLocation, isMediaType } from '../../src/core/call/media.ts'

test.each([
  ['text/plain', true],
  ['application/vnd.api+json', true],
  ['Text/CSV; charset=utf-8; header=present', true],
  ['', false],
  ['text', false],
  ['text/', false],
  ['text/plain\r\nSet-Cookie: a=b', false],
  ['text/plain; a="\n"', false],
  ['text/pläin', false],
])('as a media type, %j is %s', (text, expected) => {
  expect(isMediaType(text)).toBe(expected)
})

test.each([
  ['https://files.example/a?b=c#d', true],
  ['s3://bucket/key', true],
  ['/relative', false],
  ['https://files.example/a b', false],
  ['https://files.example/\r\nX: y', false],
  ['https://files.example/ü', false],
  ['https://', false],
])('as an address for a Location header, %j is %s', (uri, expected) => {
  expect(isLocation(uri)).toBe(expected)
})
