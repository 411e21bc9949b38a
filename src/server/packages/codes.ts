import { stringify } from 'csv-stringify/sync';
import { NO_PACKAGE } from '../../contract/packages.ts';
import type { Page } from '../../contract/schemas.ts';
import type { Audit } from '../accounts/audit.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, invalid, notExist } from '../platform/errors.ts';
import { hashToken } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import { type Executor, findCardByCode, lockCard } from './card-store.ts';
import {
  batchExists,
  type CodeFilter,
  findCode,
  insertBatch,
  insertCodes,
  listCodes,
  type ShownCode,
  setCodeEnd,
  voidBatch,
  voidCode,
} from './code-store.ts';
import { makeCode, toHint, toShownCode } from './code-text.ts';
import type { Actor } from './plans.ts';
import { toCodeRow } from './presenter.ts';

export interface BatchWish {
  readonly packageCode?: string | undefined;
  readonly quota?: number | undefined;
  readonly count: number;
  /** Unix milliseconds. */
  readonly expiresAt?: number | undefined;
  readonly note?: string | undefined;
}

/** Redemption codes as administrators make and withdraw them. */
export interface Codes {
  /** Answers the codes, which are stored nowhere. @throws invalid_request, not_exist, package_builtin */
  make(actor: Actor, wish: BatchWish): Promise<{ id: number; codes: string[] }>;
  list(filter: CodeFilter, page: Page): Promise<{ rows: ShownCode[]; total: number }>;
  /** @throws not_exist */
  get(id: number): Promise<ShownCode>;
  /** A table for spreadsheets; no cell is a live formula. */
  export(filter: CodeFilter): Promise<string>;
  /** Changes until when an unused code is good; `null`: for ever. @throws invalid_request, not_exist, code_used, code_expired */
  change(actor: Actor, id: number, expiresAt: number | null | undefined): Promise<void>;
  /** @throws not_exist, code_used, code_expired */
  void(actor: Actor, id: number): Promise<void>;
  /** Answers how many it was in time for. @throws not_exist */
  voidBatch(actor: Actor, batchId: number): Promise<number>;
}

export interface CodeParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly audit: Audit;
}

const EXPORT_ROWS = 10_000;

export function makeCodes({ database, clock, audit }: CodeParts): Codes {
  const { kysely } = database;
  const postgres = database.dialect === 'postgres';

  const assertFuture = (expiresAt: number | null | undefined): void => {
    if (expiresAt != null && expiresAt <= clock.now()) throw invalid('expires_at must be in the future.', 'expires_at');
  };

  /** Locks nothing: what it answers is for the audit log, and the write that follows decides. */
  const existing = async (db: Executor, id: number): Promise<ShownCode> => {
    const row = await findCode(db, id);
    if (row === undefined) throw notExist('redemption code');
    return row;
  };
  const gone = ({ state }: ShownCode) => new AppError(state === 'used' ? 'code_used' : 'code_expired');

  return {
    make: (actor, { packageCode, quota: amount, count, expiresAt, note = '' }) =>
      database.transaction(async (trx) => {
        if ((packageCode === undefined) === (amount === undefined))
          throw invalid('Name either package_code or quota.', 'package_code');
        assertFuture(expiresAt);
        if (packageCode === NO_PACKAGE) throw new AppError('package_builtin');
        const named = packageCode === undefined ? undefined : await findCardByCode(trx, packageCode);
        // Locked, so that it is not removed before its codes are there to be seen.
        const card = named && (await lockCard(trx, postgres, named.id));
        if (packageCode !== undefined && card === undefined) throw notExist('package card');
        const now = clock.now();
        const id = await insertBatch(trx, note, actor.actorId, now);
        const codes = Array.from({ length: count }, makeCode);
        await insertCodes(
          trx,
          codes.map((code) => ({
            batch_id: id,
            hash: hashToken(code),
            hint: toHint(code),
            card_id: card?.id ?? null,
            quota: amount ?? 0,
            expires_at: expiresAt ?? null,
            created_at: now,
          })),
        );
        await audit.record(trx, {
          ...actor,
          action: 'redemption-codes.create',
          target: `redemption-batch:${id}`,
          after: { package_code: packageCode, quota: amount, count, expires_at: expiresAt },
        });
        return { id, codes: codes.map(toShownCode) };
      }),
    list: (filter, { pageSize, offset }) => listCodes(kysely, filter, clock.now(), pageSize, offset),
    get: (id) => existing(kysely, id),
    async export(filter) {
      const now = clock.now();
      const { rows } = await listCodes(kysely, filter, now, EXPORT_ROWS, 0);
      return stringify(
        rows.map((row) => toCodeRow(row, now)),
        { header: true, escape_formulas: true, bom: true, record_delimiter: '\r\n' },
      );
    },
    change: (actor, id, expiresAt) =>
      database.transaction(async (trx) => {
        assertFuture(expiresAt);
        const row = await existing(trx, id);
        if (expiresAt === undefined) return;
        if (!(await setCodeEnd(trx, id, expiresAt))) throw gone((await findCode(trx, id)) ?? row);
        await audit.record(trx, {
          ...actor,
          action: 'redemption-code.update',
          target: `redemption-code:${id}`,
          before: { expires_at: row.expires_at },
          after: { expires_at: expiresAt },
        });
      }),
    void: (actor, id) =>
      database.transaction(async (trx) => {
        const row = await existing(trx, id);
        if (!(await voidCode(trx, id))) throw gone((await findCode(trx, id)) ?? row);
        await audit.record(trx, {
          ...actor,
          action: 'redemption-code.void',
          target: `redemption-code:${id}`,
          before: { state: row.state },
          after: { state: 'voided' },
        });
      }),
    voidBatch: (actor, batchId) =>
      database.transaction(async (trx) => {
        if (!(await batchExists(trx, batchId))) throw notExist('batch');
        const voided = await voidBatch(trx, batchId);
        const target = `redemption-batch:${batchId}`;
        await audit.record(trx, { ...actor, action: 'redemption-codes.void', target, after: { voided } });
        return voided;
      }),
  };
}
