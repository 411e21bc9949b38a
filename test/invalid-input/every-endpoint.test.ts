import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { TSchema } from 'typebox';
import { Create } from 'typebox/value';
import { Pool } from 'undici';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { auditLedger } from '../../src/server/quota/ledger-audit.ts';
import { ROOT_LOGIN } from '../admin-client.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';
import { assertErrorResponse } from './assert-error-response.ts';
import { INVALID_BODIES, INVALID_TEXTS, INVALID_VALUES } from './invalid-values.ts';

/** Responses that last as long as the client is connected. */
const STREAMS = new Set(['/api/notifications/stream', '/api/requests/stream', '/api/admin/requests/stream']);

const propertiesOf = (schema: TSchema | undefined): string[] =>
  Object.keys((schema as { properties?: object } | undefined)?.properties ?? {});

/** A body that the schema accepts or nearly accepts: patterns and formats are not generated. */
function sampleOf(schema: TSchema): Record<string, unknown> {
  try {
    const made: unknown = Create(schema);
    return typeof made === 'object' && made !== null ? (made as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

forOneDatabase((_name, _open, freshUrl) => {
  describe('invalid input at every endpoint', () => {
    let running: SandboxService;
    /** Half of the time of these tests went into `fetch`; a pool also sends paths as they are. */
    let pool: Pool;
    let cookie = '';
    let key = '';

    const signIn = async (): Promise<void> => {
      const response = await fetch(`${running.baseUrl}/api/user/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(ROOT_LOGIN),
      });
      cookie = (response.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
      assert.notEqual(cookie, '', 'the administrator can still sign in');
    };

    before(async () => {
      running = await startSandboxService(await freshUrl());
      pool = new Pool(running.baseUrl, { connections: 1, pipelining: 1, headersTimeout: 60_000 });
      await running.addChannel('sora', ['sora-2']);
      key = await running.operator.makeToken();
      await signIn();
    });
    after(async () => {
      await pool.close();
      await running.stop();
    });

    interface Content {
      readonly type?: string;
      readonly body?: string | Buffer;
    }
    const send = async (line: Endpoint, path: string, { type, body }: Content, sent: string): Promise<void> => {
      const credential: Record<string, string> =
        line.policy === 'model'
          ? { authorization: `Bearer ${key}` }
          : { cookie, 'service-api-user': String(running.operator.id) };
      const response = await pool.request({
        method: line.method,
        path,
        headers: type === undefined ? credential : { ...credential, 'content-type': type },
        body: body ?? null,
      });
      const text = await response.body.text();
      assertErrorResponse(line, response.statusCode, text, sent);
      if (response.statusCode === 401 && line.policy !== 'model' && line.policy !== 'self') await signIn();
    };

    const pathOf = ({ path }: Endpoint, value = '1') => path.replace(/:\w+/g, value);

    test('in paths and queries', async () => {
      for (const line of running.app.http.routes.endpoints) {
        if (STREAMS.has(line.path)) continue;
        const init = line.body === undefined ? {} : { type: 'application/json', body: '{}' };
        if (line.path.includes(':'))
          for (const text of INVALID_TEXTS) await send(line, pathOf(line, text), init, `path ${text}`);
        for (const name of propertiesOf(line.query))
          for (const text of INVALID_TEXTS)
            await send(line, `${pathOf(line)}?${name}=${text}&${name}=${text}`, init, `${name}=${text}`);
      }
    });

    test('in bodies', async () => {
      for (const line of running.app.http.routes.endpoints) {
        if (line.body === undefined) continue;
        for (const { type, body } of INVALID_BODIES)
          await send(line, pathOf(line), { type, body }, `${type} ${body.slice(0, 60)}`);
        const sample = sampleOf(line.body);
        for (const name of propertiesOf(line.body))
          for (const value of INVALID_VALUES) {
            const body = JSON.stringify({ ...sample, [name]: value });
            await send(line, pathOf(line), { type: 'application/json', body }, body.slice(0, 200));
          }
      }
    });

    test('leaves the ledger consistent, no balance higher and the service up', async () => {
      assert.deepEqual(await auditLedger(running.app.database), []);
      assert.equal(({} as { polluted?: boolean }).polluted, undefined);
      assert.equal((await fetch(`${running.baseUrl}/readyz`)).status, 200);
    });
  });
}, 'postgres');
