import Type, { type Static } from 'typebox';
import { Code } from './account-fields.ts';

/** Bytes in base64url without padding, as browsers serialize credentials. */
const bytes = (maxLength: number) => Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength });
/** An identifier has at most 1,023 bytes (WebAuthn level 3, section 4). */
const CredentialId = bytes(1_400);
const Transports = Type.Array(Type.String({ pattern: '^[a-z-]{1,32}$' }), { maxItems: 16 });
const ClientData = bytes(8_192);

/** A new credential, as `PublicKeyCredential.toJSON` returns it. */
export const NewCredential = Type.Object({
  id: CredentialId,
  rawId: Type.Optional(CredentialId),
  type: Type.Literal('public-key'),
  response: Type.Object({
    clientDataJSON: ClientData,
    attestationObject: bytes(32_768),
    transports: Type.Optional(Transports),
  }),
});
/** A new credential, as `PublicKeyCredential.toJSON` returns it. */
export type NewCredential = Static<typeof NewCredential>;

/** The use of a credential, as `PublicKeyCredential.toJSON` returns it. */
export const Assertion = Type.Object({
  id: CredentialId,
  rawId: Type.Optional(CredentialId),
  type: Type.Literal('public-key'),
  response: Type.Object({
    clientDataJSON: ClientData,
    authenticatorData: bytes(8_192),
    signature: bytes(8_192),
    userHandle: Type.Optional(Type.Union([Type.String({ pattern: '^[A-Za-z0-9_-]*$', maxLength: 128 }), Type.Null()])),
  }),
});
/** The use of a credential, as `PublicKeyCredential.toJSON` returns it. */
export type Assertion = Static<typeof Assertion>;

/** Proof that the owner of a session is present. With two-step verification on, a password alone is not enough. */
export const PresenceProof = Type.Object({
  password: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  code: Type.Optional(Code),
  credential: Type.Optional(Assertion),
});
/** Proof that the owner of a session is present. */
export type PresenceProof = Static<typeof PresenceProof>;

/** The use of a passkey in a form, which the page's script fills in. */
export const PasskeyField = Type.String({ maxLength: 12_000, description: 'the use of a passkey, as JSON' });
/** Of a form with that field. */
export const PASSKEY_BODY_LIMIT = 32 * 1024;
