import { type Selectable, sql } from 'kysely';
import { ENABLED } from '../../contract/account-fields.ts';
import { defined, isObject } from '../../contract/objects.ts';
import { Base64Text } from '../platform/base64.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { RequestInput, VideoRequest } from '../vendors/adapter.ts';
import { inputsOf, mapInputs } from './request-media.ts';

/** A request as it is kept while its video waits: JSON, and the bytes that the JSON refers to by their index. */
export interface HeldRequest {
  readonly json: string;
  readonly parts: readonly Buffer[];
}

/** Only member of an object that stands for bytes, and of one that escapes a caller's object with such a member. */
const MARKS = { bytes: '$bytes', base64: '$base64', escaped: '$escaped' } as const;
const MARK_NAMES: readonly string[] = Object.values(MARKS);

/**
 * Converts a request for storage. The bytes of the account's own files are left out: they are read again by `fileId`
 * when the video starts, because a URL signed now would have expired.
 */
export async function toHeldRequest(request: VideoRequest): Promise<HeldRequest> {
  const parts: Buffer[] = [];
  const keep = (bytes: Buffer): number => parts.push(bytes) - 1;
  const toStored = (value: unknown): unknown => {
    if (Buffer.isBuffer(value)) return { [MARKS.bytes]: keep(value) };
    if (value instanceof Base64Text) return { [MARKS.base64]: [keep(value.bytes), value.prefix] };
    if (Array.isArray(value)) return value.map(toStored);
    if (!isObject(value)) return value;
    const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toStored(inner)]));
    return markOf(value) === undefined ? copy : { [MARKS.escaped]: copy };
  };
  const loaded = new Map<RequestInput, Buffer>();
  for (const input of inputsOf(request))
    if (input.fileId === undefined && 'upload' in input && input.upload !== undefined)
      loaded.set(input, await input.upload.load());
  const withoutFiles = mapInputs(request, (input): RequestInput => {
    const { role, at, fileId } = input;
    if (fileId !== undefined) return defined({ url: '', fileId, role, at });
    const bytes = loaded.get(input);
    const mediaType = 'upload' in input ? input.upload?.mediaType : undefined;
    return bytes === undefined || mediaType === undefined ? input : defined({ bytes, mediaType, role, at });
  });
  return { json: JSON.stringify(toStored(withoutFiles)), parts };
}

/** The request of `toHeldRequest`; inputs with a `fileId` have no content yet. */
export function fromHeldRequest({ json, parts }: HeldRequest): VideoRequest {
  const bytesOf = (index: unknown): Buffer => parts[Number(index)] ?? Buffer.alloc(0);
  const fromStored = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(fromStored);
    if (!isObject(value)) return value;
    const mark = markOf(value);
    const inner = mark === undefined ? undefined : value[mark];
    if (mark === MARKS.bytes) return bytesOf(inner);
    if (mark === MARKS.base64 && Array.isArray(inner)) return new Base64Text(bytesOf(inner[0]), String(inner[1]));
    const plain = mark === MARKS.escaped && isObject(inner) ? inner : value;
    return Object.fromEntries(Object.entries(plain).map(([key, each]) => [key, fromStored(each)]));
  };
  return fromStored(JSON.parse(json)) as VideoRequest;
}

/** The mark that is an object's only member. */
function markOf(value: object): string | undefined {
  const [key, second] = Object.keys(value);
  return second === undefined && key !== undefined && MARK_NAMES.includes(key) ? key : undefined;
}

/** A row of `queued_tasks`. */
export type QueuedTask = Selectable<Tables['queued_tasks']>;

/** The limit that a video waits for; `held` while nothing can start it, whatever is free. */
export type Lane = `key:${number}` | `account:${number}` | `vendor:${string}` | `held:${string}`;

/** Rows of `queue_lanes` that are not lanes. */
const START_LOCK = '';
const SWEEP_TIME = '*';

/** The videos that wait in one lane for the same channels. */
export interface LaneGroup {
  readonly lane: string;
  readonly channels: string;
}

/** A video that begins to wait. */
export interface NewQueuedTask
  extends Pick<
    QueuedTask,
    'task_id' | 'user_id' | 'token_id' | 'vendor' | 'model' | 'channels' | 'level' | 'created_at'
  > {
  readonly lane: Lane;
}

/** How many videos wait, and the bytes their requests take. */
export interface QueueUse {
  readonly count: number;
  readonly bytes: number;
}

/** Queries of waiting videos. */
export class TaskQueueStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The first of these lanes in which a video waits. */
  async findWaiting(lanes: readonly Lane[]): Promise<Lane | undefined> {
    const row = await this.#database.kysely
      .selectFrom('queued_tasks')
      .select('lane')
      .where('lane', 'in', lanes)
      .limit(1)
      .executeTakeFirst();
    return row?.lane as Lane | undefined;
  }

  /**
   * Claims the sweep over all lanes, which one process at a time performs.
   * @returns false if one did within the last `intervalMs`
   */
  async claimSweep(now: number, intervalMs: number): Promise<boolean> {
    return wasChanged(
      await this.#database.kysely
        .insertInto('queue_lanes')
        .values({ lane: SWEEP_TIME, turn: now })
        .onConflict((conflict) =>
          conflict
            .column('lane')
            .doUpdateSet({ turn: now })
            .where((eb) =>
              eb.or([eb('queue_lanes.turn', '<=', now - intervalMs), eb('queue_lanes.turn', '>', now + intervalMs)]),
            ),
        )
        .executeTakeFirst(),
    );
  }

  async isEmpty(): Promise<boolean> {
    return (
      (await this.#database.kysely.selectFrom('queued_tasks').select('id').limit(1).executeTakeFirst()) === undefined
    );
  }

  /** Counts the waiting videos of an account, or of one of its keys. */
  async waitingOf(trx: Trx, userId: number, tokenId?: number): Promise<QueueUse> {
    let query = trx.selectFrom('queued_tasks').where('user_id', '=', userId);
    if (tokenId !== undefined) query = query.where('token_id', '=', tokenId);
    const row = await query
      .select(({ fn }) => [fn.countAll<number>().as('count'), fn.sum<number>('bytes').as('bytes')])
      .executeTakeFirst();
    return { count: Number(row?.count ?? 0), bytes: Number(row?.bytes ?? 0) };
  }

  /**
   * Adds a video to its lane. Its turn is the one after the account's last waiting video, and at least the one after
   * the turn that the lane has reached (start-time fair queueing): of the videos with one turn each account has one, so
   * that no account waits for more than one video of every other.
   */
  async insert(trx: Trx, task: NewQueuedTask, { json, parts }: HeldRequest): Promise<void> {
    const bytes = parts.reduce((sum, part) => sum + part.length, json.length);
    const turn = await this.#nextTurn(trx, task.lane, task.user_id);
    await trx
      .insertInto('queued_tasks')
      .values({ ...task, turn, bytes, not_before: 0 })
      .execute();
    for (const [part, content] of [Buffer.from(json), ...parts].entries())
      await trx.insertInto('queued_requests').values({ task_id: task.task_id, part, content }).execute();
  }

  /** Excludes other videos of the account from waiting until the transaction ends, so that its limit is exact. */
  async lockAccount(trx: Trx, userId: number): Promise<void> {
    await this.#lockLane(trx, `account:${userId}`);
  }

  async #lockLane(trx: Trx, lane: string): Promise<{ readonly turn: number }> {
    return trx
      .insertInto('queue_lanes')
      .values({ lane, turn: 0 })
      .onConflict((conflict) => conflict.column('lane').doUpdateSet({ turn: sql<number>`queue_lanes.turn` }))
      .returning('turn')
      .executeTakeFirstOrThrow();
  }

  async #nextTurn(trx: Trx, lane: string, userId: number): Promise<number> {
    // Of two videos that one account adds at once, each gets its own turn.
    const reached = await this.#lockLane(trx, lane);
    const last = await trx
      .selectFrom('queued_tasks')
      .select(({ fn }) => fn.max('turn').as('turn'))
      .where('user_id', '=', userId)
      .where('lane', '=', lane)
      .executeTakeFirst();
    return Math.max(reached.turn, last?.turn ?? 0) + 1;
  }

  /** All groups, or those of the given lanes. */
  groups(lanes?: readonly Lane[]): Promise<LaneGroup[]> {
    let query = this.#database.kysely.selectFrom('queued_tasks').select(['lane', 'channels']).distinct();
    if (lanes !== undefined) query = query.where('lane', 'in', lanes);
    return query.execute();
  }

  /** The video of a group that starts next. */
  head({ lane, channels }: LaneGroup, now: number, executor: Executor = this.#database.kysely) {
    return inOrder(executor)
      .where('lane', '=', lane)
      .where('channels', '=', channels)
      .where('not_before', '<=', now)
      .limit(1)
      .executeTakeFirst();
  }

  /** Ids of a group's tasks in the order in which they start. */
  async order({ lane, channels }: LaneGroup): Promise<string[]> {
    const rows = await inOrder(this.#database.kysely)
      .where('lane', '=', lane)
      .where('channels', '=', channels)
      .execute();
    return rows.map((row) => row.task_id);
  }

  findAll(taskIds: readonly string[]): Promise<QueuedTask[]> {
    return this.#database.kysely.selectFrom('queued_tasks').selectAll().where('task_id', 'in', taskIds).execute();
  }

  /** Excludes other starts on any process until the transaction ends. Must be its first statement. */
  async lockStarts(trx: Trx): Promise<void> {
    await trx
      .insertInto('queue_lanes')
      .values({ lane: START_LOCK, turn: 1 })
      .onConflict((conflict) => conflict.column('lane').doUpdateSet({ turn: sql<number>`queue_lanes.turn + 1` }))
      .execute();
  }

  /**
   * Takes a video out of its lane, to start it.
   * @returns false if another process was faster
   */
  async take(trx: Trx, { id, lane, turn }: Pick<QueuedTask, 'id' | 'lane' | 'turn'>): Promise<boolean> {
    const taken = wasChanged(await trx.deleteFrom('queued_tasks').where('id', '=', id).executeTakeFirst());
    if (taken) await this.#reach(trx, { lane, turn });
    return taken;
  }

  /**
   * Removes the queue entry and the request of a video that no longer waits. The caller's view may be outdated, so the
   * state decides: a video that is waiting again keeps both, and one that is being sent keeps its request for retries.
   */
  removeEnded(taskId: string): Promise<void> {
    return this.#database.transaction(async (trx) => {
      const unsent = trx.selectFrom('tasks').select('seq').where('id', '=', taskId).where('status', '=', 'NOT_START');
      const ended = await trx
        .deleteFrom('queued_tasks')
        .where('task_id', '=', taskId)
        .where(({ not, exists }) => not(exists(unsent.where('next_poll_at', 'is', null))))
        .returning(['lane', 'turn'])
        .executeTakeFirst();
      if (ended !== undefined) await this.#reach(trx, ended);
      await trx
        .deleteFrom('queued_requests')
        .where('task_id', '=', taskId)
        .where(({ not, exists }) => not(exists(unsent)))
        .execute();
    });
  }

  /** Records the turn that a lane has reached. */
  async #reach(trx: Trx, { lane, turn }: Pick<QueuedTask, 'lane' | 'turn'>): Promise<void> {
    await trx.updateTable('queue_lanes').set({ turn }).where('lane', '=', lane).where('turn', '<', turn).execute();
  }

  /** Puts a video that was taken out back at its position; the vendor had no room for it. */
  async putBack(trx: Trx, task: QueuedTask, notBefore: number): Promise<void> {
    await trx
      .insertInto('queued_tasks')
      .values({ ...task, not_before: notBefore })
      .execute();
  }

  /**
   * Takes a video out of its lane that nothing can start now, with those of its account that need the same, so that no
   * other video waits behind it. A change of one original needs another account of the vendor than that of the next, and
   * is set aside alone.
   */
  async setAside(trx: Trx, task: QueuedTask, notBefore: number): Promise<void> {
    const { id, lane, channels, user_id: userId, model, vendor } = task;
    const query = trx
      .updateTable('queued_tasks')
      .set({ lane: `held:${vendor}` satisfies Lane, not_before: notBefore })
      .where('not_before', '<', notBefore);
    const withSameNeeds = query
      .where('lane', '=', lane)
      .where('channels', '=', channels)
      .where('user_id', '=', userId)
      .where('model', '=', model);
    await (channels.startsWith('=') ? query.where('id', '=', id) : withSameNeeds).execute();
  }

  /** State of a task's account and of the key that submitted it. A closed organization counts as disabled. */
  async callerState(
    task: Pick<QueuedTask, 'user_id' | 'token_id'>,
  ): Promise<'enabled' | 'disabled' | 'deleted' | 'revoked'> {
    const caller = await this.#database.kysely
      .selectFrom('accounts')
      .leftJoin('tokens', (join) => join.on('tokens.id', '=', task.token_id))
      .select(['accounts.status', 'accounts.removed_at', 'tokens.revoked_at'])
      .where('accounts.id', '=', task.user_id)
      .executeTakeFirst();
    if (caller === undefined || caller.removed_at !== null) return 'deleted';
    if (caller.revoked_at !== null) return 'revoked';
    return caller.status === ENABLED ? 'enabled' : 'disabled';
  }

  async hasRequest(trx: Trx, taskId: string): Promise<boolean> {
    const part = await trx
      .selectFrom('queued_requests')
      .select('part')
      .where('task_id', '=', taskId)
      .limit(1)
      .executeTakeFirst();
    return part !== undefined;
  }

  /** Puts a video whose submit was lost first in its lane. */
  async putFirst(trx: Trx, task: Omit<NewQueuedTask, 'level'>): Promise<void> {
    const parts = await trx
      .selectFrom('queued_requests')
      .select('content')
      .where('task_id', '=', task.task_id)
      .execute();
    const bytes = parts.reduce((sum, { content }) => sum + content.length, 0);
    await trx
      .insertInto('queued_tasks')
      .values({ ...task, level: 0, turn: 0, bytes, not_before: 0 })
      .execute();
  }

  /** Moves a video to the lane of the limit it now waits for; within a lane it keeps its turn. */
  async move(trx: Trx, task: QueuedTask, lane: Lane, channels: string): Promise<void> {
    const { id, user_id: userId } = task;
    const turn = task.lane === lane ? task.turn : await this.#nextTurn(trx, lane, userId);
    await trx.updateTable('queued_tasks').set({ lane, channels, turn }).where('id', '=', id).execute();
  }

  async readRequest(taskId: string): Promise<HeldRequest | undefined> {
    const rows = await this.#database.kysely
      .selectFrom('queued_requests')
      .select('content')
      .where('task_id', '=', taskId)
      .orderBy('part')
      .execute();
    const [json, ...parts] = rows.map(({ content }) => Buffer.from(content));
    return json === undefined ? undefined : { json: json.toString(), parts };
  }

  async deleteRequest(taskId: string, executor: Executor = this.#database.kysely): Promise<void> {
    await executor.deleteFrom('queued_requests').where('task_id', '=', taskId).execute();
  }

  /** Deletes leftovers of killed processes: requests of tasks that no longer wait, and empty lanes. */
  async deleteLeftovers(): Promise<void> {
    const { kysely } = this.#database;
    await kysely
      .deleteFrom('queued_requests')
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('tasks')
              .select('seq')
              .whereRef('tasks.id', '=', 'queued_requests.task_id')
              .where('tasks.status', '=', 'NOT_START'),
          ),
        ),
      )
      .execute();
    await kysely
      .deleteFrom('queue_lanes')
      .where('lane', 'not in', [START_LOCK, SWEEP_TIME])
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('queued_tasks').select('id').whereRef('queued_tasks.lane', '=', 'queue_lanes.lane'))),
      )
      .execute();
  }

  /** Tasks that have waited since before a time, the longest first. */
  async waitingSince(time: number, limit: number): Promise<string[]> {
    const rows = await this.#database.kysely
      .selectFrom('queued_tasks')
      .select('task_id')
      .where('created_at', '<', time)
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows.map((row) => row.task_id);
  }

  /**
   * Tasks from before a time that wait with a reservation but in no lane, so that nothing would ever start or end them.
   * Releases before migration 0122 could lose the place of a video.
   */
  async withoutPlace(time: number, limit: number): Promise<string[]> {
    const rows = await this.#database.kysely
      .selectFrom('reservations')
      .innerJoin('tasks', 'tasks.id', 'reservations.ref')
      .select('tasks.id')
      .where('reservations.created_at', '<', time)
      .where('tasks.status', '=', 'NOT_START')
      .where('tasks.next_poll_at', 'is', null)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('queued_tasks').select('id').whereRef('queued_tasks.task_id', '=', 'tasks.id'))),
      )
      .limit(limit)
      .execute();
    return rows.map(({ id }) => id);
  }

  /** Waiting videos by vendor, for the metrics. */
  countByVendor() {
    return this.#database.kysely
      .selectFrom('queued_tasks')
      .select(({ fn }) => ['vendor', fn.countAll<number>().as('count'), fn.min('created_at').as('oldest')])
      .groupBy('vendor')
      .execute();
  }

  /** Waiting videos by model, kind of lane and channels, the longest wait first. */
  async countByModel() {
    const kind = sql<'vendor' | 'account' | 'key'>`case when lane like 'key:%' then 'key'
      when lane like 'account:%' then 'account' else 'vendor' end`;
    const rows = await this.#database.kysely
      .selectFrom('queued_tasks')
      .select(({ fn }) => [
        'model',
        'channels',
        kind.as('kind'),
        fn.countAll<number>().as('count'),
        fn.min('created_at').as('oldest'),
      ])
      .groupBy(['model', 'channels', kind])
      .orderBy('oldest')
      .limit(MAX_REPORTED)
      .execute();
    return rows.map((row) => ({ ...row, count: Number(row.count), oldest: Number(row.oldest) }));
  }

  /** How long the running videos of these filters have run, and the newest ended ones took, in milliseconds. */
  async running(filter: OpenTasks, now: number): Promise<{ readonly ages: number[]; readonly durations: number[] }> {
    const { kysely } = this.#database;
    const tasks = () => restrict(kysely.selectFrom('tasks').select(['submit_time', 'finish_time']), filter);
    const [open, ended] = await Promise.all([
      tasks().where('next_poll_at', 'is not', null).limit(MAX_RUNNING).execute(),
      tasks().where('finish_time', '>', 0).orderBy('seq', 'desc').limit(MAX_ENDED).execute(),
    ]);
    return {
      ages: open.map(({ submit_time }) => Math.max(0, now - submit_time)),
      durations: ended.map(({ submit_time, finish_time }) => Math.max(0, finish_time - submit_time)),
    };
  }

  /**
   * Starts the task of a video that was taken out: it gets a channel and a time for its first poll.
   * @returns false if it no longer waits
   */
  async start(
    trx: Trx,
    taskId: string,
    channel: { readonly id: number; readonly credentialId: number },
    times: { readonly now: number; readonly nextPollAt: number },
  ): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('tasks')
        .set({
          channel_id: channel.id,
          credential_id: channel.credentialId,
          submit_time: times.now,
          updated_at: times.now,
          next_poll_at: times.nextPollAt,
        })
        .where('id', '=', taskId)
        .where('status', '=', 'NOT_START')
        .where('next_poll_at', 'is', null)
        .executeTakeFirst(),
    );
  }

  /**
   * Makes a started task wait again.
   * @returns false if it has ended or moved on
   */
  async stop(trx: Trx, taskId: string, attempt: number, now: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('tasks')
        .set({ channel_id: null, credential_id: null, attempt: attempt + 1, updated_at: now, next_poll_at: null })
        .where('id', '=', taskId)
        .where('attempt', '=', attempt)
        .where('status', '=', 'NOT_START')
        .where('handle', 'is', null)
        .executeTakeFirst(),
    );
  }
}

/** Unfinished and ended tasks of some channels, of an account, or of a key. */
export type OpenTasks =
  | { readonly channelIds: readonly number[] }
  | { readonly userId: number }
  | { readonly tokenId: number };

const MAX_RUNNING = 1_000;
const MAX_REPORTED = 100;
const MAX_ENDED = 200;

const tasksOf = (executor: Executor) => executor.selectFrom('tasks').select(['submit_time', 'finish_time']);
function restrict(query: ReturnType<typeof tasksOf>, filter: OpenTasks) {
  if ('channelIds' in filter) return query.where('channel_id', 'in', filter.channelIds);
  return 'userId' in filter ? query.where('user_id', '=', filter.userId) : query.where('token_id', '=', filter.tokenId);
}

const inOrder = (executor: Executor) =>
  executor.selectFrom('queued_tasks').selectAll().orderBy('turn').orderBy('level', 'desc').orderBy('id');
