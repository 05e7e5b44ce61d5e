/** Exact comparison of decimal numbers in JSON text, beyond 2^53 and beyond the range of doubles. */

interface Decimal {
  readonly negative: boolean
  /** Digits without leading and trailing zeros; empty for zero. */
  readonly digits: string
  /** The value is 0.digits × 10^exponent. */
  readonly exponent: number
}

/** Above this many digits `multipleOf` is not computed: a person cannot see the difference, and the cost is quadratic. */
const MAX_DIGITS = 1_000

function decimalOf(raw: string): Decimal {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(raw)
  if (!match) return { negative: false, digits: '', exponent: 0 }
  const [, sign, whole = '', fraction = '', power = '0'] = match
  const all = whole + fraction
  const first = all.search(/[1-9]/)
  if (first < 0) return { negative: false, digits: '', exponent: 0 }
  const digits = trimZeros(all.slice(first))
  return { negative: sign === '-', digits, exponent: whole.length - first + Number(power) }
}

function trimZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  return digits.slice(0, end)
}

/** Below 0 if a is less than b. */
export function compareNumbers(a: string, b: string): number {
  const left = decimalOf(a)
  const right = decimalOf(b)
  if (left.negative !== right.negative) return left.negative ? -1 : 1
  const size = compareSizes(left, right)
  return left.negative ? -size : size
}

function compareSizes(a: Decimal, b: Decimal): number {
  if (a.digits === '' || b.digits === '') return Number(a.digits !== '') - Number(b.digits !== '')
  if (a.exponent !== b.exponent) return a.exponent < b.exponent ? -1 : 1
  return a.digits === b.digits ? 0 : a.digits < b.digits ? -1 : 1
}

export function isWhole(raw: string): boolean {
  const { digits, exponent } = decimalOf(raw)
  return digits.length <= Math.max(exponent, 0) || digits === ''
}

/** One text for all ways to write a number: `1`, `1.0` and `1e0` are equal values. */
export function normalNumber(raw: string): string {
  const { negative, digits, exponent } = decimalOf(raw)
  return digits === '' ? '0' : `${negative ? '-' : ''}${digits}e${exponent}`
}

/** `undefined` if the numbers are too far apart to tell. */
export function isMultiple(raw: string, of: string): boolean | undefined {
  const a = decimalOf(raw)
  const b = decimalOf(of)
  if (a.digits === '') return true
  if (b.digits === '') return undefined
  const scale = Math.min(a.exponent - a.digits.length, b.exponent - b.digits.length)
  const widest = Math.max(a.exponent, b.exponent) - scale
  if (!(widest <= MAX_DIGITS)) return undefined
  return wholeAt(a, scale) % wholeAt(b, scale) === 0n
}

function wholeAt({ digits, exponent }: Decimal, scale: number): bigint {
  return BigInt(digits + '0'.repeat(exponent - digits.length - scale))
}

/** What a reader that uses doubles makes of it: `exact`, `rounded` to another number, or `too-large`. */
export function asDouble(raw: string): 'exact' | 'rounded' | 'too-large' {
  const double = Number(raw)
  if (!Number.isFinite(double)) return 'too-large'
  // Fractions are rounded by everybody and shown alike; whole numbers that change are other numbers.
  if (!isWhole(raw)) return 'exact'
  return normalNumber(double.toString().replace('e+', 'e')) === normalNumber(raw) ? 'exact' : 'rounded'
}
