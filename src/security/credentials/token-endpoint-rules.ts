/** The operator's settings for one token endpoint. */
export interface TokenEndpointRules {
  /** `basic` sends the client's secret in the Authorization header, `post` in the body. */
  clientAuth?: 'basic' | 'post'
  /** True if the endpoint may be in a private network or on this machine, also without TLS. */
  allowPrivate?: boolean
  /** Additional parameters, such as `{ audience: 'https://api.example.com' }`. */
  parameters?: Readonly<Record<string, string>>
}
