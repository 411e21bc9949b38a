import { AppError } from '../../platform/errors.ts';
import type { OutboundAnswer } from '../../platform/outbound/outbound.ts';
import { signVolcengine } from '../../platform/outbound/volcengine-signature.ts';
import type { ErrorReason, VendorCall } from '../../video/vendor.ts';
import { asObject, type Untrusted } from '../untrusted.ts';

/** Jimeng's image models on Volcengine's visual service. Source: volcengine.com/docs/85621, the image pages. */

/** A picture as the caller described it. */
export interface PictureRequest {
  /** The vendor's `req_key`. */
  readonly model: string;
  readonly prompt: string;
  /** Addresses, or Base64 without a `data:` prefix. */
  readonly pictures: readonly string[];
  readonly width?: number;
  readonly height?: number;
  readonly seed?: number;
}

export type PictureOutcome =
  | { readonly kind: 'done'; readonly urls: readonly string[] }
  | { readonly kind: 'working' }
  | { readonly kind: 'failed'; readonly failure: PictureFailure };

export interface PictureFailure {
  readonly reason: ErrorReason;
  readonly retryable: boolean;
  readonly code: string;
  readonly message: string;
  readonly error: AppError;
}

/** Price in quota a picture, after the vendor's public list. */
export const PICTURE_MODELS: readonly { readonly id: string; readonly title: string; readonly perCall: number }[] = [
  { id: 'jimeng_t2i_v30', title: 'Jimeng pictures 3.0', perCall: 14_000 },
  { id: 'jimeng_t2i_v31', title: 'Jimeng pictures 3.1', perCall: 14_000 },
  { id: 'jimeng_t2i_v40', title: 'Jimeng pictures 4.0', perCall: 14_000 },
  { id: 'jimeng_i2i_v30', title: 'Jimeng pictures 3.0, from a picture', perCall: 14_000 },
  { id: 'jimeng_seedream46_cvtob', title: 'Seedream 4.6', perCall: 16_000 },
];

/** Keys that make as many pictures as the words ask for, each of them billed, unless told not to. */
const MAY_MAKE_SEVERAL: ReadonlySet<string> = new Set(['jimeng_t2i_v40']);

const OK = 10_000;
const ACTIONS = { submit: 'CVSync2AsyncSubmitTask', query: 'CVSync2AsyncGetResult' } as const;

/** Whose fault a code tells of, and whether another account may fare better. */
const MEANINGS: Readonly<Record<string, readonly [reason: ErrorReason, retryable: boolean]>> = {
  50200: ['user', false],
  50215: ['user', false],
  50400: ['model', true],
  50411: ['policy', false],
  50412: ['policy', false],
  50413: ['policy', false],
  50429: ['rate', true],
  50430: ['rate', true],
  50500: ['capacity', true],
  50501: ['capacity', true],
  50511: ['policy', false],
  50512: ['policy', false],
  50516: ['policy', false],
  50517: ['policy', false],
  50518: ['policy', false],
  50519: ['policy', false],
  50520: ['capacity', false],
  50521: ['capacity', false],
  50522: ['capacity', false],
  SignatureDoesNotMatch: ['auth', true],
  InvalidAccessKey: ['auth', true],
  InvalidCredential: ['auth', true],
  InvalidTimestamp: ['auth', true],
  AccessDenied: ['auth', true],
};

function ask(call: VendorCall, action: keyof typeof ACTIONS, fields: Untrusted): Promise<OutboundAnswer> {
  const url = `${call.baseUrl}/?Action=${ACTIONS[action]}&Version=2022-08-31`;
  const body = JSON.stringify(fields);
  const { access_key: accessKey, secret_key: secretKey } = call.credentials;
  const key = { accessKey: String(accessKey), secretKey: String(secretKey), region: 'cn-north-1', service: 'cv' };
  const unsigned = { method: 'POST', url, body, headers: { 'content-type': 'application/json' } } as const;
  return call.json({
    method: 'POST',
    url,
    headers: signVolcengine(unsigned, key, call.now()),
    body,
    signal: call.signal,
  });
}

/** Begins a picture; answers the vendor's id of it. */
export async function submitPicture(
  { model, prompt, pictures, width, height, seed }: PictureRequest,
  call: VendorCall,
): Promise<{ readonly id: string } | { readonly failure: PictureFailure }> {
  const urls = pictures.filter((picture) => /^https?:/i.test(picture));
  const inline = pictures.filter((picture) => !/^https?:/i.test(picture));
  if (urls.length > 0 && inline.length > 0)
    return { failure: toFailure('user', false, '', 'Pictures must be given all by address, or all inline.') };
  const answer = await ask(call, 'submit', {
    req_key: model,
    prompt,
    ...(urls.length > 0 ? { image_urls: urls } : {}),
    ...(inline.length > 0 ? { binary_data_base64: inline } : {}),
    ...(width === undefined || height === undefined ? {} : { width, height }),
    ...(seed === undefined ? {} : { seed }),
    ...(MAY_MAKE_SEVERAL.has(model) ? { force_single: true } : {}),
  });
  const envelope = asObject(answer.json);
  const id = envelope?.code === OK ? asObject(envelope.data)?.task_id : undefined;
  if (typeof id === 'string' && id !== '') return { id };
  return { failure: readFailure(answer) };
}

/** Looks once. A look that fails by itself says nothing about the picture. */
export async function lookForPicture(model: string, id: string, call: VendorCall): Promise<PictureOutcome> {
  const wish = JSON.stringify({ return_url: true });
  const answer = await ask(call, 'query', { req_key: model, task_id: id, req_json: wish });
  const envelope = asObject(answer.json);
  const data = asObject(envelope?.data);
  if (envelope?.code !== OK) {
    const failure = readFailure(answer);
    const ends = failure.reason === 'policy' || failure.reason === 'user' || data?.status === 'done';
    return ends ? { kind: 'failed', failure } : { kind: 'working' };
  }
  if (data?.status === 'not_found' || data?.status === 'expired')
    return { kind: 'failed', failure: toFailure('missing', false, '', 'The model provider lost the picture.') };
  if (data?.status !== 'done') return { kind: 'working' };
  const urls = (Array.isArray(data.image_urls) ? data.image_urls : []).filter(
    (url): url is string => typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url),
  );
  if (urls.length > 0) return { kind: 'done', urls };
  return { kind: 'failed', failure: toFailure('other', false, '', 'The model provider gave no picture.') };
}

function readFailure(answer: OutboundAnswer): PictureFailure {
  const envelope = asObject(answer.json);
  const gateway = asObject(asObject(envelope?.ResponseMetadata)?.Error);
  const told = gateway?.Code ?? envelope?.code;
  const code = (typeof told === 'string' || typeof told === 'number') && told !== OK ? String(told) : '';
  const message = gateway?.Message ?? envelope?.message;
  const [reason, retryable] = (Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : undefined) ?? ['capacity', true];
  return toFailure(reason, retryable, code, typeof message === 'string' ? message.slice(0, 500) : '');
}

function toFailure(reason: ErrorReason, retryable: boolean, code: string, message: string): PictureFailure {
  const isCallers = reason === 'user' || reason === 'policy';
  const error =
    reason === 'rate'
      ? new AppError('rate_limit_exceeded', { params: { seconds: 1 }, retryAfterSeconds: 1 })
      : isCallers
        ? new AppError('upstream_refused', {
            params: { detail: message },
            message: message || 'The model provider refused the request.',
            ...(code === '' ? {} : { publicCode: code }),
          })
        : new AppError('upstream_error');
  return { reason, retryable, code, message, error };
}
