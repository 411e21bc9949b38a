import fc from 'fast-check';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { arbitraryMutatedJson } from '../arbitrary-mutated-json.ts';
import { INVALID_BODIES, INVALID_TEXTS } from '../invalid-input/invalid-values.ts';
import { arbitraryOf } from '../invalid-input/schema-arbitrary.ts';

/** Whose credential a request carries. `none` and `wrong` receive 401 or 403 where a credential is needed. */
export type CredentialKind = 'right' | 'user' | 'none' | 'wrong';

/** A generated request, without its credential and the ids of its path. */
export interface MadeUpRequest {
  readonly endpoint: Endpoint;
  readonly credential: CredentialKind;
  /** For each path parameter: an index into the ids seen so far, or a literal text. */
  readonly ids: readonly (number | string)[];
  /** Query string including its question mark; empty if there is none. */
  readonly query: string;
  readonly contentType: string | undefined;
  readonly body: string | Buffer | undefined;
}

const BOUNDARY = 'fuzz';

/**
 * Requests to one endpoint, most of them valid or nearly so: they reach code that a fixed list of wrong values never
 * reaches.
 */
export function requestsTo(endpoint: Endpoint): fc.Arbitrary<MadeUpRequest> {
  const parameters = endpoint.path.match(/:\w+/g)?.length ?? 0;
  const id = fc.oneof(
    { weight: 8, arbitrary: fc.nat(10_000) },
    { weight: 2, arbitrary: fc.constantFrom('1', '2', '3', 'sora-2', 'task_none') },
    { weight: 1, arbitrary: fc.constantFrom(...INVALID_TEXTS) },
  );
  return fc
    .record({
      credential: fc.oneof(
        { weight: 16, arbitrary: fc.constant<CredentialKind>('right') },
        { weight: 2, arbitrary: fc.constant<CredentialKind>('user') },
        { weight: 1, arbitrary: fc.constantFrom<CredentialKind>('none', 'wrong') },
      ),
      ids: fc.array(id, { minLength: parameters, maxLength: parameters }),
      query: queryOf(endpoint),
      body: bodyOf(endpoint),
    })
    .map(({ body, ...rest }) => ({ endpoint, ...rest, ...body }));
}

function queryOf({ query }: Endpoint): fc.Arbitrary<string> {
  if (query === undefined) return fc.oneof({ weight: 9, arbitrary: fc.constant('') }, fc.constant('?unknown=1'));
  const valid = arbitraryOf(query as never).map((value) => {
    const toText = (each: unknown): string => (typeof each === 'string' ? each : JSON.stringify(each));
    const pairs = Object.entries(value as object).map(([name, each]) => [name, `${toText(each)}`.toWellFormed()]);
    return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs as [string, string][])}`;
  });
  const names = Object.keys((query as { properties?: object }).properties ?? {});
  if (names.length === 0) return valid;
  const invalid = fc
    .tuple(fc.constantFrom(...names), fc.constantFrom(...INVALID_TEXTS))
    .map(([name, text]) => `?${name}=${text}`);
  return fc.oneof({ weight: 6, arbitrary: valid }, { weight: 1, arbitrary: invalid });
}

interface MadeUpBody {
  readonly contentType: string | undefined;
  readonly body: string | Buffer | undefined;
}

const NO_BODY: MadeUpBody = { contentType: undefined, body: undefined };
const toJson = (value: unknown): MadeUpBody =>
  value === undefined ? NO_BODY : { contentType: 'application/json', body: JSON.stringify(value) };

function bodyOf({ body, accepts }: Endpoint): fc.Arbitrary<MadeUpBody> {
  const raw = fc.constantFrom(...INVALID_BODIES).map(({ type, body: bytes }) => ({ contentType: type, body: bytes }));
  if (body === undefined) return fc.oneof({ weight: 19, arbitrary: fc.constant(NO_BODY) }, raw);
  const valid = arbitraryOf(body as never);
  const wounded = valid.chain((value) => arbitraryMutatedJson([value]));
  const spelled = {
    json: toJson,
    form: toForm,
    'json-or-multipart': toJson,
    upload: toMultipart,
    discard: toJson,
  }[accepts ?? 'json'];
  const multipart = accepts === 'json-or-multipart' ? [{ weight: 4, arbitrary: valid.map(toMultipart) }] : [];
  return fc.oneof(
    { weight: 10, arbitrary: valid.map(spelled) },
    { weight: 8, arbitrary: wounded.map(spelled) },
    { weight: 1, arbitrary: raw },
    { weight: 1, arbitrary: fc.constant(NO_BODY) },
    ...multipart,
  );
}

const pairsOf = (value: unknown): [string, string][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).map(([name, each]) => [
        name,
        (typeof each === 'string' ? each : (JSON.stringify(each) ?? '')).toWellFormed(),
      ])
    : [];

const toForm = (value: unknown): MadeUpBody => ({
  contentType: 'application/x-www-form-urlencoded',
  body: new URLSearchParams(pairsOf(value)).toString(),
});

/** Sends every text as a part, and one with an image field's name as a file, which is broken half of the time. */
function toMultipart(value: unknown): MadeUpBody {
  const parts = pairsOf(value).map(([name, text], index) => {
    const file = name === 'input_reference' || name === 'file' ? `; filename="a.png"\r\nContent-Type: image/png` : '';
    const end = index % 2 === 0 ? '\r\n' : '';
    return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${encodeURIComponent(name)}"${file}\r\n\r\n${text}${end}`;
  });
  return { contentType: `multipart/form-data; boundary=${BOUNDARY}`, body: `${parts.join('')}--${BOUNDARY}--\r\n` };
}
