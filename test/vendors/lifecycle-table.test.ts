import assert from 'node:assert/strict';
import { it } from 'node:test';
import { VendorRegistry } from '../../src/server/vendors/registry.ts';

const vendors = new VendorRegistry();
const shipped = vendors.initialModels;
const DAY_MS = 86_400_000;
const MAX_AGE_DAYS = 183;

it('every shipped model has a stage, a source and the day it was read', () => {
  assert.ok(shipped.length > 50);
  for (const { id, vendor } of shipped) {
    const rows = vendors.lifecycles(vendor, id);
    assert.ok(rows.length > 0, `${vendor} ${id}`);
    for (const { route, source, checkedOn, retiresOn, stage } of rows) {
      assert.match(route, /^[a-z0-9.-]+$/);
      assert.equal(new URL(source).protocol, 'https:');
      assert.ok(Date.now() - Date.parse(checkedOn) < MAX_AGE_DAYS * DAY_MS, `${id} was read long ago`);
      assert.equal(retiresOn === undefined, stage === 'active');
      if (retiresOn !== undefined) assert.equal(new Date(retiresOn).toISOString().slice(0, 10), retiresOn);
    }
  }
});
