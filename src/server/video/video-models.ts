import type { Static } from 'typebox';
import { type GenerationWay, inputRules, operationsOf } from '../../contract/generation-ways.ts';
import { defined } from '../../contract/objects.ts';
import type * as contract from '../../contract/video-inputs.ts';
import type { ChannelDirectory, ResolvedModel } from '../channels/directory.ts';
import type { FindPlanTerms } from '../plans/catalog.ts';
import { AppError } from '../platform/app-error.ts';
import type { ModelCaller } from '../platform/http/request-context.ts';
import type { Allowances } from '../quota/ledger.ts';
import type { ModelCapability } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import { toParameters } from './model-parameters.ts';
import type { VideoDurationStatisticsStore } from './task-reports.ts';

interface VideoModelsDependencies {
  readonly channels: Pick<ChannelDirectory, 'listModels' | 'model'>;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
  readonly findPlanTerms: FindPlanTerms;
  readonly vendors: VendorRegistry;
  readonly durations: VideoDurationStatisticsStore;
}

type VideoModel = Static<typeof contract.VideoModel>;

/** Describes the video models a caller may use, with everything a request to them may contain. */
export class VideoModels {
  readonly #dependencies: VideoModelsDependencies;
  constructor(dependencies: VideoModelsDependencies) {
    this.#dependencies = dependencies;
  }

  async list(caller: ModelCaller): Promise<VideoModel[]> {
    return this.#describe(await this.#permitted(caller));
  }

  /** @throws AppError `model_not_found`, also for a model the caller may not use */
  async get(caller: ModelCaller, id: string): Promise<VideoModel> {
    const found = (await this.#permitted(caller)).filter((model) => model.id === id);
    const [model] = await this.#describe(found);
    if (model === undefined) throw new AppError('model_not_found', { params: { model: id }, param: 'model' });
    return model;
  }

  async #permitted({ userId, models: named }: ModelCaller): Promise<readonly ResolvedModel[]> {
    const { allowances, findPlanTerms, channels } = this.#dependencies;
    const [permitted, terms] = await Promise.all([allowances.permittedModels(userId), findPlanTerms(userId)]);
    const ids = (await channels.listModels(terms?.channels))
      .filter(({ id, kind }) => kind === 'video' && (named.length === 0 || named.includes(id)))
      .filter(({ id }) => permitted?.has(id) !== false)
      .map(({ id }) => id);
    const models = await Promise.all(ids.map((id) => channels.model(id)));
    return models.filter((model) => model !== undefined);
  }

  async #describe(models: readonly ResolvedModel[]): Promise<VideoModel[]> {
    const { durations, vendors } = this.#dependencies;
    const times = await durations.read(models.map(({ id }) => id));
    return models.map((model) => {
      const median = times.find((each) => each.model === model.id)?.p50_seconds;
      return toVideoModel(model, vendors, median ?? null);
    });
  }
}

function toVideoModel(model: ResolvedModel, vendors: VendorRegistry, typicalSeconds: number | null): VideoModel {
  const { id, vendor, target, price, retirement, inputSchema } = model;
  const adapter = vendors.get(vendor);
  const capability = vendors.capability(vendor, target);
  const ways = capability?.ways ?? adapter.unlistedWays(target);
  return {
    id,
    object: 'video.model',
    vendor,
    title: capability?.title ?? id,
    inputs: toInputs(ways),
    seconds: capability === undefined ? {} : toSeconds(capability),
    resolutions: [...(capability?.resolutions ?? [])],
    ratios: [...(capability?.ratios ?? [])],
    sizes: [...(capability?.sizes ?? [])],
    modes: [...(capability?.modes ?? [])],
    audio: capability?.audio ?? false,
    operations: [...operationsOf(ways), ...(adapter.remix ? (['remix'] as const) : [])],
    parameters: toParameters(id, capability ?? { ways }, adapter, inputSchema),
    price,
    typical_seconds: typicalSeconds,
    lifecycle: {
      stage: retirement === undefined ? 'active' : 'retiring',
      retires_on: retirement === undefined ? null : new Date(retirement.at).toISOString().slice(0, 10),
    },
  };
}

const toInputs = (ways: readonly GenerationWay[]): VideoModel['inputs'] =>
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
