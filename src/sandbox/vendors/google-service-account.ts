import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { jwtVerify } from 'jose';
import {
  jsonResponse,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
} from '../define-simulator.ts';

/** A service account of Google's and the endpoint that turns its signed assertions into access tokens (RFC 7523). */

const EMAIL = 'reelgate@sandbox-project.iam.gserviceaccount.com';
const KEY_ID = '3f0c1d7e5b9a48e2a6c4';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const LIFE_S = 3599;

// Made when first needed: a process without service accounts spends no time on generating a key.
let pair: ReturnType<typeof makePair> | undefined;
const makePair = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const keys = () => {
  pair ??= makePair();
  return pair;
};
const secret = randomBytes(32);
const stamp = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url');

/** The key file an administrator would download. */
export const serviceAccount = (url: string) => ({
  type: 'service_account',
  project_id: 'sandbox-project',
  private_key_id: KEY_ID,
  private_key: keys().privateKey.export({ type: 'pkcs8', format: 'pem' }),
  client_email: EMAIL,
  token_uri: `${url}/token`,
});

const refuse = (description: string): SimulatorResponse =>
  jsonResponse(400, { error: 'invalid_grant', error_description: description });

/** Signature, issuer, audience, lifetime and scope are all verified; a token is valid for an hour, like Google's. */
export async function issueToken(request: SimulatorRequest, context: SimulatorContext): Promise<SimulatorResponse> {
  const form = new URLSearchParams(request.body.toString('utf8'));
  if (form.get('grant_type') !== GRANT_TYPE) return jsonResponse(400, { error: 'unsupported_grant_type' });
  try {
    const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', keys().publicKey, {
      algorithms: ['RS256'],
      issuer: EMAIL,
      audience: `${context.url}/token`,
      requiredClaims: ['iat', 'exp'],
      currentDate: new Date(context.now()),
    });
    if (protectedHeader.kid !== undefined && protectedHeader.kid !== KEY_ID) return refuse('Invalid key id.');
    if ((payload.exp ?? 0) - (payload.iat ?? 0) > 3600)
      return refuse('Token must be a short-lived token (60 minutes).');
    if (payload.scope !== SCOPE)
      return jsonResponse(400, { error: 'invalid_scope', error_description: 'Invalid OAuth scope.' });
  } catch {
    return refuse('Invalid JWT Signature.');
  }
  const end = String(context.now() + LIFE_S * 1000);
  const nonce = randomBytes(6).toString('hex');
  const token = `ya29.${end}.${nonce}.${stamp(`${end}.${nonce}`)}`;
  return jsonResponse(200, { access_token: token, expires_in: LIFE_S, token_type: 'Bearer' });
}

/** Whether a request carries a token that this endpoint issued and that has not expired. */
export function hasToken(request: SimulatorRequest, nowMs: number): boolean {
  const [, end = '', nonce = '', mark] =
    /^Bearer ya29\.(\d+)\.([0-9a-f]+)\.(.+)$/.exec(request.headers.authorization ?? '') ?? [];
  return mark === stamp(`${end}.${nonce}`) && Number(end) > nowMs;
}
