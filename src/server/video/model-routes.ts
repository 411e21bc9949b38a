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
  const listCallable = async (caller: ModelCaller) => {
    const permitted = await allowances.permittedModels(caller.userId);
    const isCallable = (id: string): boolean =>
      (caller.models.length === 0 || caller.models.includes(id)) && permitted?.has(id) !== false;
    const models = await channels.listModels();
    return models
      .filter(({ id }) => isCallable(id))
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
  routes.add(endpoints.getModel, async ({ caller, params }) => {
    const found = (await listCallable(caller)).find(({ id }) => id === params.model);
    if (found === undefined) throw new AppError('model_not_found', { params: { model: params.model }, param: 'model' });
    return found;
  });
}
