import assert from 'node:assert/strict';
import { findBrokenRows } from '../../src/server/commands/check-database.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { hashToken } from '../../src/server/platform/tokens.ts';
import type { Tables } from '../../src/server/tables.ts';
import type { ImportReport } from '../report.ts';
import type { Generation } from '../source.ts';
import { NOW_SECONDS, oldKey } from './source-rows.ts';
import { GENERATIONS } from './source-schemas.ts';

interface Imported {
  readonly database: Database<Tables>;
  readonly generation: Generation;
  readonly applied: ImportReport;
}

/** Asserts the outcome of the unfinished videos of the generated sources. */
export async function assertUnfinishedTasks({ database, generation, applied }: Imported): Promise<void> {
  const isOneApi = generation.startsWith('one-api');
  const { kysely } = database;
  const tasks = await kysely
    .selectFrom('tasks')
    .innerJoin('accounts', 'accounts.id', 'tasks.user_id')
    .innerJoin('channels', 'channels.id', 'tasks.channel_id')
    .leftJoin('tokens', 'tokens.id', 'tasks.token_id')
    .select(['public_id', 'username', 'price', 'handle', 'credential_id', 'tokens.hash', 'prompt'])
    .select(['tasks.id', 'tasks.status', 'tasks.model', 'channels.name as channel'])
    .where('seq', '>', 0)
    .orderBy('seq')
    .execute();
  const age = GENERATIONS.indexOf(generation);
  const shared = { username: 'alice', credential_id: 1, channel: 'Channel 11', model: 'kling-v2-1-master' };
  const common = tasks.map(({ username, credential_id, channel, model }) => ({
    username,
    credential_id,
    channel,
    model,
  }));
  assert.deepEqual(common, Array(tasks.length).fill(shared));
  const first = ['task_open', 71, 'IN_PROGRESS', '{"family":"image2video","id":"task_open"}', null, ''];
  const hash = hashToken(`sk-${oldKey(1)}`);
  const second = ['task_'.padEnd(37, '3'), 5, 'SUBMITTED', '{"family":"text2video","id":"vendor-3"}', hash, 'a cat'];
  assert.deepEqual(
    tasks.map((task) => [task.public_id, task.price, task.status, task.handle, task.hash, task.prompt]),
    isOneApi ? [] : age < 4 ? [first] : [first, second],
  );
  const held = await kysely.selectFrom('reservations').select(['ref', 'amount']).orderBy('ref').execute();
  assert.deepEqual(
    held,
    tasks.map(({ id, price }) => ({ ref: id, amount: price })).sort((one, other) => (one.ref < other.ref ? -1 : 1)),
  );
  assert.equal(applied.sums.heldTasks, isOneApi ? '0' : age < 4 ? '71' : '76');
  assert.equal(applied.sums.unfinishedTasks, isOneApi ? '0' : '101');
  const left = applied.findings.filter(({ kind }) => kind === 'task').map(({ source, text }) => `${source} ${text}`);
  if (isOneApi) assert.deepEqual(left, []);
  else {
    assert.deepEqual(
      left.map((text) => text[0]),
      age < 4 ? ['3', '4', '5', '6', '7', '8'] : ['4', '5', '6', '7', '8'],
    );
    assert.match(left.at(-1) ?? '', /paid 5 for task_8+, .* account does not come over/);
    if (age >= 4)
      for (const [index, why] of [
        /vendor's id/,
        /which of the keys/,
        /no longer polled there/,
        /channel does not/,
      ].entries())
        assert.match(left[index] ?? '', why);
  }
  assert.deepEqual(await findBrokenRows(database), []);
}

/** Asserts the outcome of the ended videos. */
export async function assertEndedTasks({ database, generation, applied }: Imported): Promise<void> {
  const isOneApi = generation.startsWith('one-api');
  const { kysely } = database;
  const tasks = await kysely
    .selectFrom('tasks')
    .innerJoin('accounts', 'accounts.id', 'tasks.user_id')
    .leftJoin('channels', 'channels.id', 'tasks.channel_id')
    .leftJoin('tokens', 'tokens.id', 'tasks.token_id')
    .select(['tasks.id', 'public_id', 'username', 'price', 'handle', 'hash', 'tasks.vendor', 'artifact'])
    .select(['prompt', 'tasks.status', 'fail_reason', 'model', 'channels.name as channel', 'submit_time'])
    .where('seq', '<', 0)
    .orderBy('seq')
    .execute();
  const seen = tasks.map((task) => ({
    ...task,
    id: task.id.replace(/^task_i\d+r/, ''),
    public_id: task.public_id.replace(/^task_i\d+r/, 'own '),
    submit_time: task.submit_time / 1000 - NOW_SECONDS,
  }));
  const age = GENERATIONS.indexOf(generation);
  const isNamed = age >= 4;
  const handle = (id: string) => `{"family":"image2video","id":"${id}"}`;
  const kling = {
    username: 'alice',
    hash: null,
    vendor: 'kling',
    artifact: null,
    prompt: isNamed ? 'a dog' : '',
    status: 'SUCCESS',
    fail_reason: '',
    model: 'kling-v2-1-master',
    channel: 'Channel 11',
  };
  const expected = [
    {
      ...kling,
      id: '1',
      public_id: 'task_done',
      price: 70,
      handle: handle(isNamed ? 'vendor-1' : 'task_done'),
      hash: isNamed ? hashToken(`sk-${oldKey(2)}`) : null,
      artifact: `{"kind":"url","url":"https://files.example.com/${isNamed ? 'new' : 'old'}.mp4"}`,
      submit_time: 1,
    },
    {
      ...kling,
      id: '20',
      public_id: 'task_failed',
      price: 0,
      handle: handle('task_failed'),
      status: 'FAILURE',
      fail_reason: 'no  luck',
      submit_time: 20,
    },
    {
      ...kling,
      id: '23',
      public_id: 'of_a_removed_channel',
      username: 'github',
      price: 8,
      handle: null,
      hash: hashToken(`sk-${oldKey(13)}`),
      vendor: 'vidu',
      prompt: '',
      model: '',
      channel: null,
      submit_time: 23,
    },
    {
      ...kling,
      id: '24',
      public_id: 'own 24',
      price: 3,
      handle: handle('task_done'),
      prompt: '',
      submit_time: 24,
    },
  ];
  assert.deepEqual(seen, isOneApi ? [] : expected);
  assert.equal(applied.sums.endedTasks, isOneApi ? '0' : '81');
  const findings = applied.findings
    .filter(({ kind }) => kind === 'ended-task')
    .map(({ source, result, text }) => `${source} ${result}: ${text}`);
  assert.deepEqual(
    findings,
    isOneApi
      ? []
      : [
          '21 skipped: no vendor of videos here is what made it (suno)',
          '22 skipped: its account does not come over',
          '24 different: its id cannot be used here, or an earlier one has it: it gets another',
        ],
  );
  const entries = await kysely
    .selectFrom('ledger')
    .select('ref')
    .where('ref', 'in', ['', ...tasks.map(({ id }) => id)])
    .execute();
  assert.deepEqual(entries, []);
}
