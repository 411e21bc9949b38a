import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openLog } from '../../src/server/platform/log.ts';
import { idOf, startVideoService, VENDOR_MODELS, type VideoService } from '../flows/video-fixture.ts';
import { assertLedgerConsistent } from './ledger-assertions.ts';

type Values = { readonly [key: string]: unknown };

/** Vendors that quote our own credentials in their responses. */
describe('T45, T88: a channel’s keys quoted by a vendor', () => {
  let service: VideoService;
  const lines: string[] = [];
  before(async () => {
    const log = openLog('trace', { write: (line: string) => void lines.push(line) });
    service = await startVideoService('sqlite::memory:', { overrides: { log } });
  });
  after(() => service.stop());

  const keysIn = (credentials: Values): string[] =>
    Object.entries(credentials).flatMap(([name, value]) => {
      if (typeof value === 'object' && value !== null) return keysIn(value as Values);
      return /^(api|access|secret|private)_key$/.test(name) ? [String(value)] : [];
    });

  for (const { name, model } of VENDOR_MODELS) {
    it(`${name}: reach no caller, record, administrator or log line`, async () => {
      const { control } = service.sandbox;
      const keys = keysIn(service.sandbox.credentials(name) as Values);
      assert.ok(keys.length > 0);
      // A PEM key is recognized by a line in its middle, since it contains line ends.
      const traces = keys.map((key) => (key.length > 200 ? (key.split('\n')[3] ?? key) : key));
      const message = keys.map((key) => `no ${key} or Bearer ${key}`).join(', ');
      const seen: unknown[] = [];
      for (const kind of ['unauthorized', 'forbidden', 'invalid', 'policy', 'broken', 'billing', 'rate'] as const) {
        control.fault({ vendor: name, operation: 'submit', kind, message });
        seen.push((await service.caller.request('POST', '/v1/videos', { model, prompt: `${name} ${kind}` })).body);
      }
      control.clearFaults();
      const begun = await service.caller.submit({ model, prompt: `${name} ends` });
      control.fault({ vendor: name, operation: 'query', kind: 'unauthorized', message });
      control.fault({ vendor: name, operation: 'query', kind: 'not_found', message });
      seen.push(await service.caller.waitUntilEnded(idOf(begun)), await service.caller.unified(idOf(begun)));
      control.clearFaults();
      const { operator } = service;
      seen.push(await operator.requestData('GET', `/api/admin/tasks/${idOf(begun)}`));
      for (const { id } of await operator.requestData<{ id: number }[]>('GET', '/api/admin/channels'))
        seen.push(await operator.requestData('GET', `/api/admin/channels/${id}`));
      seen.push(
        await operator.requestData('GET', '/api/notifications/'),
        await operator.requestData('GET', '/api/videos'),
      );
      const told = JSON.stringify(seen);
      for (const trace of traces) {
        assert.ok(
          !told.includes(trace),
          `told: …${told.slice(Math.max(0, told.indexOf(trace) - 200), told.indexOf(trace) + 20)}`,
        );
        const line = lines.find((each) => each.includes(trace));
        assert.equal(line, undefined, 'in the log');
      }
      assert.match(told, /\[masked\]/);
    });
  }

  it('the ledger is consistent', () => assertLedgerConsistent(service.app.database));
});
