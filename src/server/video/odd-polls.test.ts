import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { openLedger } from '../../../test/ledger-fixture.ts';
import { makePoller } from '../../../test/video/poller-fixture.ts';
import { insertTask } from '../../../test/video/task-fixture.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import { type ErrorReason, PollFailed, type VendorError } from '../upstreams/upstream.ts';
import { failedTask, successWithoutArtifact, toVendorError, unreadablePoll } from '../vendors/json-calls.ts';
import { PollBackoff } from './poll-scheduler.ts';
import type { Task } from './task-store.ts';

const SECOND = 1_000;
const VISIBILITY = 120 * SECOND;
const PRICE = 700;
const GIVEN = 10_000;

const response = (status: number) => ({ status, headers: {}, text: '<html>', json: undefined });
const toError = (reason: ErrorReason): VendorError =>
  toVendorError(response(400), 0, { code: 'C', meaning: { reason } });
const BUSY = { state: 'IN_PROGRESS', raw: {} } as const;

/** Responses that concern a single task, with the code it fails with after three of them. */
const UNREADABLE = unreadablePoll(response(200));
const ODD: Readonly<Record<string, [answer: object, code: string]>> = {
  'an unreadable answer': [UNREADABLE, 'unreadable_answer'],
  'a page of a firewall': [new PollFailed('page', toVendorError(response(403), 0, {})), 'unreadable_answer'],
  'a refused lookup': [new PollFailed('no such file', toError('user')), 'C'],
  'a body that breaks': [new OutboundError('body', 'broken'), 'unreadable_answer'],
  'a task that is not found': [failedTask({}, { reason: 'missing', code: '1203', message: 'gone' }), '1203'],
  'an unknown status': [{ state: 'UNKNOWN', raw: { status: 'weird' } }, 'unknown_status'],
};

describe('odd polls', () => {
  forEachDatabase((_name, open) => {
    async function start() {
      const database = await open();
      const clock = manualClock();
      const ledger = openLedger(database, undefined, clock);
      await ledger.open(1, GIVEN);
      await ledger.reserve('task_1', 1, PRICE);
      const created_at = clock.now();
      await insertTask(database, {
        id: 'task_1',
        price: PRICE,
        handle: '{}',
        status: 'SUBMITTED',
        created_at,
        next_poll_at: 1,
      });
      let answer: object = BUSY;
      const make = () => makePoller(database, ledger.quota, clock, () => answer);
      let { poller, store, reports, stopped } = make();
      return {
        clock,
        restart: () => ({ poller, store, reports, stopped } = make()),
        reports: () => reports,
        stopped: () => stopped,
        row: async () => (await store.findById('task_1')) as Task,
        async poll(next: object, afterMs = SECOND) {
          clock.advance(afterMs);
          answer = next;
          return poller.poll((await store.findById('task_1')) as Task, new AbortController().signal);
        },
        balance: async () => (await ledger.quota.wallet(1)).balance,
        check: () => assertLedgerConsistent(database),
      };
    }

    for (const [name, [answer, code]] of Object.entries(ODD)) {
      it(`${name} decides nothing at first and fails the task with a refund the third time in a row`, async () => {
        const { poll, row, balance, check, restart, reports } = await start();
        for (let polls = 0; polls < 5; polls += 1) assert.equal(await poll(answer), 'odd');
        assert.equal((await row()).poll_failures, 0);
        assert.equal(await poll(answer, VISIBILITY), 'odd');
        assert.equal(await poll(answer), 'odd');
        assert.equal(await poll(BUSY), 'changed');
        for (const _ of [1, 2]) assert.equal(await poll(answer), 'odd');
        restart();
        assert.equal(await poll(answer), 'ended');
        const { status, error_code, fail_reason } = await row();
        assert.deepEqual([status, error_code], ['FAILURE', code]);
        assert.ok(fail_reason.length > 3);
        assert.equal(await balance(), GIVEN);
        assert.ok(reports().every(({ outcome }) => outcome !== 'unreachable'));
        await check();
      });
    }

    it('a job that is given up is stopped at its vendor once; one that the vendor ended is not', async () => {
      for (const [next, afterMs, expected] of [
        [BUSY, 25 * HOUR_MS, ['task_1']],
        [new PollFailed('no', toError('rate')), 25 * HOUR_MS, ['task_1']],
        [failedTask({}, { reason: 'policy' }), 25 * HOUR_MS, []],
        [failedTask({}, { reason: 'other' }), SECOND, []],
      ] as const) {
        const { poll, stopped, balance, check } = await start();
        assert.equal(await poll(next, afterMs), 'ended');
        assert.equal(await poll(next, afterMs), 'ended');
        assert.deepEqual(stopped(), expected);
        assert.equal(await balance(), GIVEN);
        await check();
      }
      for (const [name, [answer]] of Object.entries(ODD)) {
        const { poll, stopped } = await start();
        await poll(BUSY, VISIBILITY);
        for (const _ of [1, 2]) await poll(answer);
        assert.deepEqual(stopped(), [], name);
        assert.equal(await poll(answer), 'ended', name);
        assert.deepEqual(stopped(), name === 'a task that is not found' ? [] : ['task_1'], name);
      }
    });

    it('a success without a file may be late, and fails the task with a refund the third time in a row', async () => {
      const { poll, row, balance, check, restart } = await start();
      const answer = successWithoutArtifact({}, '200');
      for (const _ of [1, 2]) assert.equal(await poll(answer), 'odd');
      assert.equal(await poll(BUSY), 'changed');
      for (const _ of [1, 2]) assert.equal(await poll(answer), 'odd');
      restart();
      assert.equal(await poll(answer), 'ended');
      assert.deepEqual([(await row()).error_code, await balance()], ['200', GIVEN]);
      await check();
    });

    it('odd polls by readers in quick succession count once, and a readable response resets the count', async () => {
      const { poll, row } = await start();
      await poll(BUSY, VISIBILITY);
      for (let polls = 0; polls < 9; polls += 1) assert.equal(await poll(UNREADABLE, 10), 'odd');
      assert.equal((await row()).poll_failures, 1);
      assert.equal(await poll(BUSY), 'same');
      assert.equal((await row()).poll_failures, 0);
    });

    it('a failing account or vendor fails no task', async () => {
      const { poll, row, balance, reports } = await start();
      await poll(BUSY, VISIBILITY);
      for (const reason of ['rate', 'capacity', 'auth', 'billing'] as const)
        for (let polls = 0; polls < 4; polls += 1)
          assert.equal(await poll(new PollFailed('no', toError(reason))), 'failed', reason);
      for (let polls = 0; polls < 4; polls += 1)
        assert.equal(await poll(new PollFailed('page', toVendorError(response(502), 0, {}))), 'failed');
      for (let polls = 0; polls < 4; polls += 1)
        assert.equal(await poll(new OutboundError('connect', 'refused')), 'unreachable');
      assert.deepEqual([(await row()).status, await balance()], ['IN_PROGRESS', GIVEN - PRICE]);
      assert.equal(reports().at(-1)?.outcome, 'unreachable');
    });
  });
});

describe('poll backoff', () => {
  const start = () => {
    const pubSub = { publish: () => {}, subscribe: () => () => {} };
    return new PollBackoff({ pubSub, clock: manualClock(1_000_000), periodMs: SECOND });
  };

  it('a single failing or odd task backs off alone, without its account', () => {
    const backoffs = start();
    const pauses = Array.from({ length: 12 }, () => backoffs.failed('1/1', 7));
    assert.deepEqual([pauses[0], pauses[4], pauses[9]], [0, SECOND, 2 * SECOND]);
    for (let polls = 0; polls < 100; polls += 1) assert.ok(backoffs.odd('1/1', 8) <= 8 * SECOND);
    assert.equal(backoffs.until('1/1'), 0);
    backoffs.succeeded('1/1', 7);
    assert.equal(backoffs.failed('1/1', 7), 0);
  });

  it('several failing tasks, or an unreachable account, make the account back off', () => {
    const several = start();
    for (let seq = 0; seq < 6; seq += 1) several.failed('1/1', seq);
    assert.ok(several.until('1/1') > 1_000_000);
    several.odd('1/1', 3);
    assert.equal(several.until('1/1'), 0, 'an answer shows that it can be reached');
    for (let polls = 0; polls < 5; polls += 1) several.failed('1/1', undefined);
    assert.ok(several.until('1/1') > 1_000_000);
  });
});
