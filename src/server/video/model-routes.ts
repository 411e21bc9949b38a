import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { claudeCodeModels } from '../../contract/claude-code.ts';
import type { ModelKind } from '../../contract/model-kinds.ts';
import * as endpoints from '../../contract/models.ts';
import { defined } from '../../contract/objects.ts';
import { toSeconds } from '../../contract/time-units.ts';
import * as videoEndpoints from '../../contract/video.ts';
import type { ChannelDirectory, Retirement } from '../channels/directory.ts';
import type { FindPlanTerms } from '../plans/plan-store.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { ModelCaller, RouteRegistry } from '../platform/http/route-registry.ts';
import type { Allowances } from '../quota/ledger.ts';
import type { VideoModels } from './video-models.ts';

interface ModelRouteDependencies {
  readonly channels: Pick<ChannelDirectory, 'listModels' | 'retirement'>;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
  readonly findPlanTerms: FindPlanTerms;
}

/** Registers the lists of models a token may call, in the formats of OpenAI, Anthropic and Google. */
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

  const listAnthropic = async (caller: ModelCaller, query: AnthropicPageQuery) => {
    const { page, hasMore } = pageOfAnthropic(await listCallable(caller, 'chat'), query);
    const data = await Promise.all(page.map(toAnthropic));
    return { data, first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null, has_more: hasMore };
  };

  routes.add(endpoints.listModels, async ({ caller, query, request, reply }) => {
    if (!isAnthropicClient(request.headers) && isGeminiClient(request.headers))
      return sendAs(reply, await listGemini(caller, query));
    if (!isAnthropicClient(request.headers))
      return { object: 'list' as const, data: (await listCallable(caller)).map(toOpenAiModel) };
    return sendAs(reply, await listAnthropic(caller, query));
  });
  routes.add(claudeCodeModels, async ({ caller, query, reply }) => sendAs(reply, await listAnthropic(caller, query)));
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

/**
 * Sends a body that differs from the endpoint's response schema; Fastify would otherwise strip it down to that schema.
 */
const sendAs = (reply: FastifyReply, body: object): FastifyReply =>
  reply.type('application/json; charset=utf-8').serializer(String).send(JSON.stringify(body));

/** A model a token may call, before it is rendered in a client's dialect. */
interface CallableModel {
  readonly id: string;
  readonly vendor: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

const MAX_PAGE = 1_000;
const ANTHROPIC_PAGE = 20;
const GEMINI_PAGE = 50;

/** Anthropic's clients send their API version with every request. */
const isAnthropicClient = (headers: IncomingHttpHeaders): boolean => headers['anthropic-version'] !== undefined;

/** Google's clients send the key in its own header or in the query. */
const isGeminiClient = (headers: IncomingHttpHeaders): boolean => headers['x-goog-api-key'] !== undefined;

const toOpenAiModel = ({ id, vendor, createdAt }: CallableModel) => ({
  id,
  object: 'model' as const,
  created: toSeconds(createdAt),
  owned_by: vendor,
});

const toTime = (ms: number): string => new Date(ms).toISOString();

/** Source: docs.claude.com/en/api/models-list */
const toAnthropicModel = ({ id, createdAt }: CallableModel, retirement: Retirement | undefined): object => ({
  type: 'model',
  id,
  display_name: id,
  created_at: toTime(createdAt),
  lifecycle: retirement === undefined ? 'active' : 'deprecated',
  deprecated_at: retirement === undefined ? null : toTime(retirement.knownSince),
  retires_at: retirement === undefined ? null : toTime(retirement.at),
  capabilities: null,
  line: null,
  max_input_tokens: null,
  max_tokens: null,
});

/** Source: ai.google.dev/api/models */
const toGeminiModel = ({ id }: CallableModel) => ({
  name: `models/${id}`,
  displayName: id,
  supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
});

function pageSize(text: string | undefined, usual: number, param: string): number {
  if (text === undefined || text === '') return usual;
  const size = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (size < 1 || size > MAX_PAGE) throw invalidRequest(`${param} must be from 1 to ${MAX_PAGE}.`, param);
  return size;
}

interface AnthropicPageQuery {
  readonly limit?: string;
  readonly before_id?: string;
  readonly after_id?: string;
}

/** @throws AppError `invalid_request` */
function pageOfAnthropic<Entry extends { readonly id: string }>(
  all: readonly Entry[],
  query: AnthropicPageQuery,
): { readonly page: readonly Entry[]; readonly hasMore: boolean } {
  const size = pageSize(query.limit, ANTHROPIC_PAGE, 'limit');
  const { before_id: before, after_id: after } = query;
  if (before !== undefined) {
    const end = indexOfId(all, before, 'before_id');
    const start = Math.max(0, end - size);
    return { page: all.slice(start, end), hasMore: start > 0 };
  }
  const start = after === undefined ? 0 : indexOfId(all, after, 'after_id') + 1;
  return { page: all.slice(start, start + size), hasMore: start + size < all.length };
}

/** @throws AppError `invalid_request` */
function pageOfGemini<Entry extends { readonly id: string }>(
  all: readonly Entry[],
  query: { readonly pageSize?: string; readonly pageToken?: string },
): { readonly page: readonly Entry[]; readonly next: string | undefined } {
  const size = pageSize(query.pageSize, GEMINI_PAGE, 'pageSize');
  const last = query.pageToken === undefined ? '' : Buffer.from(query.pageToken, 'base64url').toString('utf8');
  const start = last === '' ? 0 : indexOfId(all, last, 'pageToken') + 1;
  const page = all.slice(start, start + size);
  const end = start + size < all.length ? page.at(-1)?.id : undefined;
  return { page, next: end === undefined ? undefined : Buffer.from(end).toString('base64url') };
}

function indexOfId(all: readonly { readonly id: string }[], id: string, param: string): number {
  const index = all.findIndex((each) => each.id === id);
  if (index === -1) throw invalidRequest(`${param} names no model.`, param);
  return index;
}

/** Registers the list of video models with everything a request to them may contain. */
export function addVideoModelRoutes(routes: RouteRegistry, models: VideoModels): void {
  routes.add(videoEndpoints.listVideoModels, async ({ caller, request, reply }) => {
    const body = { object: 'list' as const, data: await models.list(caller) };
    return unlessKnown(body, request.headers['if-none-match'], reply);
  });
  routes.add(videoEndpoints.getVideoModel, async ({ caller, params: { model: id }, request, reply }) =>
    unlessKnown(await models.get(caller, id), request.headers['if-none-match'], reply),
  );
}

/** Sends 304 to a client that has the same data, by a weak ETag, because it may be sent compressed. */
function unlessKnown<T extends object>(body: T, known: string | undefined, reply: FastifyReply): T | FastifyReply {
  const etag = `W/"${hash('sha256', JSON.stringify(body), 'base64url')}"`;
  reply.headers({ etag, 'cache-control': 'private, no-cache' });
  return known === etag ? reply.status(304).send() : body;
}
