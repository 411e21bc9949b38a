import { type CallFacts, priceCall, toTokenCallFacts, withPlanFactor } from '../../contract/call-pricing.ts';
import { defined } from '../../contract/omit-undefined.ts';
import type { Price, VideoPrice } from '../../contract/pricing.ts';
import type { RequestKind, RequestStatus } from '../../contract/request-kinds.ts';
import { type ChatPrice, priceTokens, type TokenFacts, tokenQuota } from '../../contract/token-pricing.ts';
import type { ResolvedModel } from '../channels/channel-directory.ts';
import type { CallDetail } from '../quota/ledger.ts';
import type { ChatRequest } from './chat-request.ts';
import { EMBEDDINGS } from './openai-dialects.ts';

/** Pictures that are paid by the piece. */
export interface PiecePrice {
  readonly price: VideoPrice;
  /** Size and quality as the price names them. */
  readonly factors: Readonly<Record<string, string>>;
  /** How many are asked for. */
  readonly count: number;
  /** What the plan of the account multiplies prices by. */
  readonly planFactor: number;
}

export const isPiecePrice = (price: ChatPrice | PiecePrice): price is PiecePrice => 'factors' in price;

/** What so many pictures cost by. */
export const pieceFacts = ({ factors, planFactor }: PiecePrice, images: number, surcharge: number): CallFacts =>
  defined({
    ...factors,
    images,
    surcharge: surcharge > 0 ? surcharge : undefined,
    plan_factor: planFactor === 1 ? undefined : planFactor,
  });

/** Cost of the pictures without a surcharge, in whole quota; at most the largest safe integer. */
export function pieceQuota(price: PiecePrice, images: number): number {
  return Math.min(priceCall(price.price, pieceFacts(price, images, 0)).quota, Number.MAX_SAFE_INTEGER);
}

/** Cost of a call by tokens on a plan, without a surcharge, in whole quota. Nearly all plans multiply nothing. */
export const plannedQuota = (price: ChatPrice, usage: TokenFacts, planFactor: number): number =>
  planFactor === 1 ? tokenQuota(price, usage) : withPlanFactor(priceTokens(price, usage), planFactor).quota;

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
  kind === 'chat' && dialect === EMBEDDINGS ? 'embeddings' : kind;

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
const jsonOfPrice = new WeakMap<Price, string>();

export function priceJson(price: Price): string {
  const json = jsonOfPrice.get(price) ?? JSON.stringify(price);
  jsonOfPrice.set(price, json);
  return json;
}

/** Price and facts of a call, as they are stored. */
export function toStoredTerms(
  price: ChatPrice | PiecePrice,
  usage: TokenFacts,
  images: number,
  surcharge: number,
  planFactor: number,
): Pick<CallDetail, 'price' | 'facts'> {
  if (isPiecePrice(price))
    return { price: priceJson(price.price), facts: JSON.stringify(pieceFacts(price, images, surcharge)) };
  return { price: priceJson(price), facts: JSON.stringify(toTokenCallFacts(usage, surcharge, planFactor)) };
}
