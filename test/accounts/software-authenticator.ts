import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import type { CreationOptions, RequestOptions } from '../../src/contract/passkeys.ts';

/** Algorithms the authenticator can sign with, by COSE number. */
export const ALGORITHMS = { 'ML-DSA-44': -48, ES256: -7, EdDSA: -8, RS256: -257 } as const;
type AlgorithmName = keyof typeof ALGORITHMS;

interface Credential {
  readonly id: Buffer;
  readonly privateKey: KeyObject;
  readonly coseKey: Uint8Array;
  readonly algorithm: AlgorithmName;
  userHandle: string;
  counter: number;
}

/** Deviations of one response from what a correct browser and authenticator would send. */
export interface Deviation {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  /** Without user verification. */
  readonly unverified?: boolean;
  /** Without a touch. */
  readonly absent?: boolean;
  readonly userHandle?: string | null;
  readonly counter?: number;
  /** Flips a bit of the signature. */
  readonly forged?: boolean;
  /** `fmt` and `attStmt` of the attestation. */
  readonly attestation?: { readonly fmt: string; readonly statement: Map<string, unknown> };
}

const FLAGS = { present: 0x01, verified: 0x04, backupEligible: 0x08, backedUp: 0x10, attested: 0x40 } as const;
const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest();

/** A browser at one origin with an authenticator in software, which can also respond wrongly. */
export class SoftwareAuthenticator {
  readonly #origin: string;
  readonly #credentials = new Map<string, Credential>();
  /** Whether signatures are counted. */
  readonly countsUses: boolean;

  constructor(origin: string, { countsUses = false } = {}) {
    this.#origin = origin;
    this.countsUses = countsUses;
  }

  /** Responds to the options of a registration. */
  create(options: CreationOptions, algorithm: AlgorithmName = 'ES256', deviation: Deviation = {}) {
    const credential = newCredential(algorithm, options.user.id, this.countsUses ? 1 : 0);
    const id = base64url(credential.id);
    this.#credentials.set(id, credential);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(credential.id.length);
    const authData = Buffer.concat([
      toAuthenticatorData(options.rp.id, FLAGS.attested, credential.counter, deviation),
      Buffer.alloc(16),
      length,
      credential.id,
      credential.coseKey,
    ]);
    const object = new Map<string, unknown>([
      ['fmt', deviation.attestation?.fmt ?? 'none'],
      ['attStmt', deviation.attestation?.statement ?? new Map()],
      ['authData', new Uint8Array(authData)],
    ]);
    return {
      id,
      rawId: id,
      type: 'public-key' as const,
      response: {
        clientDataJSON: base64url(this.#clientData('webauthn.create', options.challenge, deviation)),
        attestationObject: base64url(isoCBOR.encode(object as Parameters<typeof isoCBOR.encode>[0])),
        transports: ['internal', 'hybrid'],
      },
      clientExtensionResults: {},
    };
  }

  /** Responds to the options of a login with one of its credentials; default: the newest. */
  use(options: RequestOptions, { id, ...deviation }: Deviation & { readonly id?: string } = {}) {
    const credential = this.#credentials.get(id ?? [...this.#credentials.keys()].at(-1) ?? '');
    if (credential === undefined) throw new Error('there is no such credential');
    if (this.countsUses) credential.counter += 1;
    const authData = toAuthenticatorData(options.rpId, 0, credential.counter, deviation);
    const clientData = this.#clientData('webauthn.get', options.challenge, deviation);
    const signature = signWith(credential, Buffer.concat([authData, sha256(clientData)]));
    if (deviation.forged === true) signature.writeUInt8(signature.readUInt8(20) ^ 1, 20);
    const plainId = base64url(credential.id);
    return {
      id: plainId,
      rawId: plainId,
      type: 'public-key' as const,
      response: {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(authData),
        signature: base64url(signature),
        userHandle: deviation.userHandle === undefined ? credential.userHandle : deviation.userHandle,
      },
      clientExtensionResults: {},
    };
  }

  #clientData(type: string, challenge: string, deviation: Deviation): string {
    return JSON.stringify({
      type: deviation.type ?? type,
      challenge: deviation.challenge ?? challenge,
      origin: deviation.origin ?? this.#origin,
      crossOrigin: deviation.crossOrigin ?? false,
    });
  }
}

function toAuthenticatorData(rpId: string, extraFlags: number, counter: number, deviation: Deviation): Buffer {
  const flags =
    extraFlags |
    FLAGS.backupEligible |
    FLAGS.backedUp |
    (deviation.absent === true ? 0 : FLAGS.present) |
    (deviation.unverified === true ? 0 : FLAGS.verified);
  const tail = Buffer.alloc(5);
  tail.writeUInt8(flags, 0);
  tail.writeUInt32BE(deviation.counter ?? counter, 1);
  return Buffer.concat([sha256(deviation.rpId ?? rpId), tail]);
}

function newCredential(algorithm: AlgorithmName, userHandle: string, counter: number): Credential {
  const { privateKey, publicKey } = newKeyPair(algorithm);
  const jwk = publicKey.export({ format: 'jwk' }) as Record<string, string>;
  const part = (name: string): Uint8Array => new Uint8Array(Buffer.from(jwk[name] ?? '', 'base64url'));
  const fields: Record<AlgorithmName, [number, unknown][]> = {
    ES256: [
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, part('x')],
      [-3, part('y')],
    ],
    EdDSA: [
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, part('x')],
    ],
    RS256: [
      [1, 3],
      [3, -257],
      [-1, part('n')],
      [-2, part('e')],
    ],
    'ML-DSA-44': [
      [1, 7],
      [3, -48],
      [-1, part('pub')],
    ],
  };
  const coseKey = isoCBOR.encode(new Map(fields[algorithm]) as Parameters<typeof isoCBOR.encode>[0]);
  return { id: randomBytes(32), privateKey, coseKey, algorithm, userHandle, counter };
}

function newKeyPair(algorithm: AlgorithmName): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  if (algorithm === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' });
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519');
  if (algorithm === 'RS256') return generateKeyPairSync('rsa', { modulusLength: 2048 });
  return generateKeyPairSync('ml-dsa-44');
}

const signWith = ({ algorithm, privateKey }: Credential, data: Buffer): Buffer =>
  sign(algorithm === 'ES256' || algorithm === 'RS256' ? 'sha256' : null, data, privateKey);
