import type { BufferedResponse } from '../platform/outbound/outbound-types.ts';

type Credentials = { readonly [key: string]: unknown };

/** Which of a channel's credentials are secret; `project` and `location` are part of every resource name of the vendor. */
const SECRET_FIELD = /(?:key|secret|password)(?:_id)?$/;
/** Shorter values would match harmless text. */
const MIN_SECRET_LENGTH = 8;
/** Longer texts contain a file. No vendor writes errors of such length, and searching them would block the event loop. */
const MAX_SEARCHED_LENGTH = 4 * 1024 ** 2;

/** The secret values of a channel, at any depth. */
export function collectSecrets(credentials: Credentials): string[] {
  return Object.entries(credentials).flatMap(([name, value]) => {
    if (typeof value === 'object' && value !== null) return collectSecrets(value as Credentials);
    return typeof value === 'string' && value.length >= MIN_SECRET_LENGTH && SECRET_FIELD.test(name) ? [value] : [];
  });
}

/** Values of extra headers: they may be keys of a gateway in between. */
export const collectHeaderSecrets = (headers: Readonly<Record<string, string>> = {}): string[] =>
  Object.values(headers).filter((value) => value.length >= MIN_SECRET_LENGTH);

/** What was derived from the credentials for one request: the token after the scheme. */
export function collectBearerToken(headers: Readonly<Record<string, string>> = {}): string[] {
  const token = headers.authorization?.split(' ').at(-1) ?? '';
  return token.length >= MIN_SECRET_LENGTH ? [token] : [];
}

/**
 * A vendor's response without our own credentials, which some repeat in their errors. Masked before anything reads it, since
 * its text is forwarded to callers, records, notifications and the log.
 */
export function maskCredentials(response: BufferedResponse, secrets: readonly string[]): BufferedResponse {
  const { text, json } = response;
  if (text.length > MAX_SEARCHED_LENGTH) return response;
  // As encoded in JSON: a PEM key contains line ends.
  const occurs = (secret: string): boolean =>
    text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1));
  if (!secrets.some(occurs)) return response;
  const mask = (part: string): string => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[masked]'), part);
  const masked: unknown =
    json === undefined
      ? undefined
      : JSON.parse(JSON.stringify(json), (_, value: unknown) => (typeof value === 'string' ? mask(value) : value));
  return { ...response, text: masked === undefined ? mask(text) : JSON.stringify(masked), json: masked };
}
