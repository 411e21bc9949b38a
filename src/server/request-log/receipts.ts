import type { Static } from 'typebox';
import type { CallFacts, Price } from '../../contract/pricing.ts';
import type { RequestKind } from '../../contract/request-kinds.ts';
import { type Receipt, type ReceiptOutcome, toReceiptLines } from '../../contract/request-log.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { Authorship, FindAuthors } from '../accounts/memberships.ts';
import type { LedgerEntry } from '../quota/ledger-reports.ts';
import type { RequestRow, RequestStore } from './request-log.ts';

/** The data of a video that its receipt needs, whether or not the video has ended. */
export interface ReceiptTask {
  readonly id: string;
  readonly publicId: string;
  readonly servedModel: string;
  /** Undefined for tasks older than stored terms. */
  readonly terms: { readonly price: Price; readonly facts: CallFacts } | undefined;
}

/** Dependencies of {@link ReceiptService}. */
export interface ReceiptDependencies {
  readonly store: Pick<RequestStore, 'findByRef' | 'findByRequestId'>;
  /** The ledger entries of one task or request, oldest first. */
  readonly ledger: { entriesOf(ref: string): Promise<LedgerEntry[]> };
  readonly tasks: { receiptTask(id: string): Promise<ReceiptTask | undefined> };
  readonly findAuthors: FindAuthors;
}

/** The account whose receipts may be read; undefined: any. */
type ReceiptOwner = number | undefined;

/** Builds receipts from the request log and the ledger. Current prices never affect them. */
export class ReceiptService {
  readonly #dependencies: ReceiptDependencies;
  constructor(dependencies: ReceiptDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * @param name a task id, a ledger reference, or a request id
   * @param tokenId restricts the search to calls with this key
   * @returns undefined if this owner has no such call
   */
  async find(name: string, owner: ReceiptOwner, tokenId?: number): Promise<Static<typeof Receipt> | undefined> {
    const { store, ledger, tasks } = this.#dependencies;
    const task = await tasks.receiptTask(name);
    for (const ref of task === undefined ? [name, `req_${name}`] : [task.id]) {
      const before = await ledger.entriesOf(ref);
      const row = await store.findByRef(ref, closingEntry(before)?.created_at);
      // The row and its closing entry are written in one transaction, which may have committed between the two reads.
      const closedMeanwhile = row !== undefined && before.length > 0 && closingEntry(before) === undefined;
      const entries = closedMeanwhile ? await ledger.entriesOf(ref) : before;
      if (isOf(owner, row, entries) && isOfToken(tokenId, row, entries))
        return this.#toReceipt({ ref, row, entries, task });
    }
    // A request id chosen by the caller is part of the reference.
    const row = task === undefined ? await store.findByRequestId(name, owner) : undefined;
    if (row === undefined || !isOfToken(tokenId, row, [])) return undefined;
    return this.#toReceipt({ ref: row.ref, row, entries: await ledger.entriesOf(row.ref), task: undefined });
  }

  async #toReceipt(call: FoundCall): Promise<Static<typeof Receipt>> {
    const authored = call.row ?? call.entries[0];
    const authors = authored && (await this.#dependencies.findAuthors([authored]))(authored);
    return toReceipt(call, authors ?? { submitted_by: '', organization: '' });
  }
}

/** A call or video with its ledger entries, oldest first; at least a row or an entry. */
interface FoundCall {
  readonly ref: string;
  readonly row: RequestRow | undefined;
  readonly entries: readonly LedgerEntry[];
  readonly task: ReceiptTask | undefined;
}

const closingEntry = (entries: readonly LedgerEntry[]): LedgerEntry | undefined =>
  entries.find(({ kind }) => kind === 'settle' || kind === 'refund');

const isOf = (owner: ReceiptOwner, row: RequestRow | undefined, entries: readonly LedgerEntry[]): boolean => {
  const userId = row?.user_id ?? entries[0]?.user_id;
  return userId !== undefined && (owner === undefined || owner === userId);
};

/** An open call has no row yet; the ledger entry names its token. */
const isOfToken = (
  tokenId: number | undefined,
  row: RequestRow | undefined,
  entries: readonly LedgerEntry[],
): boolean => tokenId === undefined || (row?.token_id ?? entries[0]?.token_id) === tokenId;

function toReceipt({ ref, row, entries, task }: FoundCall, authorship: Authorship): Static<typeof Receipt> {
  const [first] = entries;
  const end = closingEntry(entries);
  const reserve = entries.find(({ kind }) => kind === 'reserve');
  const isOpen = row === undefined && end === undefined;
  const reserved = row?.reserved ?? (reserve === undefined ? 0 : -(reserve.amount + reserve.plan_amount));
  const charged = row?.quota ?? end?.charged ?? 0;
  const outcome: ReceiptOutcome = isOpen ? 'open' : end?.kind === 'settle' || charged > 0 ? 'charged' : 'refunded';
  const price = parse<Price>(row?.price) ?? (isOpen ? task?.terms?.price : undefined);
  const facts = parse<CallFacts>(row?.facts) ?? (isOpen ? task?.terms?.facts : undefined) ?? {};
  const kind: RequestKind = row?.kind ?? (task === undefined ? 'chat' : 'video');
  return {
    object: 'receipt',
    ref: task?.publicId ?? ref,
    kind,
    model: row?.model ?? first?.model ?? '',
    served_model: row?.served_model ?? task?.servedModel ?? '',
    created_at: toSeconds(row === undefined ? (first?.created_at ?? 0) : row.created_at - row.duration_ms),
    ended_at: isOpen ? null : toSeconds(end?.created_at ?? row?.created_at ?? 0),
    ...authorship,
    outcome,
    facts,
    price: price ?? null,
    lines: outcome === 'charged' ? toReceiptLines(price, facts, charged) : [],
    reserved,
    charged,
    refunded: isOpen ? 0 : Math.max(0, reserved - charged),
    sources: sourcesOf(entries),
    ledger: entries.map((entry) => ({
      id: entry.id,
      kind: entry.kind,
      quota: entry.amount + entry.plan_amount,
      time: toSeconds(entry.created_at),
    })),
  };
}

const parse = <T>(text: string | undefined): T | undefined => (text ? (JSON.parse(text) as T) : undefined);

/**
 * The amounts paid from each source; while the call is open, the reserved amounts. An allowance that lapsed was not
 * spent on this call.
 */
function sourcesOf(entries: readonly LedgerEntry[]): { kind: 'allowance' | 'wallet'; quota: number }[] {
  const own = entries.filter(({ kind }) => kind !== 'expire');
  const allowance = -own.reduce((sum, { plan_amount }) => sum + plan_amount, 0);
  const wallet = -own.reduce((sum, { amount }) => sum + amount, 0);
  return [
    { kind: 'allowance' as const, quota: allowance },
    { kind: 'wallet' as const, quota: wallet },
  ].filter(({ quota }) => quota !== 0);
}
