import type { IncomingHttpHeaders } from 'node:http';
import { toSeconds } from '../../contract/time-units.ts';
import type { Retirement } from '../channels/directory.ts';
import { invalidRequest } from '../platform/app-error.ts';

/** The models a token may call, as the clients of each dialect list them. */
export interface CallableModel {
  readonly id: string;
  readonly vendor: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

const MAX_PAGE = 1_000;
const ANTHROPIC_PAGE = 20;
const GEMINI_PAGE = 50;

/** Anthropic's clients send the version of their API with every request. */
export const isAnthropicClient = (headers: IncomingHttpHeaders): boolean => headers['anthropic-version'] !== undefined;

/** Google's clients send the key in a header of its own, or in the query. */
export const isGeminiClient = (headers: IncomingHttpHeaders): boolean => headers['x-goog-api-key'] !== undefined;

export const toOpenAiModel = ({ id, vendor, createdAt }: CallableModel) => ({
  id,
  object: 'model' as const,
  created: toSeconds(createdAt),
  owned_by: vendor,
});

const toTime = (ms: number): string => new Date(ms).toISOString();

/** docs.claude.com/en/api/models-list */
export const toAnthropicModel = ({ id, createdAt }: CallableModel, retirement: Retirement | undefined): object => ({
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

/** ai.google.dev/api/models */
export const toGeminiModel = ({ id }: CallableModel) => ({
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

/** @throws AppError `invalid_request` */
export function pageOfAnthropic<Entry extends { readonly id: string }>(
  all: readonly Entry[],
  query: { readonly limit?: string; readonly before_id?: string; readonly after_id?: string },
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
export function pageOfGemini<Entry extends { readonly id: string }>(
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
