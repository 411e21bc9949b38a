import { hash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import { inputRules, operationsOf } from '../../contract/generation-ways.ts';
import { defined } from '../../contract/objects.ts';
import * as endpoints from '../../contract/video-inputs.ts';
import type { ChannelDirectory, ResolvedModel } from '../channels/directory.ts';
import type { FindPlanTerms } from '../plans/catalog.ts';
import { AppError } from '../platform/app-error.ts';
import type { ModelCaller } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Allowances } from '../quota/ledger.ts';
import type { ModelCapability } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import { toParameters } from './model-parameters.ts';
import type { VideoDurationStatisticsStore } from './task-reports.ts';

interface VideoModelDependencies {
  readonly channels: Pick<ChannelDirectory, 'listModels' | 'model'>;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
  readonly findPlanTerms: FindPlanTerms;
  readonly vendors: VendorRegistry;
  readonly durations: VideoDurationStatisticsStore;
}

type VideoModel = Static<typeof endpoints.VideoModel>;

/** Registers the list of video models with everything a request to them may contain. */
export function addVideoModelRoutes(
  routes: RouteRegistry,
  { channels, allowances, findPlanTerms, vendors, durations }: VideoModelDependencies,
): void {
  const list = async ({ userId, models: named }: ModelCaller): Promise<readonly ResolvedModel[]> => {
    const [permitted, terms] = await Promise.all([allowances.permittedModels(userId), findPlanTerms(userId)]);
    const ids = (await channels.listModels(terms?.channels))
      .filter(({ id, kind }) => kind === 'video' && (named.length === 0 || named.includes(id)))
      .filter(({ id }) => permitted?.has(id) !== false)
      .map(({ id }) => id);
    const models = await Promise.all(ids.map((id) => channels.model(id)));
    return models.filter((model) => model !== undefined);
  };
  const describe = async (models: readonly ResolvedModel[]): Promise<VideoModel[]> => {
    const times = await durations.read(models.map(({ id }) => id));
    return models.map((model) => {
      const median = times.find((each) => each.model === model.id)?.p50_seconds;
      return toVideoModel(model, vendors, median ?? null);
    });
  };

  routes.add(endpoints.listVideoModels, async ({ caller, request, reply }) => {
    const models = { object: 'list' as const, data: await describe(await list(caller)) };
    return unlessKnown(models, request.headers['if-none-match'], reply);
  });
  routes.add(endpoints.getVideoModel, async ({ caller, params: { model: id }, request, reply }) => {
    const found = (await list(caller)).filter((model) => model.id === id);
    const [model] = await describe(found);
    if (model === undefined) throw new AppError('model_not_found', { params: { model: id }, param: 'model' });
    return unlessKnown(model, request.headers['if-none-match'], reply);
  });
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
