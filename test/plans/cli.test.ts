import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Reelgate } from '../../src/sdk/index.ts';
import { AdminClient } from '../admin-client.ts';
import { CliMachine } from '../cli-process-harness.ts';
import { startTestService, type TestService } from '../test-service.ts';

describe('reelgate plans and redeem', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-packages-'));
  let service: TestService;
  let machine: CliMachine;
  before(async () => {
    service = await startTestService(`sqlite:${join(folder, 'reelgate.db')}`);
    machine = new CliMachine(service.url);
    await machine.storeCredentials(await new AdminClient(service.url).signIn());
  });
  after(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const card = (change: Record<string, unknown>) =>
    service.root.ok('POST', '/api/admin/package-cards', { name: 'A card', level: 1, duration_days: 30, ...change });
  const codes = async (request: Record<string, unknown>) =>
    (await service.root.ok<{ codes: string[] }>('POST', '/api/admin/redemption-codes', request)).codes;

  it('lists plans without a sign-in', async () => {
    const anonymous = new CliMachine(service.url);
    assert.deepEqual(await anonymous.run('plans'), { code: 0, stdout: '', stderr: 'No plans are offered here.\n' });
    await card({ package_code: 'basic', level: 1, price_amount: 9.5, daily_quota: 1000 });
    await card({
      package_code: 'pro',
      level: 2,
      refresh_interval_seconds: 5 * 3600,
      interval_quota: 2000,
      weekly_quota_limit: 9000,
      description: 'For\u001b[31m people\nwho make much',
    });
    const { stdout } = await anonymous.run('plans');
    assert.match(stdout, /^basic\tA card\t1\t9\.50 credits\t30\t0\.002 credits a day\t\n/m);
    assert.match(
      stdout,
      /^pro\t.*\t0\.004 credits per 5 hours, at most 0\.018 credits a week\tFor\ufffd\[31m people who make much$/m,
    );
    assert.equal((await anonymous.run('packages')).stdout, stdout, 'the name on the wire is accepted too');
    assert.equal((await anonymous.run('plans', 'show')).code, 3);
    assert.equal((await anonymous.run('redeem', 'X')).code, 3);
  });

  it('redeems a code in any spacing and shows its contents', async () => {
    assert.match((await machine.run('plans', 'show')).stdout, /^Plan\tNo plan \(none\)\nModels\tall\nBalance\t/);
    const [basic = '', other = ''] = await codes({ package_code: 'basic', count: 2 });
    const [pro = ''] = await codes({ package_code: 'pro', count: 1 });
    const [money = ''] = await codes({ quota: 1500, count: 1 });
    assert.match((await machine.run('redeem', ...basic.toLowerCase().split('-'))).stdout, /plan basic is active until/);
    assert.match((await machine.run('redeem', other)).stdout, /Your plan basic was extended to/);
    assert.match((await machine.run('redeem', pro, '--json')).stdout, /"outcome":"active","package_code":"pro"/);
    assert.equal((await machine.run('redeem', money)).stdout, '0.003 credits were added to your balance.\n');
    const { stdout } = await machine.run('plans', 'show');
    assert.match(stdout, /Plan\tA card \(pro\)\nExpires\t\d{4}-\d\d-\d\dT[\d:]+Z\n/);
    assert.match(stdout, /This period\t0\.004 credits of 0\.004 credits left, resets \d{4}-\d\d-\d\dT/);
    assert.match(stdout, /Balance\t0\.003 credits/);
  });

  it('writes amounts in the currency of the service', async () => {
    const setCurrency = (value: string | null) => service.root.ok('PUT', '/api/admin/settings/CURRENCY', { value });
    await setCurrency('EUR');
    assert.match((await machine.run('plans')).stdout, /^basic\tA card\t1\t€9\.50\t30\t€0\.002 a day\t\n/m);
    assert.match((await machine.run('whoami')).stdout, /^Balance\t€[\d.,]+$/m);
    await setCurrency(null);
    assert.match((await machine.run('whoami')).stdout, /^Balance\t[\d.,]+ credits$/m);
  });

  it('reports why a code is refused', async () => {
    const [money = ''] = await codes({ quota: 5, count: 1 });
    await machine.run('redeem', money);
    const again = await machine.run('redeem', money);
    assert.deepEqual([again.code, again.stdout], [1, '']);
    assert.match(again.stderr, /used already/);
    assert.match((await machine.run('redeem', 'nonsense')).stderr, /not valid/);
    assert.equal((await machine.run('redeem')).code, 2);
    await assert.rejects(new Reelgate({ baseUrl: service.url }).plans.current(), { status: 401 });
  });
});
