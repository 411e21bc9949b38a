import type { ChatPrice } from '../channels/channels.ts';
import { type Ask, pictureTokens, promptOf } from './ask.ts';
import type { Books, Payer } from './books.ts';
import { costOf } from './pricing.ts';
import { countTokens } from './tokenizer.ts';
import type { Usage } from './usage.ts';

/** What came of a call: the upstream's own figures, or the text to count them from. */
export interface Yield {
  readonly usage: Usage | undefined;
  /** The generated text, read only where the figures are missing or cannot be true. */
  text(): string;
  /** Whether the answer came to its end: what an upstream says about a part of one is checked against the part. */
  readonly complete: boolean;
  /** Of what is paid by the piece, how many came; default those asked for. */
  readonly pieces?: number;
}

/** The money of one call: set aside once, ended once. */
export class Charge {
  readonly #books: Books;
  readonly #ask: Ask;
  readonly #ref: string;
  /** By tokens, or a fixed cost for what is made as a whole. */
  readonly #price: ChatPrice | number;
  #payer: Payer = { userId: 0 };
  #over = false;

  constructor(books: Books, ask: Ask, ref: string, price: ChatPrice | number) {
    this.#books = books;
    this.#ask = ask;
    this.#ref = ref;
    this.#price = price;
  }

  async reserve(caller: { readonly userId: number; readonly tokenId: number }, model: string): Promise<void> {
    const { promptTokens, bound } = this.#ask;
    const amount =
      typeof this.#price === 'number' ? this.#price : costOf(this.#price, { promptTokens, completionTokens: bound });
    this.#payer = { userId: caller.userId, tokenId: caller.tokenId };
    await this.#books.reserve({ ref: this.#ref, ...this.#payer, model, amount });
  }

  /** Nothing was generated, or nothing that reached anybody. */
  refund(): void {
    if (this.#over) return;
    this.#over = true;
    this.#books.refund(this.#payer, this.#ref);
  }

  /**
   * Pays for what came. Complete answers go by the upstream's figures; where those are missing, broken or zero although
   * text came, and for streams that were cut, tokens are counted.
   */
  settle(came: Yield): void {
    if (this.#over) return;
    this.#over = true;
    const { usage } = came;
    const makesNoText = typeof this.#price === 'number' || this.#ask.dialect.bounds.length === 0;
    if (usage !== undefined && came.complete && (usage.completionTokens > 0 || makesNoText)) {
      this.#pay(usage, came.pieces);
      return;
    }
    // Where even counting fails nobody knows what to charge.
    this.#books.follow(this.#count(came).catch(() => this.#books.refund(this.#payer, this.#ref)));
  }

  async #count(came: Yield): Promise<void> {
    const prompt = promptOf(this.#ask.body);
    const { usage, complete } = came;
    const counted = await countTokens(came.text());
    this.#pay({
      promptTokens:
        usage?.promptTokens ?? (await countTokens(prompt.text)) + pictureTokens(prompt.pictures) + prompt.tokens,
      completionTokens: complete ? usage?.completionTokens || counted : Math.max(counted, usage?.completionTokens ?? 0),
    });
  }

  #pay(usage: Usage, pieces = 1): void {
    const cost = typeof this.#price === 'number' ? this.#price * pieces : costOf(this.#price, usage);
    this.#books.settle(this.#payer, this.#ref, cost, usage);
  }
}
