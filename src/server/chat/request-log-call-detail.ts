import { toTokenCallFacts } from '../../contract/price-calls-and-videos.ts';
import type { Price } from '../../contract/pricing.ts';
import type { RequestKind, RequestStatus } from '../../contract/request-kinds-and-statuses.ts';
import type { ChatPrice, TokenFacts } from '../../contract/token-prices-and-cost-calculation.ts';
import type { ResolvedModel } from '../channels/directory.ts';
import { memoizeByObject } from '../platform/cache.ts';
import type { CallDetail } from '../quota/ledger.ts';
import type { ChatRequest } from './chat-request.ts';
import { EMBEDDINGS_DIALECT } from './openai-endpoint-dialects.ts';
import { isPerImagePrice, type PerImagePrice, perImageFacts } from './per-image-price.ts';

/** Where a call comes from and what it is for. */
export interface CallOrigin {
  readonly model: Pick<ResolvedModel, 'target' | 'kind'>;
  /** User-Agent of the caller. */
  readonly client: string;
  /** Of `performance.now()`. */
  readonly begunAt: number;
}

/** How a call ended, as its relay saw it. */
export interface CallEnd {
  readonly status: RequestStatus;
  readonly errorCode?: string | undefined;
  /** 0: it was sent to none. */
  readonly channelId: number;
  readonly firstTokenMs?: number | undefined;
}

const kindOf = ({ dialect }: Pick<ChatRequest, 'dialect'>, { kind }: Pick<ResolvedModel, 'kind'>): RequestKind =>
  kind === 'chat' && dialect === EMBEDDINGS_DIALECT ? 'embeddings' : kind;

/** What the request log keeps. */
export const toCallDetail = (
  request: Pick<ChatRequest, 'dialect' | 'stream'>,
  { model, client, begunAt }: CallOrigin,
  { status, errorCode = '', channelId, firstTokenMs }: CallEnd,
): CallDetail => ({
  kind: kindOf(request, model),
  servedModel: model.target,
  channelId,
  status,
  errorCode,
  cachedTokens: 0,
  seconds: 0,
  durationMs: Math.round(performance.now() - begunAt),
  firstTokenMs: firstTokenMs ?? null,
  stream: request.stream,
  client,
  price: '',
  facts: '',
});

/** Prices are few and their objects live as long as the catalog they are part of. */
export const priceJson = memoizeByObject((price: Price): string => JSON.stringify(price));

/** Price and facts of a call, as they are stored. */
export function toStoredTerms(
  price: ChatPrice | PerImagePrice,
  usage: TokenFacts,
  images: number,
  surcharge: number,
  planFactor: number,
): Pick<CallDetail, 'price' | 'facts'> {
  if (isPerImagePrice(price))
    return { price: priceJson(price.price), facts: JSON.stringify(perImageFacts(price, images, surcharge)) };
  return { price: priceJson(price), facts: JSON.stringify(toTokenCallFacts(usage, surcharge, planFactor)) };
}
