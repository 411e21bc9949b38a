import { fits } from '../../contract/generation-ways.ts';
import type { VideoOperation } from '../../contract/input-roles.ts';
import type { Localized } from '../../contract/messages/format-message.ts';
import { minimumVideoPrice, type VideoPrice } from '../../contract/pricing.ts';
import type { ChannelDirectory } from '../channels/directory.ts';
import { type AppError, invalidRequest } from '../platform/app-error.ts';
import type { Live } from '../platform/config.ts';
import type { ModelCaller } from '../platform/http/request-context.ts';
import type { ModelCapability } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';

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
