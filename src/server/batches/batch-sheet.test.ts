import assert from 'node:assert/strict';
import { it } from 'node:test';
import { invalidRequest } from '../platform/app-error.ts';
import { BatchSheets } from './batch-sheet.ts';

it('the check of a long sheet lets the process do other work', async () => {
  const dependencies = {
    callerOf: async () => ({ userId: 1 }),
    outlook: { of: async () => ({ balance: 0 }) },
    video: {
      services: {
        requests: {
          check() {
            for (const endsAt = performance.now() + 1; performance.now() < endsAt; );
            throw invalidRequest('seconds must be a number.', 'seconds');
          },
        },
      },
    },
  };
  const sheets = new BatchSheets(dependencies as unknown as ConstructorParameters<typeof BatchSheets>[0]);
  const csv = `prompt,seconds\n${'A cat,many\n'.repeat(200)}`;
  let turns = 0;
  const count = (): void => {
    turns++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const { invalid } = await sheets.check({ userId: 1, tokenId: 0 }, { csv }, 'en');
  clearImmediate(counting);
  assert.equal(invalid, 200);
  assert.ok(turns >= 2, `${turns} turns of the event loop`);
});
