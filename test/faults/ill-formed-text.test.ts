import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertLedgerConsistent } from './ledger-assertions.ts';

const NUL = '\u0000';

/**
 * Text that SQLite stores and PostgreSQL rejects, where JSON validation does not apply: in form parts and in vendors'
 * messages.
 */
describe('T62, T67: ill-formed text', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    before(async () => {
      service = await startVideoService(await freshUrl(), { env: { SUBMIT_VISIBILITY_SECONDS: '0' } }, [
        { name: 'kling', model: 'kling-v1-6' },
        { name: 'sora', model: 'sora-2' },
      ]);
    });
    after(() => service.stop());

    const part = (name: string, value: string, type?: string) =>
      `--b\r\ncontent-disposition: form-data; name="${name}"\r\n${type === undefined ? '' : `content-type: ${type}\r\n`}\r\n${value}\r\n`;
    const send = async (...parts: string[]) => {
      const response = await fetch(`${service.baseUrl}/v1/videos`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${service.caller.key}`,
          'content-type': 'multipart/form-data; boundary=b',
        },
        body: `${parts.join('')}--b--\r\n`,
      });
      return { status: response.status, text: await response.text() };
    };

    it('in the parts of a form', async () => {
      const { quota } = await service.operator.quota();
      const model = part('model', 'sora-2');
      const prompt = part('prompt', 'a form');
      const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
      for (const parts of [
        [model, part('prompt', `a ${NUL} b`)],
        [part('model', `sora-2${NUL}`), prompt],
        [model, prompt, part('note', NUL)],
        [model, prompt, part('note[inner]', NUL)],
        [model, prompt, part('metadata', deep, 'application/json')],
        [model, prompt, part('note', `{"a":${deep}}`, 'application/json')],
        [model, prompt, part('note', '{"a":"\\u0000"}', 'application/json')],
        [model, prompt, part('note', '["\\ud800"]', 'application/json')],
        [model, prompt, part('note', '{"__proto__":1}', 'application/json')],
      ]) {
        const { status, text } = await send(...parts);
        assert.equal(status, 400, `${parts.join('').slice(-300)}: ${text}`);
      }
      assert.equal((await service.operator.quota()).quota, quota);
      assert.equal((await send(model, prompt, part('note', '{"a":[1]}', 'application/json'))).status, 200);
    });

    it('in a vendor’s failure reason: the task ends and is refunded', async () => {
      const id = idOf(await service.caller.submit({ model: 'kling-v1-6', prompt: 'odd' }));
      const message = `gone ${NUL} and \ud800 away`;
      // A task ends after several such responses in a row.
      const fault = { vendor: 'kling', operation: 'query', kind: 'not_found', message, times: Infinity } as const;
      const missing = service.sandbox.control.fault(fault);
      const video = await service.caller.waitUntilEnded(id);
      missing.remove();
      assert.equal(video.status, 'failed');
      assert.match(JSON.stringify(video), /gone {2}and/);
      await assertLedgerConsistent(service.app.database);
    });

    it('in a vendor’s refusal, which is recorded on the channel', async () => {
      const message = `no ${NUL} way`;
      service.sandbox.control.fault({ vendor: 'kling', operation: 'submit', kind: 'unauthorized', message });
      await service.caller.request('POST', '/v1/videos', { model: 'kling-v1-6', prompt: 'refused' });
      const channels = await service.operator.requestData<{ id: number; vendor: string }[]>(
        'GET',
        '/api/admin/channels',
      );
      const { id } = channels.find(({ vendor }) => vendor === 'kling') ?? { id: 0 };
      const readErrors = async () =>
        (
          await service.operator.requestData<{ last_errors: { message: string }[] }>('GET', `/api/admin/channels/${id}`)
        ).last_errors.map((error) => error.message);
      // Errors are stored in the background.
      for (let tries = 0; tries < 200 && (await readErrors()).length === 0; tries++) await pause(50);
      const errors = await readErrors();
      assert.ok(
        errors.some((text) => text.includes('no  way')),
        JSON.stringify(errors),
      );
      await assertLedgerConsistent(service.app.database);
    });
  });
});
