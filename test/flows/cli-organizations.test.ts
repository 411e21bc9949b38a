import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { TestUser } from '../accounts/test-user-client.ts';
import { CliMachine, parseJsonOutput } from '../cli-process-harness.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

describe('organizations in a terminal', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-cli-orgs-'));
  let service: SandboxService;
  const machines = {} as Record<'olga' | 'mia', CliMachine>;
  before(async () => {
    service = await startSandboxService(`sqlite:${join(folder, 'reelgate.db')}`);
    await service.addChannel('vidu', ['viduq2'], { options: { private: true, max_concurrent_tasks: 1 } });
    for (const name of ['olga', 'mia'] as const) {
      const person = new TestUser(service.app.http.fastify, '127.0.0.1');
      await person.register(name);
      await person.logIn(name);
      const { access_token: token } = await person.ok<{ access_token: string }>('POST', '/api/user/token');
      const env = { REELGATE_ACCESS_TOKEN: token, REELGATE_USER_ID: String(person.id) };
      machines[name] = new CliMachine(service.baseUrl, env);
    }
  });
  after(async () => {
    await service.stop();
    for (const machine of Object.values(machines)) machine.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  async function run(who: 'olga' | 'mia', ...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await machines[who].run(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  it('an owner invites with a limit, changes it and the role, and withdraws what nobody accepted', async () => {
    assert.match(await run('olga', 'orgs', 'create', 'studio', 'Studio'), /--org studio/);
    const invited = await machines.olga.run('orgs', 'invite', 'studio', '--spend-limit', '5/month', '--json');
    const { url } = parseJsonOutput<{ url: string }>(invited);
    assert.match(await run('olga', 'orgs', 'invitations', 'studio'), /^\d+\tmember\t\t5\.00 .* a month\tolga\t/);
    assert.match(await run('mia', 'orgs', 'join', url), /Joined Studio/);
    const members = await run('olga', 'orgs', 'members', 'studio');
    const [, id = ''] = /^(\d+)\tmia\t.*\tmember\t.*\t0\.00 .* of 5\.00 .* a month$/m.exec(members) ?? [];
    assert.notEqual(id, '', members);
    await run('olga', 'orgs', 'set', 'studio', id, '--role', 'admin', '--spend-limit', 'none');
    assert.match(await run('olga', 'orgs', 'members', 'studio'), /^\d+\tmia\t.*\tadmin\t.*\tnone$/m);
    assert.equal((await machines.olga.run('orgs', 'set', 'studio', id)).code, 2, 'nothing to change');
    assert.match(await run('olga', 'orgs', 'invite', 'studio'), /^http:\S+#rgin_\w+\n?$/);
    const [open] = parseJsonOutput<{ id: number }[]>(
      await machines.olga.run('orgs', 'invitations', 'studio', '--json'),
    );
    await run('olga', 'orgs', 'withdraw', 'studio', String(open?.id));
    assert.deepEqual(parseJsonOutput(await machines.olga.run('orgs', 'invitations', 'studio', '--json')), []);
  });

  it('lists and receipts name the member, and a waiting video has its place', async () => {
    const [studio] = parseJsonOutput<{ id: number }[]>(await machines.olga.run('orgs', '--json'));
    await service.operator.requestData('PUT', `/api/admin/organizations/${studio?.id}`, { quota_delta: 1_000_000_000 });
    const inStudio = ['--org', 'studio'];
    const made = await machines.mia.run(...inStudio, 'keys', 'create', 'ci', '--json');
    const { key } = parseJsonOutput<{ key: string }>(made);
    assert.match(await run('olga', ...inStudio, 'keys'), /\tci\t.*\tmia$/m);
    const limitOf = async () =>
      parseJsonOutput<{ id: number; spend_limit: { period: string } | null }[]>(
        await machines.mia.run(...inStudio, 'keys', '--json'),
      )[0];
    const keyId = String((await limitOf())?.id);
    await run('mia', ...inStudio, 'keys', 'limit', keyId, '--spend-limit', '3000/day');
    assert.equal((await limitOf())?.spend_limit?.period, 'day');
    await run('mia', ...inStudio, 'keys', 'limit', keyId, '--spend-limit', 'none');
    assert.equal((await limitOf())?.spend_limit, null);
    // A key belongs to the organization, without an option.
    const program = new CliMachine(service.baseUrl, { REELGATE_API_KEY: key });
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) {
      const prompt = `boat ${index} [stuck]`;
      const started = await program.run('video', 'create', prompt, '--model', 'viduq2', '--no-wait', '--json');
      ids.push(parseJsonOutput<{ id: string }>(started).id);
    }
    const videos = (await run('olga', ...inStudio, 'video', 'list')).trimEnd().split('\n');
    assert.equal(videos.length, 3);
    assert.ok(videos.every((line) => line.endsWith('\tmia')));
    assert.match(videos[0] ?? '', /\tqueued, number \d, starts /);
    const waiting = await run('mia', ...inStudio, 'video', 'get', ids.at(-1) ?? '');
    assert.match(waiting, /^Status\tqueued, number \d, starts /m);
    assert.match(waiting, /^Member\tmia$/m);
    const receipt = await run('mia', ...inStudio, 'receipt', ids.at(-1) ?? '');
    assert.match(receipt, /^Organization\tstudio\nMember\tmia$/m);
    assert.equal((await program.run('video', 'cancel', ids.at(-1) ?? '')).code, 0);
    program.remove();
    assert.match(await run('olga', ...inStudio, 'requests'), /\tmia$/m);
    assert.doesNotMatch(await run('mia', 'video', 'list'), /boat/);
  });
});
