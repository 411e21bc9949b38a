import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CHANNEL_VENDORS } from '../../src/contract/channels.ts';
import { PRICE_NOTES_ZH_CN } from '../../src/contract/messages/prices-zh-cn.ts';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';
import { startTestService, type TestService } from '../test-service.ts';

/** The vendor data that the console and the documentation are rendered from. */
describe('vendor list', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService('sqlite::memory:');
  });
  after(() => service.stop());

  const list = () => service.root.ok<readonly VendorRow[]>('GET', '/api/admin/vendors');

  it('has every vendor that a channel can use, with a title and a base URL', async () => {
    const vendors = await list();
    assert.deepEqual(
      vendors.map(({ name }) => name),
      [...CHANNEL_VENDORS],
    );
    for (const { title, base_url } of vendors) {
      assert.ok(title.length > 1);
      assert.match(base_url, /^https:\/\/[^/]+$/);
    }
  });

  it('states which keys a channel needs: sets of fields, with secrets marked', async () => {
    const forms = new Map((await list()).map(({ name, credentials }) => [name, credentials]));
    const keyPair = { fields: [secret('access_key'), secret('secret_key')] };
    const apiKey = { fields: [secret('api_key')] };
    const serviceAccount = {
      fields: [
        { name: 'service_account', kind: 'json' },
        { name: 'project', kind: 'text' },
        { name: 'location', kind: 'text' },
      ],
    };
    assert.deepEqual(forms.get('kling'), [keyPair, apiKey]);
    assert.deepEqual(forms.get('veo'), [apiKey, serviceAccount]);
    assert.deepEqual(forms.get('openai'), [apiKey]);
  });

  it('notes where prices come from in the language of the caller', async () => {
    const { body } = await service.root.send('GET', '/api/admin/vendors', undefined, { 'accept-language': 'zh-CN' });
    const notesOf = (rows: readonly VendorRow[]): readonly string[] =>
      rows.flatMap(({ models }) => models.flatMap(({ price_source: listed }) => listed?.note || []));
    const [english, chinese] = [notesOf(await list()), notesOf(body.data as readonly VendorRow[])];
    assert.deepEqual([...new Set(english)].toSorted(), Object.keys(PRICE_NOTES_ZH_CN).toSorted());
    assert.deepEqual(
      chinese,
      english.map((note) => PRICE_NOTES_ZH_CN[note]),
    );
  });

  it('lists models with their capabilities, default price and known retirement', async () => {
    const vendors = new Map((await list()).map((vendor) => [vendor.name, vendor]));
    for (const { name, models } of VENDOR_ADAPTERS) {
      const listed = vendors.get(name)?.models ?? [];
      for (const { id, price } of models) {
        const row = listed.find((each) => each.id === id);
        assert.deepEqual([row?.price, row?.capability?.title !== undefined], [price, true], id);
      }
    }
    const preview = vendors.get('veo')?.models.find(({ id }) => id === 'veo-3.1-generate-preview');
    assert.deepEqual(
      preview?.lifecycle.map(({ stage, retires_on }) => [stage, retires_on]),
      [['retired', '2026-10-22']],
    );
  });

  it("states where a form's fields go in a request", async () => {
    const channel = {
      name: 'One',
      vendor: 'kling',
      credentials: { api_key: 'key' },
      models: ['kling-v3'],
    };
    await service.root.ok('POST', '/api/admin/channels', channel);
    const models = await service.root.ok<readonly { id: string; fields: Record<string, string> }[]>(
      'GET',
      '/api/models',
    );
    assert.equal(models.find(({ id }) => id === 'kling-v3')?.fields.audio, 'metadata.sound');
  });

  it('is for administrators only', async () => {
    const user = await service.signUp('plain');
    await user.fails(403, 'GET', '/api/admin/vendors');
  });
});

const secret = (name: string) => ({ name, kind: 'secret' });

interface VendorRow {
  readonly name: string;
  readonly title: string;
  readonly base_url: string;
  readonly credentials: unknown;
  readonly models: readonly {
    readonly id: string;
    readonly price: unknown;
    readonly price_source: { readonly note: string } | null;
    readonly capability: { readonly title: string } | null;
    readonly lifecycle: readonly { readonly stage: string; readonly retires_on: string | null }[];
  }[];
}
