import { sql } from 'kysely';
import { NO_PACKAGE } from '../../contract/plans.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Migration } from '../platform/db/migrate.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import { hasConcurrentWriters } from '../platform/db/sql.ts';
import type { Tables } from '../tables.ts';
import {
  assertAmount,
  type CallDetail,
  type CallWork,
  type CallWorkOutcome,
  type ClosedCall,
  type Settlement,
  type SettlementListener,
} from './ledger.ts';

interface PostgresCallChargesDependencies {
  readonly store: CallChargeStore;
  readonly clock: Clock;
  /** Wallet balance in quota below which the owner must be notified, which needs a transaction; 0: never. */
  readonly noticeBelow: () => number;
  readonly onSettled: SettlementListener;
  /** The row of the request log; undefined: calls are not logged. */
  readonly toLogRow: ((closed: ClosedCall, now: number) => object) | undefined;
}

const OUTCOMES: Readonly<Record<string, CallWorkOutcome>> = { d: 'done', e: 'done', b: 'busy', a: 'apart' };
const NO_TOKEN_USAGE = { promptTokens: 0, completionTokens: 0 };

/** Reserves and settles many model calls in one PostgreSQL statement (`charge_calls`, see the end of this file). */
export class PostgresCallCharges {
  readonly #dependencies: PostgresCallChargesDependencies;

  constructor(dependencies: PostgresCallChargesDependencies) {
    this.#dependencies = dependencies;
  }

  /** @param waitMs longest wait for rows locked by others; 0: no limit, for work of a single account and token */
  async charge(work: readonly CallWork[], waitMs: number): Promise<readonly CallWorkOutcome[]> {
    const { store, clock, noticeBelow, onSettled, toLogRow } = this.#dependencies;
    const now = clock.now();
    const batch = new Batch();
    for (const [n, each] of work.entries()) {
      if ('reservation' in each) batch.addReservation(n, each.reservation);
      else batch.addEnd(n, each, now, toLogRow);
    }
    const letters = await store.charge({
      reservations: JSON.stringify(batch.reservations),
      ends: JSON.stringify(batch.ends),
      log: JSON.stringify(batch.log),
      users: toArray(batch.users),
      tokens: toArray(batch.tokens),
      at: now,
      noticeBelow: noticeBelow(),
      waitMs,
    });
    let next = 0;
    const counts = { settle: 0, refund: 0 };
    const outcomes = work.map((each, n): CallWorkOutcome => {
      if (batch.apart.has(n)) return 'apart';
      const letter = letters[next++] ?? '';
      if (letter === 'd' && 'settlement' in each) counts[each.settlement.cost === undefined ? 'refund' : 'settle']++;
      return OUTCOMES[letter] ?? 'apart';
    });
    for (const kind of ['settle', 'refund'] as const) if (counts[kind] > 0) onSettled(kind, counts[kind]);
    return outcomes;
  }
}

const toArray = (numbers: ReadonlySet<number>): string => `{${[...numbers].join(',')}}`;

/** Collects the arguments of one call of the function. */
class Batch {
  readonly reservations: object[] = [];
  readonly ends: object[] = [];
  readonly log: object[] = [];
  readonly users = new Set<number>();
  readonly tokens = new Set<number>();
  /** Positions of the calls that the function cannot handle. */
  readonly apart = new Set<number>();
  readonly #refs = new Set<string>();

  addReservation(
    n: number,
    { ref, userId, tokenId, model, amount }: Extract<CallWork, { reservation: unknown }>['reservation'],
  ): void {
    assertAmount(amount);
    this.#addPayer(userId, tokenId);
    this.#refs.add(ref);
    this.reservations.push({ n, ref, user_id: userId, token_id: tokenId ?? null, model, amount });
  }

  addEnd(
    n: number,
    { settlement, payer }: Extract<CallWork, { settlement: unknown }>,
    now: number,
    toLogRow: PostgresCallChargesDependencies['toLogRow'],
  ): void {
    const { ref, cost, usage = NO_TOKEN_USAGE, detail } = settlement;
    for (const amount of [cost ?? 0, usage.promptTokens, usage.completionTokens]) assertAmount(amount);
    // Without details, the log entry of a call is built from its reservation, so the settlement needs a transaction. A
    // second settlement of the same call must run after the first.
    if ((toLogRow !== undefined && detail === undefined) || this.#refs.has(ref)) {
      this.apart.add(n);
      return;
    }
    this.#refs.add(ref);
    this.#addPayer(payer.userId, payer.tokenId);
    this.ends.push({
      n,
      ref,
      user_id: payer.userId,
      token_id: payer.tokenId ?? null,
      is_settled: cost === undefined ? 0 : 1,
      cost: cost ?? 0,
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      channel_id: detail?.channelId ?? 0,
    });
    if (toLogRow !== undefined) this.log.push(toLogRow(toClosedCall(settlement, payer, detail), now));
  }

  #addPayer(userId: number, tokenId: number | undefined): void {
    this.users.add(userId);
    if (tokenId !== undefined) this.tokens.add(tokenId);
  }
}

/** The closed call as far as it is known here; the function adds the rest from the reservation. */
const toClosedCall = (
  { ref, cost, usage = NO_TOKEN_USAGE }: Settlement,
  { userId, tokenId }: { readonly userId: number; readonly tokenId?: number },
  detail: CallDetail | undefined,
): ClosedCall => ({
  ref,
  userId,
  tokenId: tokenId ?? null,
  model: '',
  reserved: 0,
  reservedAt: 0,
  charged: 0,
  isSettled: cost !== undefined,
  usage,
  detail,
});

/** Arguments of `charge_calls`: JSON lists, PostgreSQL arrays, Unix milliseconds and quota. */
interface CallBatch {
  readonly reservations: string;
  readonly ends: string;
  readonly log: string;
  readonly users: string;
  readonly tokens: string;
  readonly at: number;
  readonly noticeBelow: number;
  /** Milliseconds; 0: no limit. */
  readonly waitMs: number;
}

const chargeCalls = prepareQuery<Tables, { [K in keyof CallBatch]: CallBatch[K] }>()((db, p) =>
  db.selectNoFrom(
    sql<string | null>`charge_calls(${p('reservations')}::json, ${p('ends')}::json, ${p('log')}::json,
      ${p('users')}::bigint[], ${p('tokens')}::bigint[], ${p('at')}::bigint, ${p('noticeBelow')}::bigint,
      ${p('waitMs')}::integer)`.as('outcomes'),
  ),
);

/** Calls the PostgreSQL function `charge_calls`. */
export class CallChargeStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** @returns one letter per call, see `charge_calls` */
  async charge(batch: CallBatch): Promise<string> {
    return (await chargeCalls.first(this.#database.kysely, { ...batch }))?.outcomes ?? '';
  }
}

/**
 * PostgreSQL: `charge_calls` reserves and settles model calls of many accounts in one statement, which costs one round
 * trip, one commit, and one lock per wallet. It does the work of `Reserver` and `Settler` for the simple case: the
 * wallet alone pays, the wallet and the key's limit cover the full amount, nothing is charged beyond its reservation,
 * and no notice is due. If that does not hold for an account or key, all of its calls are left undone, for a
 * transaction of their own.
 *
 * It is a function because each of its statements has its own snapshot ("Function Volatility Categories" in the
 * PostgreSQL manual): limits are read after the lock that keeps others from setting them (`locked_token_limit`). Its
 * settings prevent plans that read a whole table, which the planner prefers while tables are new and keeps after they
 * have grown.
 *
 * It waits for rows locked by others for at most `wait_ms` (0: no limit), in the order of all transactions (tokens,
 * then wallets), so that no deadlock is possible. Rows still locked after that are skipped, so that one blocked account
 * does not block the others.
 *
 * Returns one letter per call in the order of `n`: d = done, e = already settled, b = busy (locked by others), a =
 * apart (not simple).
 */
const CHARGE_CALLS = `
create function charge_calls(
  reservations_json json, ends_json json, log_json json,
  users bigint[], tokens bigint[], at bigint, notice_below bigint, wait_ms integer
) returns text
language plpgsql volatile
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  free_tokens bigint[];
  usual_timeout text := current_setting('lock_timeout');
  refs text[] := array(select ref from json_to_recordset(ends_json) as e(ref text));
  no_plan_is_plain boolean := not exists (
    select from plans where package_code = '${NO_PACKAGE}' and (models <> '[]' or
      case when refresh_interval_seconds > 0 then interval_quota else daily_quota end > 0));
  outcomes text;
begin
  begin
    perform set_config('lock_timeout', wait_ms::text, true);
    perform pg_advisory_xact_lock_shared(1, (token % 2147483648)::integer) from unnest(tokens) as token;
    perform from token_limits where token_id = any(tokens) order by token_id for update;
    perform from wallets where user_id = any(users) order by user_id for update;
  exception when lock_not_available then
    null; -- What was locked by then is free again.
  end;
  perform set_config('lock_timeout', usual_timeout, true);
  free_tokens := array(
    select token from unnest(tokens) as token where pg_try_advisory_xact_lock_shared(1, (token % 2147483648)::integer));
  with
  -- What is asked for.
  asked as materialized (
    select * from json_to_recordset(reservations_json)
      as r(n int, ref text, user_id bigint, token_id bigint, model text, amount bigint)),
  ends as materialized (
    select * from json_to_recordset(ends_json) as e(n int, ref text, user_id bigint, token_id bigint, is_settled int,
      cost bigint, prompt_tokens bigint, completion_tokens bigint, channel_id bigint)),
  -- What is there, locked as far as it is free.
  limits as materialized (
    select token_id, used, quota_limit from token_limits where token_id = any(free_tokens) for update skip locked),
  purses as materialized (
    select user_id, balance from wallets where user_id = any(users) for update skip locked),
  open as materialized (
    select * from reservations where ref = any(refs) for update skip locked),
  keys as materialized (
    select token as token_id from unnest(free_tokens) as token
    where token in (select token_id from limits)
      or token not in (select token_id from token_limits where token_id = any(free_tokens))),
  -- What is done of it.
  ended as materialized (
    select e.n, e.is_settled, e.cost, e.prompt_tokens, e.completion_tokens, e.channel_id,
      o.ref, o.user_id, o.token_id, o.model, o.amount
    from ends e join open o on o.ref = e.ref and o.user_id = e.user_id and o.token_id is not distinct from e.token_id
      join purses p on p.user_id = o.user_id left join keys k on k.token_id = o.token_id
    where o.plan_amount = 0 and e.cost <= o.amount and (o.token_id is null or k.token_id is not null)),
  simple as materialized (
    select a.* from asked a join purses p on p.user_id = a.user_id left join keys k on k.token_id = a.token_id
    where no_plan_is_plain and (a.token_id is null or k.token_id is not null) and not exists (
      select from subscriptions s where s.user_id = a.user_id and s.state in ('active', 'waiting'))),
  exhausted_keys as materialized (
    select l.token_id from limits l join simple s on s.token_id = l.token_id
    group by l.token_id, l.used, l.quota_limit
    having l.used + sum(s.amount) - coalesce(
      (select sum(amount - cost) from ended d where d.token_id = l.token_id), 0) > l.quota_limit),
  payable as materialized (
    select * from simple where token_id is null or token_id not in (select token_id from exhausted_keys)),
  exhausted_purses as materialized (
    select p.user_id from purses p join payable a on a.user_id = p.user_id
    group by p.user_id, p.balance
    having sum(a.amount) > p.balance + coalesce(
        (select sum(amount - cost) from ended d where d.user_id = p.user_id), 0)
      or (p.balance >= notice_below and p.balance - sum(a.amount) < notice_below and notice_below > 0)),
  reserved as materialized (
    select * from payable where user_id not in (select user_id from exhausted_purses)),
  -- The writes.
  pay as (
    update wallets w set balance = w.balance + c.change, used = w.used + c.charged, requests = w.requests + c.settled
    from (
      select user_id, sum(change)::bigint as change, sum(charged)::bigint as charged, sum(settled)::bigint as settled
      from (
        select user_id, amount - cost as change, cost as charged, is_settled as settled from ended
        union all select user_id, -amount, 0, 0 from reserved) as each
      group by user_id) as c
    where w.user_id = any(users) and w.user_id = c.user_id),
  count_use as (
    update token_limits t set used = t.used + c.change
    from (
      select token_id, sum(change)::bigint as change
      from (select token_id, cost - amount as change from ended union all select token_id, amount from reserved) as each
      group by token_id) as c
    where t.token_id = any(free_tokens) and t.token_id = c.token_id),
  close_reservations as (
    delete from reservations where ref = any(refs) and ref in (select ref from ended)),
  add_reservations as (
    insert into reservations (ref, user_id, token_id, model, amount, plan_amount, plan_slot, created_at)
    select ref, user_id, token_id, model, amount, 0, null, at from reserved),
  add_entries as (
    insert into ledger (user_id, kind, amount, plan_amount, charged, ref, token_id, model, note, created_at)
    select user_id, 'reserve', -amount, 0, 0, ref, token_id, model, null, at from reserved
    union all
    select user_id, case is_settled when 1 then 'settle' else 'refund' end, amount - cost, 0, cost, ref, token_id, model,
      null, at from ended),
  add_usage as (
    insert into usage_daily as u
      (user_id, day, token_id, model, channel_id, requests, quota, prompt_tokens, completion_tokens)
    select user_id, at / 86400000, coalesce(token_id, 0), model, channel_id, count(*), sum(cost), sum(prompt_tokens),
      sum(completion_tokens)
    from ended where is_settled = 1 group by user_id, token_id, model, channel_id
    on conflict (user_id, day, token_id, model, channel_id) do update set
      requests = u.requests + excluded.requests, quota = u.quota + excluded.quota,
      prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = u.completion_tokens + excluded.completion_tokens),
  add_log as (
    insert into requests (ref, user_id, token_id, channel_id, kind, model, served_model, status, error_code, input_tokens,
      cached_tokens, output_tokens, seconds, quota, reserved, duration_ms, first_token_ms, stream, client, price, facts,
      created_at)
    select d.ref, d.user_id, coalesce(d.token_id, 0), l.channel_id, l.kind, d.model, l.served_model, l.status, l.error_code,
      l.input_tokens, l.cached_tokens, l.output_tokens, l.seconds, d.cost, d.amount, l.duration_ms, l.first_token_ms,
      l.stream, l.client, l.price, l.facts, l.created_at
    from json_populate_recordset(null::requests, log_json) as l join ended d on d.ref = l.ref)
  select string_agg(letter, '' order by n) into outcomes from (
    select n, case
      when n in (select n from reserved) then 'd'
      when user_id not in (select user_id from purses) then 'b'
      when token_id is not null and token_id not in (select token_id from keys) then 'b'
      else 'a' end as letter
    from asked
    union all
    select n, case
      when n in (select n from ended) then 'd'
      when ref not in (select ref from reservations where ref = any(refs)) then 'e'
      when ref not in (select ref from open) or user_id not in (select user_id from purses) then 'b'
      when token_id is not null and token_id not in (select token_id from keys) then 'b'
      else 'a' end
    from ends) as each;
  return outcomes;
end
$$`;

/**
 * Runs after the tables of all capabilities it reads and writes. SQLite does without: its single writer has no round
 * trips to save.
 */
export const chargeMigrations: readonly Migration[] = [
  {
    id: '0110-charge-calls',
    up: async (trx) => {
      if (hasConcurrentWriters(trx)) await sql.raw(CHARGE_CALLS).execute(trx);
    },
  },
];
