import type { FastifyReply } from 'fastify';
import type { ModelKind } from '../../contract/model-kinds-and-id.ts';
import * as endpoints from '../../contract/model-lists.ts';
import { defined } from '../../contract/omit-undefined.ts';
import type { ChannelDirectory } from '../channels/directory.ts';
import type { FindPlanTerms } from '../plans/catalog.ts';
import { AppError } from '../platform/app-error.ts';
import type { ModelCaller } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Allowances } from '../quota/ledger.ts';
import {
  type CallableModel,
  isAnthropicClient,
  isGeminiClient,
  pageOfAnthropic,
  pageOfGemini,
  toAnthropicModel,
  toGeminiModel,
  toOpenAiModel,
} from './callable-model-list-formats.ts';

export interface ModelRouteDependencies {
  readonly channels: Pick<ChannelDirectory, 'listModels' | 'retirement'>;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
  readonly findPlanTerms: FindPlanTerms;
}

/** The models a token may call, as the clients of OpenAI, Anthropic and Google list them. */
export function addModelRoutes(
  routes: RouteRegistry,
  { channels, allowances, findPlanTerms }: ModelRouteDependencies,
): void {
  const listCallable = async (caller: ModelCaller, kind?: ModelKind): Promise<readonly CallableModel[]> => {
    const [permitted, terms] = await Promise.all([
      allowances.permittedModels(caller.userId),
      findPlanTerms(caller.userId),
    ]);
    const isCallable = (id: string): boolean =>
      (caller.models.length === 0 || caller.models.includes(id)) && permitted?.has(id) !== false;
    const models = await channels.listModels(terms?.channels);
    return models.filter((model) => isCallable(model.id) && (kind === undefined || model.kind === kind));
  };
  const findCallable = async (caller: ModelCaller, id: string, kind?: ModelKind): Promise<CallableModel> => {
    const found = (await listCallable(caller, kind)).find((model) => model.id === id);
    if (found === undefined) throw new AppError('model_not_found', { params: { model: id }, param: 'model' });
    return found;
  };
  const toAnthropic = async (model: CallableModel) => toAnthropicModel(model, await channels.retirement(model.id));

  const listGemini = async (
    caller: ModelCaller,
    query: { readonly pageSize?: string; readonly pageToken?: string },
  ) => {
    const { page, next } = pageOfGemini(await listCallable(caller, 'chat'), query);
    return defined({ models: page.map(toGeminiModel), nextPageToken: next });
  };

  routes.add(endpoints.listModels, async ({ caller, query, request, reply }) => {
    if (!isAnthropicClient(request.headers) && isGeminiClient(request.headers))
      return sendAs(reply, await listGemini(caller, query));
    if (!isAnthropicClient(request.headers))
      return { object: 'list' as const, data: (await listCallable(caller)).map(toOpenAiModel) };
    const { page, hasMore } = pageOfAnthropic(await listCallable(caller, 'chat'), query);
    const data = await Promise.all(page.map(toAnthropic));
    const ids = { first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null };
    return sendAs(reply, { data, ...ids, has_more: hasMore });
  });
  routes.add(endpoints.getModel, async ({ caller, params, request, reply }) => {
    if (isAnthropicClient(request.headers))
      return sendAs(reply, await toAnthropic(await findCallable(caller, params.model, 'chat')));
    if (isGeminiClient(request.headers))
      return sendAs(reply, toGeminiModel(await findCallable(caller, params.model, 'chat')));
    return toOpenAiModel(await findCallable(caller, params.model));
  });
  routes.add(endpoints.listGeminiModels, ({ caller, query }) => listGemini(caller, query));
  routes.add(endpoints.getGeminiModel, async ({ caller, params }) =>
    toGeminiModel(await findCallable(caller, params.model, 'chat')),
  );
}

/** Sends a body of another form than the endpoint's usual one, which would be cut down to that. */
const sendAs = (reply: FastifyReply, body: object): FastifyReply =>
  reply.type('application/json; charset=utf-8').serializer(String).send(JSON.stringify(body));
