import { createDecipheriv } from 'node:crypto';
import { readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { asObject } from '../../contract/objects.ts';
import { toTokenCallFacts } from '../../contract/pricing.ts';
import type { Database } from '../platform/db/database.ts';
import { tryParse } from '../platform/json.ts';
import type { Log } from '../platform/log.ts';
import type { Ledger, Settlement } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import { countUsage, planTokenQuota } from './charge.ts';
import { type Dialect, findDialect, MAX_IMAGE_EVENT_BYTES } from './dialects.ts';
import { EventStream } from './event-stream.ts';
import {
  type CallMeta,
  decodeRecords,
  IV_BYTES,
  type JournalRecord,
  journalHost,
  journalKey,
  KEY_CHECK,
  LIVE_OWNERS,
  RECORD_KIND,
  SEGMENT_MAGIC,
  SEGMENT_NAME,
} from './settlement-journal.ts';

/** The services that recovery uses. */
export interface JournalRecoveryDependencies {
  readonly directory: string | undefined;
  readonly masterKeys: readonly Buffer[];
  readonly database: Database<Tables>;
  readonly quota: Ledger;
  readonly log: Log;
}

/** A process on another host that has not touched its segments for this long is considered dead. */
const STALE_MS = 120_000;

/** A call that was being delivered when its process died. */
interface OpenCall {
  readonly meta: CallMeta;
  readonly body: Buffer;
  text: string;
  events: Buffer[];
}

/**
 * Settles calls that dead processes left in their journals. Each settlement is conditional on its reservation, so
 * recovering a segment twice, or a settlement the database already had, does no harm.
 *
 * @returns the number of settlements
 */
export async function recoverJournals(dependencies: JournalRecoveryDependencies): Promise<number> {
  const { directory, database, quota, log } = dependencies;
  let settled = 0;
  for (const paths of abandonedSegments(directory)) {
    const settlements: Settlement[] = [];
    const closed = new Set<string>();
    const open = new Map<number, OpenCall>();
    const areReadable = paths.map((path) => readSegment(path, dependencies.masterKeys, { settlements, closed, open }));
    for (const call of open.values()) if (!closed.has(call.meta.ref)) settlements.push(await toSettlement(call));
    for (const settlement of settlements) {
      const charged = await database.transaction((trx) => quota.charge(trx, { settlements: [settlement] }));
      if (charged[0] !== undefined) settled++;
    }
    // Segments encrypted with another key are kept, because that key may be configured again.
    for (const [index, path] of paths.entries()) if (areReadable[index]) unlinkIfThere(path);
    if (settlements.length > 0) log.warn({ settlements: settlements.length, settled }, 'settlements of a dead process');
  }
  return settled;
}

/** Abandoned segments, grouped by the process that wrote them, in the order it wrote them. */
function abandonedSegments(directory: string | undefined): string[][] {
  const byOwner = new Map<string, { path: string; number: number }[]>();
  for (const name of directory === undefined ? [] : listIfThere(directory)) {
    const [, host = '', pid = '', started = '', number = ''] = SEGMENT_NAME.exec(name) ?? [];
    const path = join(directory ?? '', name);
    const of = `${host}~${pid}~${started}`;
    if (number === '' || LIVE_OWNERS.has(of) || !isDead(host, Number(pid), path)) continue;
    byOwner.set(of, [...(byOwner.get(of) ?? []), { path, number: Number(number) }]);
  }
  return [...byOwner.values()].map((all) => all.sort((a, b) => a.number - b.number).map(({ path }) => path));
}

function isDead(host: string, pid: number, path: string): boolean {
  const isHere = host === journalHost();
  // The id of a dead process may be ours by now, as is nearly always the case in containers.
  if (isHere && (pid === process.pid || !isAlive(pid))) return true;
  try {
    return Date.now() - statSync(path).mtimeMs > STALE_MS;
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

interface SegmentContents {
  readonly settlements: Settlement[];
  readonly closed: Set<string>;
  readonly open: Map<number, OpenCall>;
}

/** @returns whether one of the keys decrypts the segment */
function readSegment(path: string, masterKeys: readonly Buffer[], into: SegmentContents): boolean {
  const plain = decrypt(readFileSync(path), masterKeys);
  if (plain === undefined) return false;
  for (const record of decodeRecords(plain)) readRecord(record, into);
  return true;
}

function readRecord({ kind, slot, content }: JournalRecord, { settlements, closed, open }: SegmentContents): void {
  if (kind === RECORD_KIND.open) {
    const bodyAt = 4 + content.readUInt32LE(0);
    const meta = JSON.parse(content.toString('utf8', 4, bodyAt)) as CallMeta;
    open.set(slot, { meta, body: content.subarray(bodyAt), text: '', events: [] });
    return;
  }
  const call = open.get(slot);
  if (kind === RECORD_KIND.events) call?.events.push(content);
  if (kind === RECORD_KIND.text && call !== undefined) {
    call.text = content.toString('utf8');
    call.events = [];
  }
  if (kind !== RECORD_KIND.close) return;
  const settlement = JSON.parse(content.toString('utf8')) as Settlement;
  closed.add(settlement.ref);
  settlements.push(settlement);
}

/** Undefined for a file that none of the keys decrypts. */
function decrypt(bytes: Buffer, masterKeys: readonly Buffer[]): Buffer | undefined {
  const start = SEGMENT_MAGIC.length;
  // The process was killed before the first record.
  if (bytes.length < start + IV_BYTES + KEY_CHECK.length) return Buffer.alloc(0);
  if (!bytes.subarray(0, start).equals(SEGMENT_MAGIC)) return undefined;
  for (const masterKey of masterKeys) {
    const iv = bytes.subarray(start, start + IV_BYTES);
    const plain = createDecipheriv('aes-256-ctr', journalKey(masterKey), iv).update(bytes.subarray(start + IV_BYTES));
    if (plain.subarray(0, KEY_CHECK.length).equals(KEY_CHECK)) return plain.subarray(KEY_CHECK.length);
  }
  return undefined;
}

/** Charges delivered text as if the caller had disconnected at that moment; without any text nothing is charged. */
async function toSettlement({ meta, body, text, events }: OpenCall): Promise<Settlement> {
  const dialect = findDialect(meta.path);
  const { ref, detail } = meta;
  const refund = { ref, detail: detail && { ...detail, price: '', facts: '' } };
  if (dialect === undefined) return refund;
  const { delivered, reported } = readEvents(dialect, meta.choiceCount, events);
  const all = text + delivered;
  if (all === '') return refund;
  const result = { usage: reported, complete: false, text: () => all };
  const request = { body: asObject(tryParse(body.toString('utf8'))) ?? {} };
  const counted = await countUsage(request, result, 0);
  const isCounted = reported === undefined && meta.promptTokens > 0;
  const usage = isCounted ? { ...counted, promptTokens: meta.promptTokens } : counted;
  const cost = typeof meta.price === 'number' ? meta.price : planTokenQuota(meta.price, usage, meta.planFactor ?? 1);
  const facts =
    typeof meta.price === 'number'
      ? detail?.facts
      : JSON.stringify(toTokenCallFacts(usage, meta.surcharge, meta.planFactor));
  return {
    ref,
    cost: Math.min(cost + meta.surcharge, Number.MAX_SAFE_INTEGER),
    usage,
    detail: detail && { ...detail, facts: facts ?? '', cachedTokens: usage.parts?.cached_input ?? 0 },
  };
}

function readEvents(dialect: Dialect, choiceCount: number, events: readonly Buffer[]) {
  const stream = new EventStream(dialect, false, choiceCount, MAX_IMAGE_EVENT_BYTES);
  for (const each of events) stream.push(each);
  return { delivered: stream.text(), reported: stream.usage };
}

function listIfThere(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Another process has recovered the segment.
  }
}
