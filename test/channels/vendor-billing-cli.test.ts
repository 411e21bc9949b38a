import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Reelgate } from '../../src/sdk/index.ts';
import { CliMachine, parseJsonOutput } from '../cli-process-harness.ts';
import { inAnHour, setJobDue } from '../requests/set-job-due.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

/** Credits of one five-second video by viduq1 (platform.vidu.com, "Pricing"). */
const CREDITS = 80;

describe('reconciliation in the client library and the command line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-reconciliation-'));
  let service: SandboxService;
  let machine: CliMachine;
  let sdk: Reelgate;
  let vidu: number;
  let sora: number;
  let locked: number;
  before(async () => {
    service = await startSandboxService(`sqlite:${join(folder, 'reelgate.db')}`);
    await setJobDue(service.app.database.kysely, 'reconciliation', inAnHour());
    vidu = await service.addChannel('vidu', ['viduq2']);
    sora = await service.addChannel('sora', ['sora-2']);
    locked = await service.operator.addChannel({
      vendor: 'vidu',
      name: 'locked',
      base_url: service.sandbox.url('vidu'),
      credentials: { api_key: 'wrong' },
      models: ['viduq1'],
    });
    // A device sign-in grants no administration, so the clients use a management token.
    const made = await service.operator.requestData<{ access_token: string }>('POST', '/api/user/token');
    const userId = service.operator.id;
    machine = new CliMachine(service.baseUrl, {
      REELGATE_ACCESS_TOKEN: made.access_token,
      REELGATE_USER_ID: String(userId),
    });
    sdk = new Reelgate({ baseUrl: service.baseUrl, credentials: { accessToken: made.access_token, userId } });
  });
  after(async () => {
    machine.remove();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /**
   * Simulates a program that shares the account with the service; the vendor takes its credits when the video is
   * generated.
   */
  const spendElsewhere = (): Promise<unknown> =>
    fetch(`${service.sandbox.url('vidu')}/ent/v2/text2video`, {
      method: 'POST',
      headers: {
        authorization: `Token ${String(service.sandbox.credentials('vidu').api_key)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'viduq1', prompt: 'herons', duration: 5, resolution: '1080p' }),
    });

  it('the client library lists accounts, readings and days', async () => {
    const first = await sdk.reconciliations.read(vidu);
    assert.deepEqual([first?.from, first?.billed_units, first?.difference], [null, null, null]);
    assert.deepEqual(
      (await sdk.reconciliations.accounts()).map(({ channel_id, read_at, error, judged }) => ({
        channel_id,
        read: read_at !== null,
        error,
        judged,
      })),
      [
        { channel_id: vidu, read: true, error: '', judged: null },
        { channel_id: locked, read: false, error: '', judged: null },
      ],
      'the vendor of the third channel tells nothing',
    );
    await spendElsewhere();
    let reading = await sdk.reconciliations.read(vidu);
    for (let tries = 0; tries < 600 && reading?.billed_units === 0; tries++) {
      await pause(50);
      reading = await sdk.reconciliations.read(vidu);
    }
    assert.deepEqual([reading?.videos, reading?.settled_units, reading?.difference], [0, 0, CREDITS]);

    const readings = await sdk.reconciliations.list({ channelId: vidu });
    assert.equal(readings.total, readings.data.length);
    assert.deepEqual(readings.data[0], reading);
    assert.deepEqual(readings.data.at(-1), first);
    const days = await sdk.reconciliations.list({ channelId: vidu, by: 'day' });
    assert.equal(
      days.data.reduce((sum, { difference }) => sum + (difference ?? 0), 0),
      CREDITS,
    );
    assert.deepEqual((await sdk.reconciliations.list({ channelId: vidu, page: 99 })).data, []);
    assert.deepEqual(await sdk.reconciliations.list({ channelId: locked }), { ...readings, data: [], total: 0 });
  });

  it('the client library reports why an account was not read', async () => {
    assert.equal(await sdk.reconciliations.read(sora), null);
    await assert.rejects(sdk.reconciliations.read(999_999), { name: 'ReelgateError' });
    await assert.rejects(sdk.reconciliations.read(locked), { name: 'ReelgateError' });
    const account = (await sdk.reconciliations.accounts()).find(({ channel_id: id }) => id === locked);
    assert.match(account?.error ?? '', /\S/);
    await assert.rejects(new Reelgate({ baseUrl: service.baseUrl }).reconciliations.accounts(), { status: 401 });
  });

  it('the command line lists and reads it', async () => {
    const accounts = await machine.run('reconciliation');
    assert.equal(accounts.code, 0, accounts.stderr);
    assert.match(accounts.stdout, new RegExp(`^${vidu}\\tvidu\\tvidu\\t.+\\tcredits\\t.+$`, 'm'));
    assert.match(accounts.stdout, new RegExp(`^${locked}\\tlocked\\tvidu\\t–\\t–\\t–\\tcredits\\tnot read: .+$`, 'm'));
    assert.equal((await machine.run('reconciliation', 'accounts')).stdout, accounts.stdout);

    const readings = await machine.run('reconciliation', 'list', '--channel', String(vidu));
    assert.match(
      readings.stdout,
      new RegExp(`\\tvidu\\t0\\t0\\t${CREDITS}\\t${CREDITS}\\tcredits\\t0\\.00 credits$`, 'm'),
    );
    assert.match(readings.stdout, /\tvidu\t0\t0\t–\t–\tcredits\t0\.00 credits\n$/);
    const days = parseJsonOutput<{ channel_id: number; difference: number }[]>(
      await machine.run('reconciliation', 'list', '--by', 'day', '--json'),
    );
    assert.ok(days.every(({ channel_id: id }) => id === vidu));
    assert.equal(
      days.reduce((sum, { difference }) => sum + difference, 0),
      CREDITS,
    );
    assert.equal(
      (await machine.run('reconciliation', 'list', '--channel', String(locked))).stderr,
      'No readings yet.\n',
    );

    const read = parseJsonOutput(await machine.run('reconciliation', 'read', String(vidu), '--json'));
    assert.deepEqual([read.channel_id, read.videos, read.difference], [vidu, 0, 0]);
    const untold = await machine.run('reconciliation', 'read', String(sora));
    assert.deepEqual([untold.stdout, untold.stderr], ['', 'The vendor has no endpoint that tells what it took.\n']);
  });

  it('the command line reports errors', async () => {
    const refused = await machine.run('reconciliation', 'read', String(locked));
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /\S/);
    for (const args of [['read'], ['read', 'vidu'], ['list', '--by', 'week'], ['list', '--channel', '0']])
      assert.equal((await machine.run('reconciliation', ...args)).code, 2, args.join(' '));
    const device = new CliMachine(service.baseUrl);
    assert.equal((await device.run('reconciliation')).code, 3);
    await device.storeCredentials(service.operator);
    const forbidden = await device.run('reconciliation');
    assert.deepEqual([forbidden.code, forbidden.stdout], [1, '']);
    assert.match(forbidden.stderr, /don’t have access/);
    device.remove();
  });
});
