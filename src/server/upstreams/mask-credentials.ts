import { isObject } from '../../contract/is-object.ts';
import { memoizeByObject } from '../platform/cache.ts';
import type { BufferedResponse } from '../platform/outbound/outbound.ts';

type Values = { readonly [key: string]: unknown };

/** The parts of an upstream account that hold secrets. */
export interface SecretHolder {
  readonly credentials: Values;
  readonly extraHeaders?: Readonly<Record<string, string>> | undefined;
  readonly proxy?: string | undefined;
}

/** Which of a channel's credentials are secret; `project` and `location` are part of every resource name of the vendor. */
const SECRET_FIELD = /(?:key|secret|password)(?:_id)?$/;
/** Headers named like this hold a secret, however harmless the value looks. */
const SECRET_HEADER = /auth|cookie|credential|jwt|key|pass|secret|session|sign|token/;
/** Headers that describe the client or the protocol. Masking their values would remove ordinary words from answers. */
const PUBLIC_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'anthropic-beta',
  'anthropic-version',
  'http-referer',
  'openai-beta',
  'origin',
  'referer',
  'user-agent',
  'x-title',
]);
/** Names, not secrets, such as the team a request belongs to. */
const PLAIN_WORDS = /^[a-z]+(?:[ -][a-z]+)*$/i;

/** Shorter values would match harmless text. A value that can be nothing but a secret may be shorter. */
const MIN_KEY_LENGTH = 6;
const MIN_HEADER_LENGTH = 8;
/** Longer texts contain a file. No vendor writes errors of such length, and searching them would block the event loop. */
const MAX_SEARCHED_LENGTH = 4 * 1024 ** 2;
const MASK = '[masked]';

/** Replaces an account's secrets in text on its way to a caller, the log, the audit log or a page. */
export interface CredentialMask {
  text(text: string): string;
  /** The same bytes unless they contain a secret. A stream must be passed in whole events, so that none is cut in two. */
  bytes(bytes: Buffer): Buffer;
  /** @param headers sent with the request; a token derived for it is masked too */
  response(response: BufferedResponse, headers?: Readonly<Record<string, string>>): BufferedResponse;
}

/** One mask for each account, with every secret that its upstream is sent: keys, extra headers, the password of the proxy. */
export const credentialMaskOf = memoizeByObject((account: SecretHolder): CredentialMask => {
  const secrets = [
    ...collectKeys(account.credentials),
    ...Object.entries(account.extraHeaders ?? {}).flatMap(([name, value]) => collectFromHeader(name, value)),
    ...collectFromProxy(account.proxy),
  ];
  return createMask(secrets);
});

function createMask(secrets: readonly string[]): CredentialMask {
  const spellings = [...new Set(secrets.flatMap(spell))].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(spellings.map(toPattern).join('|'), 'g');
  const text = (part: string): string => (spellings.length === 0 ? part : part.replace(pattern, MASK));
  return {
    text,
    bytes: (bytes) =>
      spellings.some((spelling) => bytes.includes(spelling)) ? Buffer.from(text(bytes.toString('utf8'))) : bytes,
    response(response, headers) {
      const derived = collectFromHeader('authorization', headers?.authorization ?? '');
      return derived.length === 0 || derived.every((token) => secrets.includes(token))
        ? maskResponse(response, spellings, text)
        : createMask([...secrets, ...derived]).response(response);
    },
  };
}

/** Masked before anything reads it, since its text is forwarded to callers, records, notifications and the log. */
function maskResponse(
  response: BufferedResponse,
  spellings: readonly string[],
  mask: CredentialMask['text'],
): BufferedResponse {
  const { text, json } = response;
  if (text.length > MAX_SEARCHED_LENGTH || spellings.length === 0) return response;
  // An upstream may escape any character of its JSON.
  const hasEscapes = json !== undefined && text.includes('\\u');
  if (!hasEscapes && !spellings.some((spelling) => text.includes(spelling))) return response;
  if (json === undefined) return { ...response, text: mask(text) };
  const masked = maskStrings(json, mask);
  return { ...response, text: JSON.stringify(masked), json: masked };
}

/** Only strings and names, so that a secret of digits leaves the numbers of a response as they are. */
function maskStrings(value: unknown, mask: CredentialMask['text']): unknown {
  if (typeof value === 'string') return mask(value);
  if (Array.isArray(value)) return value.map((each) => maskStrings(each, mask));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [mask(name), maskStrings(each, mask)]));
}

/** Keys at any depth. */
function collectKeys(credentials: Values): string[] {
  return Object.entries(credentials).flatMap(([name, value]) => {
    if (isObject(value)) return collectKeys(value);
    return typeof value === 'string' && value.length >= MIN_KEY_LENGTH && SECRET_FIELD.test(name) ? [value] : [];
  });
}

/** A header's value, and the token behind a scheme such as `Bearer`. */
function collectFromHeader(name: string, value: string): string[] {
  const isSecret = SECRET_HEADER.test(name) || !(PUBLIC_HEADERS.has(name) || PLAIN_WORDS.test(value));
  if (!isSecret) return [];
  const token = value.split(' ').at(-1) ?? '';
  return [...new Set([value, token])].filter((each) => each.length >= MIN_HEADER_LENGTH);
}

/** The password of a proxy, as it is and as HTTP sends it. */
function collectFromProxy(proxy: string | undefined): string[] {
  const { username = '', password = '' } = URL.parse(proxy ?? '') ?? {};
  if (password === '') return [];
  const [user, clear] = [decode(username), decode(password)];
  const basic = Buffer.from(`${user}:${clear}`).toString('base64');
  return [clear, password, basic].filter((each) => each.length >= MIN_KEY_LENGTH);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A secret as it stands in plain text, in JSON (PHP escapes slashes too) and in a URL. */
function spell(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [secret, json, json.replaceAll('/', '\\/'), encodeURIComponent(secret.toWellFormed())];
}

/** Digits match as a whole and not as a number of JSON, which would no longer be one. */
const toPattern = (spelling: string): string =>
  /^\d+$/.test(spelling) ? `(?<![\\d.]|"\\s*:\\s*)${spelling}(?![\\d.])` : RegExp.escape(spelling);
