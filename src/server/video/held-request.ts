import { defined, isObject } from '../../contract/objects.ts';
import { Base64Text } from '../platform/base64.ts';
import type { RequestInput, VideoRequest } from '../vendors/adapter.ts';

/** A request as it is kept while its video waits: JSON, and the bytes that the JSON refers to by their index. */
export interface HeldRequest {
  readonly json: string;
  readonly parts: readonly Buffer[];
}

/** Only member of an object that stands for bytes, and of one that escapes a caller's object with such a member. */
const MARKS = { bytes: '$bytes', base64: '$base64', escaped: '$escaped' } as const;
const MARK_NAMES: readonly string[] = Object.values(MARKS);

/**
 * Takes a request apart for storage. The bytes of the account's own files are left out: they are read again by
 * `fileId` when the video starts, as a URL signed now would have expired by then.
 */
export async function takeApart(request: VideoRequest): Promise<HeldRequest> {
  const parts: Buffer[] = [];
  const keep = (bytes: Buffer): number => parts.push(bytes) - 1;
  const toStored = (value: unknown): unknown => {
    if (Buffer.isBuffer(value)) return { [MARKS.bytes]: keep(value) };
    if (value instanceof Base64Text) return { [MARKS.base64]: [keep(value.bytes), value.prefix] };
    if (Array.isArray(value)) return value.map(toStored);
    if (!isObject(value)) return value;
    const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toStored(inner)]));
    return markOf(value) === undefined ? copy : { [MARKS.escaped]: copy };
  };
  const loaded = new Map<RequestInput, Buffer>();
  for (const input of [...request.images, ...(request.videos ?? []), ...(request.audios ?? [])])
    if (input.fileId === undefined && 'upload' in input && input.upload !== undefined)
      loaded.set(input, await input.upload.load());
  const withoutFiles = mapInputs(request, (input): RequestInput => {
    const { role, at, fileId } = input;
    if (fileId !== undefined) return defined({ url: '', fileId, role, at });
    const bytes = loaded.get(input);
    const mediaType = 'upload' in input ? input.upload?.mediaType : undefined;
    return bytes === undefined || mediaType === undefined ? input : defined({ bytes, mediaType, role, at });
  });
  return { json: JSON.stringify(toStored(withoutFiles)), parts };
}

/** The request again; inputs with a `fileId` have no content yet. */
export function putTogether({ json, parts }: HeldRequest): VideoRequest {
  const bytesOf = (index: unknown): Buffer => parts[Number(index)] ?? Buffer.alloc(0);
  const fromStored = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(fromStored);
    if (!isObject(value)) return value;
    const mark = markOf(value);
    const inner = mark === undefined ? undefined : value[mark];
    if (mark === MARKS.bytes) return bytesOf(inner);
    if (mark === MARKS.base64 && Array.isArray(inner)) return new Base64Text(bytesOf(inner[0]), String(inner[1]));
    const plain = mark === MARKS.escaped && isObject(inner) ? inner : value;
    return Object.fromEntries(Object.entries(plain).map(([key, each]) => [key, fromStored(each)]));
  };
  return fromStored(JSON.parse(json)) as VideoRequest;
}

/** The mark that is an object's only member. */
function markOf(value: object): string | undefined {
  const [key, second] = Object.keys(value);
  return second === undefined && key !== undefined && MARK_NAMES.includes(key) ? key : undefined;
}

/** The request with each image, video and audio file replaced. */
export function mapInputs(request: VideoRequest, change: (input: RequestInput) => RequestInput): VideoRequest {
  const { images, videos, audios } = request;
  return defined({
    ...request,
    images: images.map(change),
    videos: videos?.map(change),
    audios: audios?.map(change),
  });
}
