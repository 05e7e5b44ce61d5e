/** Part of the store suite: small values by key. */
import type { TestRunner } from '../runner.ts'
import type { StoreStory } from './store.ts'

export function describeRecords({ describe, expect }: TestRunner, story: StoreStory): void {
  describe('records', () => {
    story('any text can be stored, read and removed', async ({ records }) => {
      const value = '{"text":"grüße \\u0000 😀"}'
      expect(await records.get('a')).toBe(undefined)

      await records.put('a', value)
      await records.put('a/b', '')

      expect([await records.get('a'), await records.get('a/b'), await records.get('A')]).toEqual([value, '', undefined])
      await records.remove('a')
      await records.remove('a')
      expect([await records.get('a'), await records.get('a/b')]).toEqual([undefined, ''])
    })

    story('a later value replaces the earlier one, and its expiry', async ({ records }, clock) => {
      await records.put('a', 'first', clock.now() + 10)
      await records.put('a', 'second')
      await records.put('b', 'first')
      await records.put('b', 'second', clock.now() + 10)

      clock.advance(10)

      expect([await records.get('a'), await records.get('b')]).toEqual(['second', undefined])
    })

    story('only one of several concurrent takes gets the value', async ({ records }) => {
      await records.put('a', 'only')

      const taken = await Promise.all([records.take('a'), records.take('a'), records.take('a')])

      expect(taken.filter((value) => value !== undefined)).toEqual(['only'])
      expect(await records.get('a')).toBe(undefined)
    })

    story('a value is added only if there is none, also with concurrent adds', async ({ records }, clock) => {
      await records.put('over', 'old', clock.now() + 10)
      clock.advance(10)

      const added = await Promise.all(['one', 'two', 'three'].map((value) => records.add('a', value)))
      const overExpired = await records.add('over', 'new', clock.now() + 10)

      expect([added, overExpired]).toEqual([[true, false, false], true])
      expect([await records.get('a'), await records.get('over')]).toEqual(['one', 'new'])
      clock.advance(10)
      expect([await records.get('a'), await records.get('over')]).toEqual(['one', undefined])
    })

    story('a value is replaced only if it is the expected one, also with concurrent replaces', async (store, clock) => {
      const { records } = store
      await records.put('a', 'first', clock.now() + 10)
      const replace = (expected: string, value: string) => records.replace('a', expected, value, clock.now() + 20)

      const replaced = await Promise.all([replace('other', 'x'), replace('first', 'second'), replace('first', 'third')])
      clock.advance(10)

      expect(replaced).toEqual([false, true, false])
      expect(await records.get('a')).toBe('second')
      clock.advance(10)
      expect([await replace('second', 'late'), await records.replace('none', '', 'x')]).toEqual([false, false])
      expect(await records.get('a')).toBe(undefined)
    })

    story('records with a prefix are listed in the order of their keys, in pages', async ({ records }, clock) => {
      for (const key of ['a/3', 'a/1', 'a/😀', 'a/2/1', 'a', 'ab', 'b/1', 'A/1'])
        await records.put(key, `value of ${key}`)
      await records.put('a/0', 'gone', clock.now() + 10)
      clock.advance(10)
      const keys = async (limit: number, after?: string) =>
        (await records.list('a/', limit, after)).map(({ key }) => key)

      expect(await keys(2)).toEqual(['a/1', 'a/2/1'])
      expect(await keys(2, 'a/2/1')).toEqual(['a/3', 'a/😀'])
      expect(await keys(2, 'a/😀')).toEqual([])
      expect(await records.list('b', 10)).toEqual([{ key: 'b/1', value: 'value of b/1' }])
    })

    story('an expired value can be neither read nor taken, and a purge removes it', async (store, clock) => {
      const { records } = store
      await Promise.all(['a', 'b', 'c'].map((key) => records.put(key, key, clock.now() + 100)))
      await records.put('stays', 'stays')
      await records.put('later', 'later', clock.now() + 101)

      clock.advance(99)
      expect([await records.get('a'), await records.purge(10)]).toEqual(['a', 0])
      clock.advance(1)
      expect([await records.get('a'), await records.take('b')]).toEqual([undefined, undefined])

      expect([await records.purge(2), await records.purge(2), await records.purge(2)]).toEqual([2, 1, 0])
      expect([await records.get('stays'), await records.get('later')]).toEqual(['stays', 'later'])
    })
  })
}
