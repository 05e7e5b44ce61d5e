/** `v1:Calculator.Add` as data, the same for all contenders. Loads nothing, so that it weighs on nobody's memory. */

export const ADD = 'v1:Calculator.Add'

export const ADD_ARGS = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
} as const

export const ADD_RESULT = { type: 'number' } as const

/** Whose tokens the server with authentication takes; nobody else's secret. */
export const JWT_ISSUER = 'https://login.example'

export const JWT_SECRET = 'thirty-two-bytes-for-measuring-only'
