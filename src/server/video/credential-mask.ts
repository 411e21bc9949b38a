import type { OutboundAnswer } from '../platform/outbound/outbound.ts';

type Credentials = { readonly [key: string]: unknown };

/** Which of a channel's credentials are secret; `project` and `location` stand in every name the vendor gives. */
const SECRET = /(?:key|secret|password)(?:_id)?$/;
/** Shorter values would be found in harmless text. */
const LEAST_LENGTH = 8;
/** What is longer holds a file. No vendor explains itself at such length, and the search would hold everybody up. */
const LONGEST_SEARCHED = 4 * 1024 ** 2;

/** The values of a channel nobody may see, at any depth. */
export function secretsIn(credentials: Credentials): string[] {
  return Object.entries(credentials).flatMap(([name, value]) => {
    if (typeof value === 'object' && value !== null) return secretsIn(value as Credentials);
    return typeof value === 'string' && value.length >= LEAST_LENGTH && SECRET.test(name) ? [value] : [];
  });
}

/** What was made of the credentials for one request: the token behind the scheme. */
export function bearerIn(headers: Readonly<Record<string, string>> = {}): string[] {
  const token = headers.authorization?.split(' ').at(-1) ?? '';
  return token.length >= LEAST_LENGTH ? [token] : [];
}

/**
 * A vendor's answer without our own credentials, which some repeat in their errors. Masked before anybody reads it, since
 * its words go on to callers, records, notices and the log.
 */
export function maskAnswer(answer: OutboundAnswer, secrets: readonly string[]): OutboundAnswer {
  const { text, json } = answer;
  if (text.length > LONGEST_SEARCHED) return answer;
  // As it stands in JSON: a PEM key has line ends.
  const isThere = (secret: string): boolean =>
    text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1));
  if (!secrets.some(isThere)) return answer;
  const mask = (part: string): string => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[masked]'), part);
  const masked: unknown =
    json === undefined
      ? undefined
      : JSON.parse(JSON.stringify(json), (_, value: unknown) => (typeof value === 'string' ? mask(value) : value));
  return { ...answer, text: masked === undefined ? mask(text) : JSON.stringify(masked), json: masked };
}
