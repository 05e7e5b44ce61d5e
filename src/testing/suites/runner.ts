/**
 * The subset of vitest, Jest or a compatible runner that the shared suites use. It is passed in, so that this package
 * depends on none.
 */

export interface TestRunner {
  describe(name: string, body: () => void): unknown
  test(name: string, body: () => Promise<void>): unknown
  expect(actual: unknown): Expectation & { rejects: Pick<Expectation, 'toMatchObject'> }
}

export interface Expectation {
  toBe(expected: unknown): unknown
  toEqual(expected: unknown): unknown
  toMatchObject(expected: object): unknown
}
