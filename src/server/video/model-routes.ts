import { listGeminiModels } from '../../contract/chat.ts';
import type { ModelKind } from '../../contract/models.ts';
import { toSeconds } from '../../contract/time.ts';
import * as endpoints from '../../contract/video.ts';
import type { ChannelDirectory } from '../channels/channel-directory.ts';
import { AppError } from '../platform/errors.ts';
import type { ModelCaller } from '../platform/http/caller.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Allowances } from '../quota/ledger.ts';

export interface ModelRouteDependencies {
  readonly channels: Pick<ChannelDirectory, 'listModels'>;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
}

/** The models a token may call, as OpenAI's clients list them. */
export function addModelRoutes(routes: RouteRegistry, { channels, allowances }: ModelRouteDependencies): void {
  const listCallable = async (caller: ModelCaller, kind?: ModelKind) => {
    const permitted = await allowances.permittedModels(caller.userId);
    const isCallable = (id: string): boolean =>
      (caller.models.length === 0 || caller.models.includes(id)) && permitted?.has(id) !== false;
    const models = await channels.listModels();
    return models
      .filter((model) => isCallable(model.id) && (kind === undefined || model.kind === kind))
      .map(({ id, vendor, createdAt }) => ({
        id,
        object: 'model' as const,
        created: toSeconds(createdAt),
        owned_by: vendor,
      }));
  };

  routes.add(endpoints.listModels, async ({ caller }) => ({
    object: 'list' as const,
    data: await listCallable(caller),
  }));
  routes.add(listGeminiModels, async ({ caller }) => ({
    models: (await listCallable(caller, 'chat')).map(({ id }) => ({
      name: `models/${id}`,
      displayName: id,
      supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
    })),
  }));
  routes.add(endpoints.getModel, async ({ caller, params }) => {
    const found = (await listCallable(caller)).find(({ id }) => id === params.model);
    if (found === undefined) throw new AppError('model_not_found', { params: { model: params.model }, param: 'model' });
    return found;
  });
}
