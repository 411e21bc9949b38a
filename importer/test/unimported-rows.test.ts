import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { openSqliteSource } from '../open-source.ts';
import { detectProgram } from '../source.ts';
import { ImportSummary } from '../summary.ts';
import { reportUnimported } from '../unimported.ts';

const SCHEMA = `
create table users (id integer primary key, username text, password text, quota integer, aff_quota integer);
create table tokens (id integer primary key, "rate" text); create table channels (id integer primary key);
create table options ("key" text primary key, "value" text);
create table top_ups (id integer primary key, user_id integer, amount integer, trade_no text, status text, secret text);
create table checkins (user_id integer, checkin_date text);
create table user_subscriptions (id integer primary key, user_id integer, amount_total integer, amount_used integer, status text);
create table of_a_fork (id text, token text);
create table without_ids (note text);
create table "evil""; drop table users; --" (id integer, x text);
insert into top_ups values (1, 2, 10, 'T1', 'success', 'must-not-show'), (7, 3, 20, 'T2', 'pending', null);
insert into checkins values (2, '2026-01-01');
insert into user_subscriptions values (1, 2, 500, 100, 'active'), (2, 3, 9, 9, 'expired');
insert into of_a_fork values ('x-1', 'must-not-show'), ('x-2', 'must-not-show');
insert into without_ids values ('must-not-show');
insert into "evil""; drop table users; --" values (1, 'must-not-show');
insert into options values ('ModelRatio', '{}'), ('SMTPToken', 'must-not-show'), ('StripeApiSecret', 'must-not-show'), ('Own\u202eThing', 'must-not-show');
`;

it('lists options and rows without a counterpart one by one, without revealing their secrets', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reelgate-import-'));
  try {
    const path = join(folder, 'source.db');
    const database = new DatabaseSync(path);
    database.exec(SCHEMA);
    database.close();
    const source = await openSqliteSource(path);
    const found = new ImportSummary();
    await reportUnimported(source, detectProgram(source), found);
    await source.close();
    assert.deepEqual(
      found.findings.map(({ kind, source, text }) => `${kind} ${source}: ${text}`),
      [
        'option Own Thing: a setting without a counterpart here',
        'option SMTPToken: not carried over: outgoing mail; set SMTP_URL',
        'option StripeApiSecret: not carried over: payments',
        'table top_ups 1: a payment: user_id 2, amount 10, trade_no T1, status success',
        'table top_ups 7: a payment: user_id 3, amount 20, trade_no T2, status pending',
        'table checkins row 1: a daily check-in: user_id 2, checkin_date 2026-01-01',
        'table evil"; drop table users; --: a table this import does not know, with id, x',
        'table of_a_fork: a table this import does not know, with id, token',
        'table of_a_fork x-1: a row of a table this import does not know',
        'table of_a_fork x-2: a row of a table this import does not know',
        'table without_ids: a table this import does not know, with note',
        'table without_ids row 1: a row of a table this import does not know',
        'table tokens.rate: a column this import does not know, which may be of a fork; it is not read',
        'table user_subscriptions 1: account 2 has a plan that still covers 400; assign one here',
        'table user_subscriptions 2: account 3 had a plan, which is expired',
      ],
    );
    assert.equal(found.sums.subscriptions, 400n);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('rejects the databases of programs whose channel types have other numbers', () => {
  const tables = new Map([
    ['users', ['id', 'username', 'password', 'quota', 'aff_quota']],
    ['tokens', ['id', 'setting']],
    ['channels', ['id', 'type']],
    ['options', ['key', 'value']],
    ['prices', ['model', 'type', 'channel_type', 'input', 'output']],
  ]);
  assert.throws(() => detectProgram({ tables }), /one-hub or done-hub, whose data differs/);
});
