/**
 * The keys of the links between nodes. Every process has a key pair, and publishes the public key with its row in
 * `nodes`. Two nodes derive the same secret from their own private key and the other's public key (X25519), and TLS
 * proves that both have it. So no secret is stored, and only a process that the database lists can use a link.
 */
import { createPublicKey, diffieHellman, generateKeyPairSync, hkdfSync, type KeyObject } from 'node:crypto'

/** 32 bytes in base64url. */
const PUBLIC_KEY = /^[\w-]{43}$/
const SECRET_BYTES = 32
const PURPOSE = 'callplane link 1'

export class LinkKey {
  /** The public key. It names this process. */
  readonly name: string
  readonly #private: KeyObject

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('x25519')
    this.name = publicKey.export({ format: 'jwk' }).x ?? ''
    this.#private = privateKey
  }

  /** The secret of a link that this process opens to another one. */
  secretTo(listener: string): Buffer | undefined {
    return this.#derive(listener, `${this.name} ${listener}`)
  }

  /** The secret of a link that another process opens to this one. */
  secretFrom(dialer: string): Buffer | undefined {
    return this.#derive(dialer, `${dialer} ${this.name}`)
  }

  /** `undefined` if the other name is not a public key, or a key with which every secret is the same. */
  #derive(other: string, direction: string): Buffer | undefined {
    if (!PUBLIC_KEY.test(other)) return undefined
    try {
      const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: other }, format: 'jwk' })
      const shared = diffieHellman({ privateKey: this.#private, publicKey })
      return Buffer.from(hkdfSync('sha256', shared, '', `${PURPOSE} ${direction}`, SECRET_BYTES))
    } catch {
      return undefined
    }
  }
}
