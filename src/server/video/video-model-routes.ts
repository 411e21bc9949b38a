import { hash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import * as endpoints from '../../contract/video-inputs.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { VideoModels } from './video-models.ts';

/** Registers the list of video models with everything a request to them may contain. */
export function addVideoModelRoutes(routes: RouteRegistry, models: VideoModels): void {
  routes.add(endpoints.listVideoModels, async ({ caller, request, reply }) => {
    const body = { object: 'list' as const, data: await models.list(caller) };
    return unlessKnown(body, request.headers['if-none-match'], reply);
  });
  routes.add(endpoints.getVideoModel, async ({ caller, params: { model: id }, request, reply }) =>
    unlessKnown(await models.get(caller, id), request.headers['if-none-match'], reply),
  );
}

/** Sends 304 to a client that has the same data, by a weak ETag, because it may be sent compressed. */
function unlessKnown<T extends object>(body: T, known: string | undefined, reply: FastifyReply): T | FastifyReply {
  const etag = `W/"${hash('sha256', JSON.stringify(body), 'base64url')}"`;
  reply.headers({ etag, 'cache-control': 'private, no-cache' });
  return known === etag ? reply.status(304).send() : body;
}

function toVideoModel(model: ResolvedModel, vendors: VendorRegistry, typicalSeconds: number | null): VideoModel {
  const { id, vendor, target, price, retirement, inputSchema } = model;
  const adapter = vendors.get(vendor);
  const capability = vendors.capability(vendor, target);
  const operations = operationsOf(capability?.ways ?? []);
  return {
    id,
    object: 'video.model',
    vendor,
    title: capability?.title ?? id,
    inputs: capability === undefined ? [] : toInputs(capability),
    seconds: capability === undefined ? {} : toSeconds(capability),
    resolutions: [...(capability?.resolutions ?? [])],
    ratios: [...(capability?.ratios ?? [])],
    sizes: [...(capability?.sizes ?? [])],
    modes: [...(capability?.modes ?? [])],
    audio: capability?.audio ?? false,
    operations: [
      ...(capability === undefined ? (['generate'] as const) : operations),
      ...(adapter.remix ? (['remix'] as const) : []),
    ],
    parameters: toParameters(id, capability, adapter, inputSchema),
    price,
    typical_seconds: typicalSeconds,
    lifecycle: {
      stage: retirement === undefined ? 'active' : 'retiring',
      retires_on: retirement === undefined ? null : new Date(retirement.at).toISOString().slice(0, 10),
    },
  };
}

const toInputs = ({ ways }: ModelCapability): VideoModel['inputs'] =>
  inputRules(ways).map(({ type, role, min, max, maxBytes, maxSeconds, formats }) =>
    defined({
      type,
      roles: [role],
      min,
      max,
      max_bytes: maxBytes,
      max_seconds: maxSeconds,
      formats: formats === undefined ? undefined : [...formats],
    }),
  );

const toSeconds = ({ seconds }: ModelCapability): object =>
  'values' in seconds ? { values: seconds.values } : { min: seconds.min, max: seconds.max, step: 1 };
