import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readProblem } from '../../../src/objects/s3/http/problems.ts'
import { childrenOf, escapeXml, parseXml, textOf } from '../../../src/objects/s3/http/xml.ts'

test('a page of keys is read as S3 sends it', () => {
  const page = parseXml(
    `<?xml version="1.0" encoding="UTF-8"?>
    <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><IsTruncated>false</IsTruncated>
      <Contents><Key>a&amp;b&#x1F600;&#33;</Key><ETag>&quot;x&quot;</ETag><Owner/></Contents><Contents><Key>c</Key></Contents>
    </ListBucketResult>`,
    'ListBucketResult',
  )

  expect(childrenOf(page, 'Contents').map((entry) => textOf(entry, 'Key'))).toEqual(['a&b😀!', 'c'])
  expect(textOf(page, 'IsTruncated')).toBe('false')
  expect(textOf(page, 'None')).toBe('')
})

test.for([
  ['an entity of its own', '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'],
  ['a document type', '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'],
  ['CDATA', '<a><![CDATA[x]]></a>'],
  ['an unknown entity', '<a>&nbsp;</a>'],
  ['a character that does not exist', '<a>&#x110000;</a>'],
  ['a lone ampersand', '<a>b & c</a>'],
  ['tags that do not match', '<a><b></a></b>'],
  ['an end that is missing', '<a><b></b>'],
  ['two documents', '<a/><b/>'],
  ['nothing', ''],
  ['another document', '<b/>'],
  ['a page', '<html><body><br></body></html>'],
  ['depth', '<a>'.repeat(50) + '</a>'.repeat(50)],
  ['many elements', `<a>${'<b/>'.repeat(50_001)}</a>`],
])('%s is refused', ([, text = '']) => {
  expect(() => parseXml(text, 'a')).toThrow('cannot be read')
})

test('any text comes back as it was', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(textOf(parseXml(`<a><b>${escapeXml(text)}</b></a>`, 'a'), 'b')).toBe(text)
    }),
  )
})

test('any bytes are a document or a refusal', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('<', '>', '/', 'a', '&', ';', '!', '?', '"', ' ', '#', 'x') }),
      (text) => {
        try {
          parseXml(text, 'a')
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: 'STORAGE_REFUSED' })
        }
      },
    ),
  )
})

test('an error is read with bounds, and what is not of S3 is only its status', () => {
  const long = 'x'.repeat(10_000)
  const problem = readProblem(
    503,
    { 'x-amz-request-id': long },
    `<Error><Code>SlowDown</Code><Message>${long}</Message></Error>`,
  )

  expect(problem).toMatchObject({ status: 503, code: 'SlowDown' })
  expect([problem.message.length, problem.requestId.length]).toEqual([300, 300])
  expect(readProblem(502, {}, '<html><Error><br></html>')).toMatchObject({ status: 502, code: '' })
})
