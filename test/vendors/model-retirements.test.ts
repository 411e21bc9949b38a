import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { DAY_MS } from '../../src/contract/time-units.ts';
import { ACTIVE } from '../../src/server/vendors/model-lifecycles.ts';
import { VendorRegistry } from '../../src/server/vendors/registry.ts';

const vendors = new VendorRegistry();
const shipped = vendors.initialModels;
const MAX_AGE_DAYS = 183;

it('every shipped model has a stage, a source and the day it was read', () => {
  assert.ok(shipped.length > 50);
  for (const { id, vendor } of shipped) {
    const rows = vendors.lifecycles(vendor, id);
    assert.ok(rows.length > 0, `${vendor} ${id}`);
    for (const { route, source, checkedOn, confirmedOn, retiresOn, stage } of rows) {
      assert.match(route, /^[a-z0-9.-]+$/);
      assert.equal(new URL(source).protocol, 'https:');
      assert.ok(Date.now() - Date.parse(checkedOn) < MAX_AGE_DAYS * DAY_MS, `${id} was read long ago`);
      assert.equal(retiresOn === undefined, stage === 'active');
      assert.ok(confirmedOn === null || confirmedOn <= checkedOn, `${id} was confirmed after the table was read`);
      assert.ok(stage !== 'retired' || confirmedOn !== null, `${id} is said to be over, which nothing confirms`);
      if (retiresOn !== undefined) assert.equal(new Date(retiresOn).toISOString().slice(0, 10), retiresOn);
    }
  }
});

it('lists only shipped models, with one stage per host', () => {
  const known = new Set(shipped.map(({ id, vendor }) => `${vendor} ${id}`));
  for (const { vendor, ids } of ACTIVE)
    for (const id of ids) assert.ok(known.has(`${vendor} ${id}`), `${vendor} ${id}`);
  for (const { id, vendor } of shipped) {
    const routes = vendors.lifecycles(vendor, id).map(({ route }) => route);
    assert.equal(new Set(routes).size, routes.length, id);
  }
});

it('distinguishes the hosts of a vendor: Gemini from Vertex AI, whose channels may keep the default base URL', () => {
  const veo = { vendor: 'veo', baseUrl: 'https://generativelanguage.googleapis.com' };
  assert.equal(vendors.hostOf({ ...veo, credentials: { api_key: 'k' } }), 'generativelanguage.googleapis.com');
  assert.equal(vendors.hostOf({ ...veo, credentials: { service_account: {} } }), 'aiplatform.googleapis.com');
  const reseller = { ...veo, baseUrl: 'https://reseller.example', credentials: { service_account: {} } };
  assert.equal(vendors.hostOf(reseller), 'reseller.example');
});

it('no example that people copy names a retired model', () => {
  const ended = shipped.filter(({ id, vendor }) =>
    vendors
      .lifecycles(vendor, id)
      .some(
        ({ retiresOn, confirmedOn }) =>
          retiresOn !== undefined && confirmedOn !== null && Date.parse(retiresOn) <= Date.now(),
      ),
  );
  assert.ok(ended.length > 0);
  const examples = ['README.md', 'README.zh-CN.md', 'docs/cli.md', 'src/cli/program.ts', 'scripts/quickstart.ts'];
  for (const path of examples) {
    const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
    for (const { id } of ended) assert.doesNotMatch(text, new RegExp(`\\b${id}\\b`), `${path} names ${id}`);
  }
});
