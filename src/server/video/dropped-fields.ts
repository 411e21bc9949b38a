import type { TSchema } from 'typebox';
import { fits } from '../../contract/generation-ways.ts';
import { STANDARD_FIELDS } from '../../contract/video.ts';
import type { Channel } from '../channels/directory.ts';
import { pickNamedKeys, unnamedPaths } from '../platform/named-keys.ts';
import type { ModelCapability, VendorAdapter, VideoRequest } from '../vendors/adapter.ts';
import { declaresArgument, type GenerationRequest, hasOtherMedia, isIn, kindsOf } from './generation-request.ts';
import { replaceAt } from './request-media.ts';

/** Paths of a body in our own formats that its vendor does not know: members, and keys of `metadata`. */
export function unknownPaths(
  { body, metadata, media, officialBody }: GenerationRequest,
  inputSchema: TSchema | undefined,
  adapter: Pick<VendorAdapter, 'metadata' | 'passthrough'>,
): readonly string[] {
  const { metadata: schema, passthrough } = adapter;
  if (officialBody !== undefined || media === undefined) return [];
  const read = new Set([...STANDARD_FIELDS, 'callback_url', ...media.images.map(({ field }) => field)]);
  const unknown = Object.entries(body).flatMap(([field, value]) =>
    read.has(field) || value === null || passthrough || declaresArgument(inputSchema, field) ? [] : [field],
  );
  return [...unknown, ...unnamedPaths(schema, metadata, 'metadata')];
}

type Fields = Readonly<Record<string, unknown>>;

const memberAt = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce((inner, key) => (typeof inner === 'object' ? (inner as Fields | null)?.[key] : undefined), value);

/** Dotted paths of the metadata for which the vendor has no place in this request: over any channel, or over one. */
export const unusedPaths = (
  request: VideoRequest,
  adapter: Pick<VendorAdapter, 'droppedMetadata'>,
  channel?: Pick<Channel, 'credentials' | 'options'>,
): readonly string[] =>
  (adapter.droppedMetadata?.(request, channel) ?? [])
    .filter((path) => memberAt(request.metadata, path) != null)
    .map((path) => `metadata.${path}`);

/** The request without metadata that reaches no vendor, so that nothing else of it is priced either. */
export function withUsedMetadata(
  request: VideoRequest,
  adapter: Pick<VendorAdapter, 'metadata' | 'droppedMetadata'>,
): VideoRequest {
  const used = unusedPaths(request, adapter).reduce<Fields>(
    (rest, path) => replaceAt(rest, path.split('.').slice(1), undefined),
    request.metadata,
  );
  return { ...request, metadata: pickNamedKeys(adapter.metadata, used) as Fields };
}

const isRatio = (size: string): boolean => /^\d+:\d+$/.test(size);

/**
 * The request without a `size` that reaches no vendor, so that it is not priced either: a frame or a ratio where the
 * inputs determine both, and leave no resolution to choose. All other common fields are sent or refused.
 */
export function withUsedSize(
  request: VideoRequest,
  { passthrough }: Pick<VendorAdapter, 'passthrough'>,
  capability: ModelCapability | undefined,
): VideoRequest {
  const { size, ...rest } = request;
  const { operation = 'generate', officialBody } = request;
  if (size === undefined || capability === undefined || passthrough || officialBody || hasOtherMedia(request))
    return request;
  const ways = capability.ways.filter((way) => way.operation === operation && fits(way, kindsOf(request)));
  const resolutions = new Set(ways.flatMap((way) => way.resolutions ?? capability.resolutions));
  const isFixed = ways.length > 0 && ways.every(({ ratios }) => ratios?.length === 0);
  return isFixed && !isIn([...resolutions], size) && (resolutions.size < 2 || isRatio(size)) ? rest : request;
}

const MAX_DROPPED_LENGTH = 2_000;

/** Names come from the caller; characters that a header cannot hold are percent-encoded. */
export function toDroppedHeader(paths: readonly string[]): Readonly<Record<string, string>> {
  if (paths.length === 0) return {};
  const names = paths.slice(0, 100).map((path) => path.toWellFormed().replace(/[^\w.$-]/gu, encodeURIComponent));
  let text = names[0] ?? '';
  for (const name of names.slice(1)) if (text.length + name.length < MAX_DROPPED_LENGTH) text += `, ${name}`;
  return { 'x-reelgate-dropped': text.slice(0, MAX_DROPPED_LENGTH) };
}
