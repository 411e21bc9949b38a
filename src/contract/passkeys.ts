import Type, { type Static } from 'typebox';
import { PLAIN_TEXT_PATTERN, Time, TimeOrNull } from './account-fields.ts';
import { LoggedIn } from './accounts.ts';
import { endpoint } from './endpoint.ts';
import { Assertion, NewCredential, PresenceProof } from './passkey-credentials.ts';
import { Done, IdParam, Ok } from './responses.ts';

const own = { tag: 'accounts', policy: 'owner', envelope: 'api' } as const;
const open = { tag: 'accounts', policy: 'public', envelope: 'api' } as const;

const Descriptor = Type.Object({
  id: Type.String(),
  type: Type.Literal('public-key'),
  transports: Type.Optional(Type.Array(Type.String())),
});
const Hints = Type.Array(Type.String({ description: 'kinds of authenticators to offer first' }));

/** Options for `navigator.credentials.create`. */
const CreationOptions = Type.Object({
  rp: Type.Object({ id: Type.String(), name: Type.String() }),
  user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
  challenge: Type.String({ description: 'once, within 5 minutes' }),
  pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
  timeout: Type.Integer(),
  excludeCredentials: Type.Array(Descriptor),
  authenticatorSelection: Type.Object({
    residentKey: Type.String(),
    requireResidentKey: Type.Boolean(),
    userVerification: Type.String(),
  }),
  attestation: Type.String(),
  hints: Hints,
  extensions: Type.Object({ credProps: Type.Boolean() }),
});
/** Options for `navigator.credentials.create`. */
export type CreationOptions = Static<typeof CreationOptions>;

/** Options for `navigator.credentials.get`. */
const RequestOptions = Type.Object({
  challenge: Type.String({ description: 'once, within 5 minutes' }),
  rpId: Type.String(),
  timeout: Type.Integer(),
  userVerification: Type.String(),
  allowCredentials: Type.Array(Descriptor, { description: 'empty: any passkey of this host' }),
  hints: Hints,
});
/** Options for `navigator.credentials.get`. */
export type RequestOptions = Static<typeof RequestOptions>;

const PasskeyName = Type.String({
  minLength: 1,
  maxLength: 60,
  pattern: PLAIN_TEXT_PATTERN,
  description: 'how the owner tells it from others',
});

/** A passkey of the account. */
export const Passkey = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  credential_id: Type.String({ description: 'base64url' }),
  user_handle: Type.String({ description: 'base64url; with `credential_id`, for the Signal API of browsers' }),
  rp_id: Type.String({ description: 'the host it was created for' }),
  usable: Type.Boolean({ description: 'false: the service has another host now' }),
  algorithm: Type.Integer({ description: 'COSE: -7 ES256, -8 EdDSA, -257 RS256, -48 ML-DSA-44' }),
  synced: Type.Boolean({ description: 'whether a password manager has copied it to other devices' }),
  created_time: Time,
  last_used_time: TimeOrNull,
});
/** A passkey of the account. */
export type Passkey = Static<typeof Passkey>;

export const listPasskeys = endpoint({
  ...own,
  method: 'GET',
  path: '/api/user/passkeys',
  summary: 'Passkeys of the account, oldest first',
  withoutSecondFactor: true,
  response: Ok(Type.Array(Passkey)),
});

export const passkeyCreationOptions = endpoint({
  ...own,
  method: 'POST',
  path: '/api/user/passkeys/options',
  summary: "Begin to add a passkey, after proving the owner's presence by password, code or another passkey",
  withoutSecondFactor: true,
  secret: true,
  optionalBody: true,
  body: PresenceProof,
  response: Ok(CreationOptions),
});

export const addPasskey = endpoint({
  ...own,
  method: 'POST',
  path: '/api/user/passkeys',
  summary: 'Add the passkey that the browser created',
  withoutSecondFactor: true,
  body: Type.Object({ name: PasskeyName, credential: NewCredential }),
  response: Ok(Passkey),
});

export const renamePasskey = endpoint({
  ...own,
  method: 'PUT',
  path: '/api/user/passkeys/:id',
  summary: 'Rename a passkey',
  params: IdParam,
  body: Type.Object({ name: PasskeyName }),
  response: Done,
});

export const removePasskey = endpoint({
  ...own,
  method: 'DELETE',
  path: '/api/user/passkeys/:id',
  summary: 'Remove a passkey, unless the account could then no longer sign in',
  params: IdParam,
  response: Done,
});

export const passkeyLoginOptions = endpoint({
  ...open,
  method: 'POST',
  path: '/api/user/login/passkey/options',
  summary: 'Begin a sign-in with a passkey, or a proof of presence with one',
  secret: true,
  response: Ok(RequestOptions),
});

export const passkeyLogin = endpoint({
  ...open,
  method: 'POST',
  path: '/api/user/login/passkey',
  summary: 'Sign in with a passkey, which counts as both factors; sets the cookie `session`',
  secret: true,
  body: Type.Object({ credential: Assertion }),
  response: Ok(LoggedIn),
});

export const passkeyEndpoints = endpoint({
  ...open,
  method: 'GET',
  path: '/.well-known/passkey-endpoints',
  summary: 'Page for password managers to add or manage passkeys',
  response: Type.Object({ enroll: Type.String(), manage: Type.String() }),
});

export const adminResetSecondFactors = endpoint({
  method: 'DELETE',
  path: '/api/admin/users/:id/second-factors',
  summary: 'Remove the passkeys and the two-step verification of an account whose owner lost them; ends its sign-ins',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: IdParam,
  response: Done,
});
