import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { jwtVerify } from 'jose';
import { json, type Reply, type SimulatorRequest, type Stage } from '../simulator.ts';

/** A service account of Google's and the endpoint that turns its signed assertions into access tokens (RFC 7523). */

const EMAIL = 'reelgate@sandbox-project.iam.gserviceaccount.com';
const KEY_ID = '3f0c1d7e5b9a48e2a6c4';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const LIFE_S = 3599;

// Made when first asked for: a process that needs no service account spends no time on a key.
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

const refuse = (description: string): Reply => json(400, { error: 'invalid_grant', error_description: description });

/** Signature, issuer, audience, life and scope are all verified; a token is good for the same hour as Google's. */
export async function issueToken(request: SimulatorRequest, stage: Stage): Promise<Reply> {
  const form = new URLSearchParams(request.body.toString('utf8'));
  if (form.get('grant_type') !== GRANT_TYPE) return json(400, { error: 'unsupported_grant_type' });
  try {
    const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', keys().publicKey, {
      algorithms: ['RS256'],
      issuer: EMAIL,
      audience: `${stage.url}/token`,
      requiredClaims: ['iat', 'exp'],
      currentDate: new Date(stage.now()),
    });
    if (protectedHeader.kid !== undefined && protectedHeader.kid !== KEY_ID) return refuse('Invalid key id.');
    if ((payload.exp ?? 0) - (payload.iat ?? 0) > 3600)
      return refuse('Token must be a short-lived token (60 minutes).');
    if (payload.scope !== SCOPE)
      return json(400, { error: 'invalid_scope', error_description: 'Invalid OAuth scope.' });
  } catch {
    return refuse('Invalid JWT Signature.');
  }
  const end = String(stage.now() + LIFE_S * 1000);
  const nonce = randomBytes(6).toString('hex');
  const token = `ya29.${end}.${nonce}.${stamp(`${end}.${nonce}`)}`;
  return json(200, { access_token: token, expires_in: LIFE_S, token_type: 'Bearer' });
}

/** Whether a request carries a token this endpoint has issued and that has not ended. */
export function hasToken(request: SimulatorRequest, nowMs: number): boolean {
  const [, end = '', nonce = '', mark] =
    /^Bearer ya29\.(\d+)\.([0-9a-f]+)\.(.+)$/.exec(request.headers.authorization ?? '') ?? [];
  return mark === stamp(`${end}.${nonce}`) && Number(end) > nowMs;
}
