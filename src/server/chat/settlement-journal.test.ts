import assert from 'node:assert/strict';
import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { reserveCalls } from '../../../test/chat/reserve-calls.ts';
import { assertLedgerConsistent } from '../../../test/faults/ledger-assertions.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import type { Database } from '../platform/db/database.ts';
import { openLog } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { recoverJournals } from './journal-recovery.ts';
import { type JournaledCall, SettlementJournal } from './settlement-journal.ts';

const KEY = Buffer.alloc(32, 7);
const log = openLog('silent');
const event = (content: string) => Buffer.from(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);

function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'reelgate-journal-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A call priced at one quota per token, whose prompt is one token. */
const callOf = (ref: string): JournaledCall => ({
  journalMeta: () => ({
    ref,
    path: '/v1/chat/completions',
    price: { input_per_million: 1_000_000, output_per_million: 1_000_000 },
    surcharge: 0,
    choiceCount: 1,
    promptTokens: 0,
  }),
  journalBody: () => Buffer.from('{"messages":[{"role":"user","content":"secret"}]}'),
  journalText: () => '',
});

forEachDatabase((_name, open) => {
  /** An account with reservations of 100 each. */
  async function withReservations(refs: readonly string[]) {
    const database: Database<Tables> = await open();
    const { quota, balance } = await reserveCalls(database, refs);
    const recover = (directory: string, masterKeys: readonly Buffer[] = [KEY]) =>
      recoverJournals({ directory, masterKeys, database, quota, log });
    return { database, recover, balance };
  }

  it('T81: charges settlements that an unavailable database missed, once', async (t) => {
    const directory = temporaryDirectory(t);
    const { database, recover, balance } = await withReservations(['req_a', 'req_b', 'req_c', 'req_d']);
    const journal = new SettlementJournal(directory, KEY, log);
    journal.close({ ref: 'req_a', cost: 30, usage: { promptTokens: 10, completionTokens: 20 } });
    journal.close({ ref: 'req_b' });
    journal.open(callOf('req_c'));
    journal.append('req_c', event('one two'));
    journal.open(callOf('req_d'));
    assert.equal(await recover(directory), 0, 'not while its process lives');
    journal.stop();
    assert.equal(await recover(directory), 4);
    // One token for "secret" and two for "one two".
    assert.equal(await balance(), 10_000 - 30 - 3);
    assert.equal(await recover(directory), 0);
    assert.deepEqual(readdirSync(directory), []);
    await assertLedgerConsistent(database);
  });

  it('deletes settled records, and only its owner can read its file', async (t) => {
    const directory = temporaryDirectory(t);
    const journal = new SettlementJournal(directory, KEY, log);
    journal.open(callOf('req_a'));
    const [name = ''] = readdirSync(directory);
    const path = join(directory, name);
    const before = statSync(path).size;
    journal.append('req_a', event('whispered'));
    await new Promise<void>((resolve) => journal.whenWritten(resolve));
    assert.ok(statSync(path).size > before + event('whispered').length, 'the call and its event are in the file');
    const bytes = readFileSync(path);
    for (const word of ['secret', 'whispered', 'req_a']) assert.ok(!bytes.includes(word), word);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    journal.settled(journal.close({ ref: 'req_a', cost: 5 }));
    journal.stop();
    assert.deepEqual(readdirSync(directory), []);
  });

  it('T81: delivers events in order once they are written, even if a full segment is replaced meanwhile', async (t) => {
    const directory = temporaryDirectory(t);
    const journal = new SettlementJournal(directory, KEY, log);
    const sent: string[] = [];
    journal.open({ ...callOf('req_a'), journalText: () => 'one two' });
    journal.append('req_a', event('x'.repeat(65 * 1024 * 1024)));
    journal.whenWritten(() => sent.push('first'));
    await new Promise<void>((resolve) => journal.whenWritten(resolve));
    journal.append('req_a', event('one'));
    journal.whenWritten(() => sent.push('second'));
    // Replaces the segment, and writes the pending records with it.
    journal.close({ ref: 'req_b', cost: 30 });
    journal.whenWritten(() => sent.push('third'));
    assert.deepEqual(sent, ['first']);
    await new Promise<void>((resolve) => journal.whenWritten(resolve));
    assert.deepEqual(sent, ['first', 'second', 'third']);
    assert.equal(readdirSync(directory).length, 1, 'what is under way moved to the new segment');
    journal.stop();
    const { recover, balance } = await withReservations(['req_a', 'req_b']);
    assert.equal(await recover(directory), 2);
    assert.equal(await balance(), 10_000 - 30 - 3, 'a token of the prompt and two of the text');
  });

  it('does not hold back more than 256 KiB of events until the turn ends', (t) => {
    const journal = new SettlementJournal(temporaryDirectory(t), KEY, log);
    journal.open(callOf('req_a'));
    const sent: number[] = [];
    for (let piece = 0; piece < 10; piece++) {
      journal.append('req_a', event('x'.repeat(64 * 1024)));
      journal.whenWritten(() => sent.push(piece));
    }
    assert.deepEqual(sent, [0, 1, 2, 3, 4, 5, 6, 7]);
    journal.stop();
    assert.equal(sent.length, 10);
  });

  it('T81: writes the costs of calls that end in one turn together, and only then lets their responses end', async (t) => {
    const directory = temporaryDirectory(t);
    const journal = new SettlementJournal(directory, KEY, log);
    const calls: string[] = [];
    journal.whenWritten(() => calls.push('nothing waits'));
    assert.deepEqual(calls, ['nothing waits']);
    const sizes = (): number[] => readdirSync(directory).map((name) => statSync(join(directory, name)).size);
    journal.close({ ref: 'req_a', cost: 30 });
    const [before = 0] = sizes();
    for (const ref of ['req_b', 'req_c']) {
      journal.close({ ref, cost: 30 });
      journal.whenWritten(() => {
        const [now = 0] = sizes();
        calls.push(now > before ? `${ref} is written` : `${ref} is not`);
        if (ref === 'req_b') throw new Error('a response that cannot be sent');
      });
    }
    assert.deepEqual(calls, ['nothing waits'], 'later in the turn');
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(calls, ['nothing waits', 'req_b is written', 'req_c is written']);
    journal.close({ ref: 'req_d', cost: 30 });
    journal.stop();
    const { recover, balance } = await withReservations(['req_a', 'req_b', 'req_c', 'req_d']);
    assert.equal(await recover(directory), 4);
    assert.equal(await balance(), 10_000 - 4 * 30);
  });

  it('reads up to the record that a killed process left incomplete', async (t) => {
    const directory = temporaryDirectory(t);
    const journal = new SettlementJournal(directory, KEY, log);
    journal.open(callOf('req_a'));
    for (const word of ['one', ' two', ' three']) journal.append('req_a', event(word));
    journal.stop();
    const [name = ''] = readdirSync(directory);
    const bytes = readFileSync(join(directory, name));
    let charged = 0;
    for (const part of [0, 20, 60, 200, 260, 300, 340, 400, bytes.length]) {
      const { recover, balance } = await withReservations(['req_a']);
      writeFileSync(join(directory, name), bytes.subarray(0, part));
      await recover(directory);
      const now = 10_000 - (await balance());
      if (now !== 100) assert.ok(now >= charged && now <= 4, `${part}: ${now}`);
      if (now !== 100) charged = now;
    }
    assert.equal(charged, 4, 'the whole of it');
  });

  it('forgets calls that end after a failed write, and deletes their segment once they are settled', async (t) => {
    const directory = temporaryDirectory(t);
    const journal = new SettlementJournal(directory, KEY, log);
    t.after(() => journal.stop());
    const written = () => new Promise<void>((resolve) => journal.whenWritten(resolve));
    journal.open(callOf('req_open'));
    await written();
    const write = t.mock.method(fs, 'writeSync', () => {
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    });
    syncBuiltinESMExports();
    journal.append('req_open', event('lost'));
    await written();
    write.mock.restore();
    syncBuiltinESMExports();
    const end = journal.close({ ref: 'req_open' });
    assert.equal(readdirSync(directory).length, 1, 'a crash before the settlement is stored still finds the call');
    journal.settled(end);
    assert.deepEqual(readdirSync(directory), []);
  });

  it('is written again after a failed write, with the calls that were in flight meanwhile', async (t) => {
    const directory = temporaryDirectory(t);
    const { recover, balance } = await withReservations(['req_before', 'req_during', 'req_ended', 'req_after']);
    const journal = new SettlementJournal(directory, KEY, log);
    const written = () => new Promise<void>((resolve) => journal.whenWritten(resolve));
    journal.open({ ...callOf('req_before'), journalText: () => 'one two' });
    journal.append('req_before', event('one'));
    await written();
    const now = t.mock.method(performance, 'now', () => 1_000);
    const write = t.mock.method(fs, 'writeSync', () => {
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    });
    syncBuiltinESMExports();
    journal.append('req_before', event(' two'));
    await written();
    journal.open({ ...callOf('req_during'), journalText: () => 'three' });
    journal.append('req_during', event('three'));
    journal.open(callOf('req_ended'));
    journal.close({ ref: 'req_ended' });
    await written();
    now.mock.mockImplementation(() => 12_000);
    journal.open(callOf('req_ended'));
    assert.equal(readdirSync(directory).length, 1, 'no file is left of a segment that could not be begun');
    write.mock.restore();
    syncBuiltinESMExports();
    journal.open(callOf('req_after'));
    assert.equal(readdirSync(directory).length, 1, 'not yet');
    now.mock.mockImplementation(() => 23_000);
    journal.append('req_after', event('lost'));
    journal.close({ ref: 'req_ended' });
    journal.append('req_after', event('four'));
    journal.append('req_before', event(' five'));
    await written();
    journal.stop();
    assert.equal(readdirSync(directory).length, 1, 'the calls have moved to the new segment');
    assert.equal(await recover(directory), 4);
    // One token for each "secret" and each word.
    assert.equal(await balance(), 10_000 - (1 + 3) - (1 + 1) - (1 + 1));
  });

  it('writes whole records on a disk that takes a part of them at a time', async (t) => {
    const directory = temporaryDirectory(t);
    const { recover, balance } = await withReservations(['req_a', 'req_b']);
    const journal = new SettlementJournal(directory, KEY, log);
    const whole = fs.writeSync;
    const write = t.mock.method(fs, 'writeSync', (fd: number, bytes: Buffer, at = 0) =>
      whole(fd, bytes, at, Math.min(7, bytes.length - at)),
    );
    syncBuiltinESMExports();
    journal.open(callOf('req_a'));
    journal.append('req_a', event('one two'));
    await new Promise<void>((resolve) => journal.whenWritten(resolve));
    write.mock.restore();
    syncBuiltinESMExports();
    journal.open(callOf('req_b'));
    journal.append('req_b', event('three'));
    journal.stop();
    assert.equal(await recover(directory), 2);
    assert.equal(await balance(), 10_000 - 3 - 2);
  });

  it('keeps the text of whole responses when a full segment is replaced', async (t) => {
    const directory = temporaryDirectory(t);
    const { recover, balance } = await withReservations(['req_a']);
    const journal = new SettlementJournal(directory, KEY, log);
    journal.open(callOf('req_a'));
    journal.appendText('req_a', 'one two');
    for (let megabytes = 0; megabytes < 65; megabytes++)
      journal.append('req_a', Buffer.from(`: ${'x'.repeat(1024 * 1024)}\n\n`));
    journal.open(callOf('req_b'));
    journal.stop();
    assert.equal(await recover(directory), 1);
    assert.equal(await balance(), 10_000 - 3);
  });

  it('leaves segments encrypted with another key alone', async (t) => {
    const directory = temporaryDirectory(t);
    const { recover, balance } = await withReservations(['req_a']);
    const journal = new SettlementJournal(directory, Buffer.alloc(32, 9), log);
    journal.close({ ref: 'req_a', cost: 30 });
    journal.stop();
    assert.equal(await recover(directory), 0);
    assert.equal(await balance(), 9_900);
    const old = new SettlementJournal(directory, Buffer.alloc(32, 9), log);
    old.close({ ref: 'req_a', cost: 30 });
    old.stop();
    assert.equal(await recover(directory, [KEY, Buffer.alloc(32, 9)]), 1, 'a former key opens it');
  });
});
