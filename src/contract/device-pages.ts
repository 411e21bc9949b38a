import Type from 'typebox';
import { NAME_LENGTH_MAX } from './device-auth.ts';
import { endpoint } from './endpoint.ts';
import { MAX_REQUEST_LENGTH } from './oauth.ts';
import { PASSKEY_BODY_LIMIT, PasskeyField } from './passkey-credentials.ts';

/** Fields that every form of the authorization pages contains. */
const FormFields = {
  code: Type.String({ maxLength: 64, description: 'the user_code; empty for an authorization request' }),
  form: Type.String({ maxLength: 200, description: 'anti-forgery value of this form in this browser' }),
  lang: Type.Optional(Type.String({ maxLength: 16 })),
  request: Type.Optional(
    Type.String({ maxLength: MAX_REQUEST_LENGTH, description: 'the query of an authorization request to return to' }),
  ),
};

const page = { tag: 'device', policy: 'self', envelope: 'page', responseStatuses: [200, 303] } as const;
const form = { ...page, method: 'POST', accepts: 'form', bodyLimit: 16 * 1024 } as const;

export const authorizePage = endpoint({
  ...page,
  method: 'GET',
  path: '/authorize',
  summary: 'The page on which a user approves a device; without a code it asks for one',
  query: Type.Object({
    code: Type.Optional(Type.String({ maxLength: 64 })),
    lang: Type.Optional(Type.String({ maxLength: 16 })),
    step: Type.Optional(Type.String({ maxLength: 16 })),
  }),
});

/** The codes of a device, as the service issues them. */
interface IssuedCode {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
}

/** The device authorization response (RFC 8628 section 3.2). */
export function toDeviceAuthorization(
  { deviceCode, userCode, expiresInSeconds, intervalSeconds }: IssuedCode,
  baseUrl: string,
) {
  const verificationUri = `${baseUrl}${authorizePage.path}`;
  return {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: verificationUri,
    verification_uri_complete: `${verificationUri}?code=${userCode}`,
    expires_in: expiresInSeconds,
    interval: intervalSeconds,
  };
}

export const authorizeLogin = endpoint({
  ...form,
  path: '/authorize/login',
  summary: 'Form of the page: sign in with a password',
  body: Type.Object({
    ...FormFields,
    username: Type.String({ maxLength: 254 }),
    password: Type.String({ maxLength: 128 }),
  }),
});

export const authorizeSecondStep = endpoint({
  ...form,
  path: '/authorize/second-step',
  summary: 'Form of the page: finish the sign-in with a TOTP code, a backup code or a passkey',
  bodyLimit: PASSKEY_BODY_LIMIT,
  body: Type.Object({
    ...FormFields,
    otp: Type.Optional(Type.String({ maxLength: 64 })),
    passkey: Type.Optional(PasskeyField),
  }),
});

export const authorizePasskey = endpoint({
  ...form,
  path: '/authorize/passkey',
  summary: 'Form of the page: sign in with a passkey',
  bodyLimit: PASSKEY_BODY_LIMIT,
  body: Type.Object({ ...FormFields, passkey: PasskeyField }),
});

export const authorizePasskeyScript = endpoint({
  tag: 'device',
  policy: 'public',
  envelope: 'page',
  method: 'GET',
  path: '/authorize/passkey.js',
  summary: 'Script of the passkey buttons of the page, which works without it',
  responseTypes: ['text/javascript'],
});

export const authorizeSwitch = endpoint({
  ...form,
  path: '/authorize/switch',
  summary: 'Form of the page: sign out to use another account',
  body: Type.Object(FormFields),
});

export const authorizeApprove = endpoint({
  ...form,
  path: '/authorize/approve',
  summary: 'Form of the page: approve the device',
  bodyLimit: PASSKEY_BODY_LIMIT,
  body: Type.Object({
    ...FormFields,
    passkey: Type.Optional(PasskeyField),
    otp: Type.Optional(Type.String({ maxLength: 64, description: 'TOTP or backup code, where the page asks for one' })),
    organization: Type.Optional(Type.String({ maxLength: 40, description: 'empty: the account itself' })),
  }),
});

export const authorizeName = endpoint({
  ...form,
  path: '/authorize/name',
  summary: 'Form of the page: name the approved device',
  body: Type.Object({ ...FormFields, name: Type.String({ maxLength: NAME_LENGTH_MAX }) }),
});

export const authorizeDeny = endpoint({
  ...form,
  path: '/authorize/deny',
  summary: 'Form of the page: deny the device',
  body: Type.Object(FormFields),
});

export const authorizeReport = endpoint({
  ...form,
  path: '/authorize/report',
  summary: 'Form of the page: report a denied request, which blocks its origin for an hour',
  body: Type.Object(FormFields),
});
