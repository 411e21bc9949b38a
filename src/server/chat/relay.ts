import type { ChatPrice, ResolvedModel } from '../channels/channels.ts';
import { AppError, modelNotAllowed } from '../platform/errors.ts';
import type { ModelCaller } from '../platform/http/caller.ts';
import { type Ask, notForChat } from './ask.ts';
import type { Books } from './books.ts';
import { Charge } from './charge.ts';
import type { Client } from './client.ts';
import { CHAT, EMBEDDINGS, IMAGES } from './dialects.ts';
import type { PictureRelay } from './picture-relay.ts';
import { isChatPrice, type PriceOf, pricedSize } from './pricing.ts';
import { Roll } from './roll.ts';
import { Run, type RunParts } from './run.ts';

export interface RelayParts extends Omit<RunParts, 'over'> {
  readonly books: Books;
  readonly priceOf: PriceOf;
  readonly pictures: PictureRelay;
}

const TICK_MS = 1_000;

/** Serves model calls: who may, at which price, over which channel. */
export class Relay {
  readonly #parts: RelayParts;
  readonly #runParts: RunParts;
  readonly #runs = new Roll<Run>();
  readonly #ticker: NodeJS.Timeout;

  constructor(parts: RelayParts) {
    this.#parts = parts;
    this.#runParts = { ...parts, over: (run) => this.#runs.remove(run) };
    this.#ticker = setInterval(
      () => {
        const now = performance.now();
        for (const run of this.#runs) run.tick(now);
      },
      Math.min(TICK_MS, parts.keepAliveMs),
    );
    this.#ticker.unref();
  }

  /**
   * Resolves when the call is on its way; its answer follows through `client`.
   *
   * @throws AppError `model_not_found`, `model_not_allowed`, `quota_not_enough`, `upstream_unavailable` …: nothing is taken
   */
  async serve(caller: ModelCaller, ask: Ask, client: Client): Promise<void> {
    const { channels, books, pictures } = this.#parts;
    const model = await this.#modelFor(caller, ask);
    const candidates = await channels.candidates(model);
    if (candidates.length === 0) throw new AppError('upstream_unavailable');
    const charge = new Charge(books, ask, client.ref, this.#priceOf(model, ask));
    const work = { ask, client, charge, model, candidates };
    if (model.vendor === 'jimeng') return pictures.serve(caller, work);
    await charge.reserve(caller, model.id);
    const run = new Run(this.#runParts, work);
    this.#runs.add(run);
    run.begin();
  }

  /** Every caller is gone by now; what waits for an upstream's last figures does so no longer. */
  close(): void {
    clearInterval(this.#ticker);
    for (const run of this.#runs) run.left(false);
  }

  async #modelFor(caller: ModelCaller, { model: id, dialect }: Ask): Promise<ResolvedModel> {
    const { channels } = this.#parts;
    const model = await channels.model(id);
    if (model === undefined) throw new AppError('model_not_found', { params: { model: id }, param: 'model' });
    if (caller.models.length > 0 && !caller.models.includes(id)) throw modelNotAllowed(id);
    const isPictures = model.vendor === 'jimeng' && model.kind === 'image' && (dialect === CHAT || dialect === IMAGES);
    const isOpenAi =
      model.vendor === 'openai' && model.kind !== 'video' && !(model.kind === 'image' && dialect === EMBEDDINGS);
    if (!isPictures && !isOpenAi) throw notForChat(id, model.kind);
    return model;
  }

  /** Models with a price by tokens are paid by them, pictures by the piece. */
  #priceOf({ price }: ResolvedModel, { body, dialect }: Ask): ChatPrice | number {
    if (isChatPrice(price)) return price;
    const { quality, n } = body;
    const size = pricedSize(price, body.size);
    const factors = {
      ...(size === undefined ? {} : { size }),
      ...(typeof quality === 'string' ? { quality } : {}),
    };
    const count = dialect.hasCopies && typeof n === 'number' ? n : 1;
    return Math.min(this.#parts.priceOf(price, { seconds: 0, factors }) * count, Number.MAX_SAFE_INTEGER);
  }
}
