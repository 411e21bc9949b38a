import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { isObject } from '../../contract/objects.ts';
import type { Assertion, NewCredential } from '../../contract/passkey-credentials.ts';
import { passkeyStateOf } from '../../contract/passkey-state.ts';
import type { CreationOptions, RequestOptions } from '../../contract/passkeys.ts';

/** Lifetime of a challenge. */
export const CHALLENGE_MS = 5 * 60_000;

/** A credential to name in options. */
export interface KnownCredential {
  readonly id: string;
  readonly transports: readonly string[];
}

interface NewUserCredential {
  readonly challenge: string;
  /** Base64url. */
  readonly handle: string;
  readonly username: string;
  readonly displayName: string;
  readonly siteName: string;
  /** Credentials of the account, so that an authenticator is not registered twice. */
  readonly known: readonly KnownCredential[];
}

/** A verified new credential. */
export interface VerifiedCredential {
  readonly credentialId: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  /** COSE algorithm. */
  readonly algorithm: number;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly aaguid: string;
  readonly isBackupEligible: boolean;
  readonly isBackedUp: boolean;
}

/** A verified use of a credential. */
export interface VerifiedUse {
  readonly counter: number;
  readonly isBackedUp: boolean;
}

/** Loaded with the first passkey: its certificate parsers would slow down every start. */
const loadLibrary = () => import('@simplewebauthn/server');
const loadHelpers = () => import('@simplewebauthn/server/helpers');

/** This service as a WebAuthn relying party: options for browsers, and verification of their responses. */
export class RelyingParty {
  /** Host of BASE_URL; passkeys are lost when it changes. */
  readonly id: string;
  readonly origin: string;
  /** Whether browsers create passkeys for this host. */
  readonly isOn: boolean;

  constructor(baseUrl: string) {
    const { hostname, origin } = new URL(baseUrl);
    this.id = hostname;
    this.origin = origin;
    this.isOn = passkeyStateOf(baseUrl) === 'on';
  }

  async creationOptions(user: NewUserCredential): Promise<CreationOptions> {
    const { getDefaultSupportedAlgorithmIDs } = await loadLibrary();
    return {
      rp: { id: this.id, name: user.siteName },
      user: { id: user.handle, name: user.username, displayName: user.displayName },
      challenge: user.challenge,
      pubKeyCredParams: getDefaultSupportedAlgorithmIDs().map((alg) => ({ type: 'public-key', alg })),
      timeout: CHALLENGE_MS,
      excludeCredentials: user.known.map(toDescriptor),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
      hints: ['client-device', 'hybrid', 'security-key'],
      extensions: { credProps: true },
    };
  }

  requestOptions(challenge: string): RequestOptions {
    return {
      challenge,
      rpId: this.id,
      timeout: CHALLENGE_MS,
      userVerification: 'required',
      allowCredentials: [],
      hints: ['client-device', 'hybrid', 'security-key'],
    };
  }

  /** @throws Error of the library if any part of the response is wrong */
  async verifyCreation(credential: NewCredential, challenge: string): Promise<VerifiedCredential> {
    const { verifyRegistrationResponse } = await loadLibrary();
    const { decodeCredentialPublicKey, cose, isoBase64URL } = await loadHelpers();
    assertSameOrigin(credential);
    const { response } = credential;
    const { registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...toLibraryForm(credential),
        response: { ...response, attestationObject: await withoutAttestation(response.attestationObject) },
      } as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: this.origin,
      expectedRPID: this.id,
      requireUserVerification: true,
    });
    if (registrationInfo === undefined) throw new Error('the attestation statement is wrong');
    const { id, publicKey, counter } = registrationInfo.credential;
    if (id !== credential.id) throw new Error('the credential id differs from the authenticator data');
    return {
      credentialId: id,
      publicKey: isoBase64URL.fromBuffer(publicKey),
      algorithm: decodeCredentialPublicKey(publicKey).get(cose.COSEKEYS.alg) ?? 0,
      counter,
      transports: response.transports ?? [],
      aaguid: registrationInfo.aaguid,
      isBackupEligible: registrationInfo.credentialDeviceType === 'multiDevice',
      isBackedUp: registrationInfo.credentialBackedUp,
    };
  }

  /** @throws Error of the library if any part of the response is wrong */
  async verifyUse(
    assertion: Assertion,
    challenge: string,
    { credentialId, publicKey }: { readonly credentialId: string; readonly publicKey: string },
  ): Promise<VerifiedUse> {
    const { verifyAuthenticationResponse } = await loadLibrary();
    assertSameOrigin(assertion);
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        ...toLibraryForm(assertion),
        response: { ...assertion.response, userHandle: assertion.response.userHandle ?? undefined },
      } as Parameters<typeof verifyAuthenticationResponse>[0]['response'],
      expectedChallenge: challenge,
      expectedOrigin: this.origin,
      expectedRPID: this.id,
      requireUserVerification: true,
      // The library rejects a counter that did not increase; it is a reason to warn, not to lock the owner out.
      credential: { id: credentialId, publicKey: Uint8Array.from(Buffer.from(publicKey, 'base64url')), counter: 0 },
    });
    if (!verified) throw new Error('the signature is wrong');
    return { counter: authenticationInfo.newCounter, isBackedUp: authenticationInfo.credentialBackedUp };
  }
}

const toDescriptor = ({ id, transports }: KnownCredential) => ({
  id,
  type: 'public-key' as const,
  transports: [...transports],
});

const toLibraryForm = ({ id, rawId, type }: NewCredential | Assertion) => ({
  id,
  rawId: rawId ?? id,
  type,
  clientExtensionResults: {},
});

/** The challenge inside a response, still unverified; undefined if there is none. */
export function readChallenge({ response }: NewCredential | Assertion): string | undefined {
  const { challenge } = readClientData(response.clientDataJSON);
  return typeof challenge === 'string' ? challenge : undefined;
}

function readClientData(clientDataJson: string): Readonly<Record<string, unknown>> {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJson, 'base64url').toString());
    return isObject(data) ? data : {};
  } catch {
    return {};
  }
}

/** The library accepts use inside a foreign frame if the browser does not name the outer page. */
function assertSameOrigin({ response }: NewCredential | Assertion): void {
  if (readClientData(response.clientDataJSON).crossOrigin === true) throw new Error('used inside a foreign frame');
}

/**
 * Drops the statement about the authenticator's maker. It is neither requested nor used, and verifying its certificates
 * would make the library fetch revocation lists from URLs inside them.
 */
async function withoutAttestation(attestationObject: string): Promise<string> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await loadHelpers();
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('authData');
  const statement = new Map<string, unknown>();
  statement.set('fmt', 'none').set('attStmt', new Map()).set('authData', authData);
  return isoBase64URL.fromBuffer(isoCBOR.encode(statement as Parameters<typeof isoCBOR.encode>[0]));
}
