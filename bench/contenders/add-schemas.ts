/**
 * `v1:Calculator.Add` as data, the same for all contenders. It imports nothing, so it adds no memory to any contender.
 */

export const ADD = 'v1:Calculator.Add'

export const ADD_ARGS = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
} as const

export const ADD_RESULT = { type: 'number' } as const

/** Issuer and key of the tokens that the server with authentication accepts. They are used only in the benchmark. */
export const JWT_ISSUER = 'https://login.example'

export const JWT_SECRET = 'thirty-two-bytes-for-measuring-only'
