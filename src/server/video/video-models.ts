import type { Static, TSchema } from 'typebox';
import {
  fits,
  type GenerationWay,
  type InputRule,
  inputRules,
  isRatioOffered,
  operationsOf,
  type VideoOperation,
} from '../../contract/generation-ways.ts';
import type { Localized } from '../../contract/messages/format-message.ts';
import { defined } from '../../contract/objects.ts';
import { minimumVideoPrice, type VideoPrice } from '../../contract/pricing.ts';
import type * as contract from '../../contract/video.ts';
import type { ChannelDirectory, ResolvedModel } from '../channels/directory.ts';
import type { FindPlanTerms } from '../plans/plan-store.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Live } from '../platform/config.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import type { Allowances } from '../quota/ledger.ts';
import type { ModelCapability, VendorAdapter } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import type { DurationStatistics } from './task-reports.ts';

interface VideoModelsDependencies {
  readonly channels: Pick<ChannelDirectory, 'listModels' | 'model'>;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
  readonly findPlanTerms: FindPlanTerms;
  readonly vendors: VendorRegistry;
  readonly durations: DurationStatistics;
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

type Schema = Readonly<Record<string, unknown>>;

/** A model as described by its vendor's table; an unlisted model only has ways. */
type Described = Pick<ModelCapability, 'ways'> & Partial<ModelCapability>;

/**
 * JSON Schema of a request for one model. Its `anyOf` lists the ways of using the model: what may be combined with
 * which inputs. A body without `inputs` and `operation` that has images in the older fields is not described.
 */
export function toParameters(
  id: string,
  capability: Described,
  adapter: Pick<VendorAdapter, 'metadata' | 'formFields'>,
  inputSchema: TSchema | undefined,
): Schema {
  const { ways, modes = [], sizes = [], resolutions = [] } = capability;
  const lengths = isListed(capability)
    ? secondsSchema([...new Set(ways.flatMap((way) => secondsOf(way, capability)))])
    : undefined;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    required: ['model'],
    properties: defined({
      model: { const: id },
      prompt: { type: 'string' },
      metadata: adapter.metadata,
      ...((inputSchema as { readonly properties?: object } | undefined)?.properties ?? {}),
      seconds: lengths,
      duration: lengths,
      size:
        sizes.length + resolutions.length === 0 ? undefined : { type: 'string', examples: sizesOf(resolutions, sizes) },
      mode: modes.length === 0 ? undefined : { enum: modes },
      operation: { enum: operationsOf(ways) },
      inputs: { type: 'array', items: INPUT },
    }),
    anyOf: ways.map((way) => toWaySchema(way, capability, adapter)),
  };
}

const isListed = (capability: Described): capability is ModelCapability => capability.seconds !== undefined;

const INPUT: Schema = {
  type: 'object',
  required: ['type'],
  properties: {
    type: { enum: ['image', 'video', 'audio'] },
    role: { type: 'string' },
    url: { type: 'string' },
    file_id: { type: 'string' },
    data: { type: 'string' },
    at: { type: 'number', minimum: 0 },
    name: { type: 'string' },
  },
};

/** Resolutions first: each is a value of `size`. */
const sizesOf = (resolutions: readonly string[], sizes: readonly string[]): readonly string[] => [
  ...new Set([...resolutions, ...sizes]),
];

/** Whole seconds, as a number or as OpenAI's clients write them. */
const secondsSchema = (values: readonly number[]): Schema => ({ enum: [...values, ...values.map(String)] });

/** Every length a model offers. */
export function allSeconds({ seconds }: Pick<ModelCapability, 'seconds'>): readonly number[] {
  if ('values' in seconds) return seconds.values;
  return Array.from({ length: seconds.max - seconds.min + 1 }, (_, index) => seconds.min + index);
}

/** Lengths of one way. */
export const secondsOf = (way: GenerationWay, capability: ModelCapability): readonly number[] =>
  way.seconds ?? allSeconds(capability);

function toWaySchema(way: GenerationWay, capability: Described, adapter: Pick<VendorAdapter, 'formFields'>): Schema {
  const lengths = isListed(capability) ? secondsOf(way, capability) : undefined;
  const length = lengths?.length === 0 ? false : lengths && secondsSchema(lengths);
  const needsInputs = way.inputs.some(({ min }) => min > 0);
  return defined({
    required: [...(way.operation === 'generate' ? [] : ['operation']), ...(needsInputs ? ['inputs'] : [])],
    properties: defined({
      operation: { const: way.operation },
      seconds: length,
      duration: length,
      size: isListed(capability) ? sizeSchema(way, capability) : undefined,
      metadata: isListed(capability) ? ratioSchema(way, capability, adapter) : undefined,
      inputs: inputsSchema(way),
    }),
  });
}

/**
 * Inputs that determine the ratio leave the resolutions; otherwise what other ways have and this one has not is
 * excluded.
 */
function sizeSchema(way: GenerationWay, { resolutions, sizes }: ModelCapability): Schema | false | undefined {
  const named = way.resolutions ?? resolutions;
  // Some vendors list their resolutions as sizes too.
  const exact = (way.sizes ?? sizes)
    .filter((each) => !resolutions.includes(each) || named.includes(each))
    .filter((each) => isRatioOffered(way, each));
  const offered = [...named, ...exact];
  if (way.ratios?.length === 0) return offered.length === 0 ? false : { enum: sizesOf(offered, []) };
  const missing = [...resolutions, ...sizes].filter((each) => !offered.includes(each));
  return missing.length === 0 ? undefined : { not: { enum: missing } };
}

/** The values of the vendor's own field for the ratio, which `metadata` holds. */
function ratioSchema(
  way: GenerationWay,
  { ratios }: ModelCapability,
  { formFields }: Pick<VendorAdapter, 'formFields'>,
): Schema | undefined {
  const field = ratioField(formFields);
  if (field === undefined) return undefined;
  const offered = way.ratios ?? ratios;
  return { properties: { [field]: offered.length === 0 ? false : { enum: offered } } };
}

/** The member of `metadata` that holds the ratio; undefined if the vendor has none. */
export const ratioField = ({ ratio }: VendorAdapter['formFields']): string | undefined =>
  ratio?.startsWith('metadata.') ? ratio.slice('metadata.'.length) : undefined;

const kindSchema = ({ type, role }: InputRule): Schema => ({
  required: ['type', 'role'],
  properties: { type: { const: type }, role: { const: role } },
});

function inputsSchema({ inputs, maxInputs }: GenerationWay): Schema {
  if (inputs.length === 0) return { maxItems: 0 };
  return defined({
    maxItems: maxInputs ?? inputs.reduce((sum, { max }) => sum + max, 0),
    items: { anyOf: inputs.map(kindSchema) },
    allOf: inputs.map((rule) => ({ contains: kindSchema(rule), minContains: rule.min, maxContains: rule.max })),
  });
}

interface ModelChoiceDependencies {
  readonly channels: Pick<ChannelDirectory, 'model' | 'listModels'>;
  readonly vendors: VendorRegistry;
  /** Its setting `DEFAULT_VIDEO_MODEL`; undefined: the cheapest. */
  readonly site: Live<{ readonly defaultVideoModel: string | undefined }>;
}

/** Chooses models for requests that name none, and names those that can do what a model cannot. */
export class ModelChoice {
  readonly #dependencies: ModelChoiceDependencies;
  constructor(dependencies: ModelChoiceDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The model of a request without one: the site's, otherwise the cheapest that makes videos from text and is not about
   * to end.
   * @throws AppError `invalid_request` if there is none
   */
  async defaultModel({ models: permitted }: Pick<ModelCaller, 'models'>): Promise<string> {
    const { channels, vendors, site } = this.#dependencies;
    const { defaultVideoModel } = site.current();
    if (defaultVideoModel !== undefined) return defaultVideoModel;
    const candidates = (await channels.listModels()).filter(
      ({ id, kind }) => kind === 'video' && (permitted.length === 0 || permitted.includes(id)),
    );
    const priced = await Promise.all(
      candidates.map(async ({ id }) => {
        const model = await channels.model(id);
        if (model === undefined || model.retirement !== undefined || model.isSubstitute === true) return undefined;
        const capability = vendors.capability(model.vendor, model.target);
        if (capability?.ways.some((way) => way.operation === 'generate' && fits(way, [])) === false) return undefined;
        const seconds = capability?.seconds.default ?? USUAL_SECONDS;
        return { id, price: minimumVideoPrice(model.price as VideoPrice, seconds) };
      }),
    );
    const [cheapest] = priced
      .filter((each) => each !== undefined)
      .toSorted((one, other) => one.price - other.price || (one.id < other.id ? -1 : 1));
    if (cheapest === undefined) throw invalidRequest('model is required.', 'model');
    return cheapest.id;
  }

  /**
   * Refuses an operation the model does not have; a model this service does not describe may have every one.
   * @throws AppError with the models that can
   */
  async assertOffers(
    operation: VideoOperation,
    { model, capability }: { readonly model: string; readonly capability: Pick<ModelCapability, 'ways'> | undefined },
  ): Promise<void> {
    if (capability === undefined || capability.ways.some((way) => way.operation === operation)) return;
    throw await this.refusal(operation, {
      en: `${model} cannot ${operation} videos.`,
      'zh-CN': `${model} 不支持此操作（${operation}）。`,
    });
  }

  /** The error of a request whose model cannot do the operation, or that names no model. */
  async refusal(operation: VideoOperation, why: Localized = NO_MODEL): Promise<AppError> {
    const { channels, vendors } = this.#dependencies;
    const models = await Promise.all((await channels.listModels()).map(({ id }) => channels.model(id)));
    const able = models.flatMap((model) => {
      const ways = model === undefined ? [] : (vendors.capability(model.vendor, model.target)?.ways ?? []);
      return model !== undefined && ways.some((way) => way.operation === operation) ? [model.id] : [];
    });
    const list = able.join(', ');
    return invalidRequest(
      {
        en: `${why.en} Models that can ${operation}: ${list || 'none'}.`,
        'zh-CN': `${why['zh-CN']}支持 ${operation} 的模型：${list || '无'}。`,
      },
      'model',
    );
  }
}

const NO_MODEL: Localized = {
  en: 'model is required: the source names none.',
  'zh-CN': '须填写 model：来源没有对应的模型。',
};

/** Length by which models without a known default are compared. */
const USUAL_SECONDS = 5;
