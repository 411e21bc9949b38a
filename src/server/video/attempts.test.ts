import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newTaskId } from '../platform/tokens.ts';
import type { AdapterContext } from '../upstreams/upstream.ts';
import type { PendingUpload, VendorAdapter, VideoRequest } from '../vendors/adapter.ts';
import { HandleOwners, submitWithUploads } from './attempts.ts';

const owner = (n: number) => ({ id: newTaskId(), attempt: 1 + (n % 3), at: 1_795_000_000_000 + n });

describe('T55: owners of the handles that vendors return', () => {
  it('are returned unchanged to the second claimant of a handle', () => {
    const owners = new HandleOwners();
    const [first, second] = [owner(1), owner(2)];
    assert.equal(owners.claim(1, '{"id":"a"}', first), undefined);
    assert.deepEqual(owners.claim(1, '{"id":"a"}', second), first);
    assert.deepEqual(owners.claim(1, '{"id":"a"}', first), first);
    assert.equal(owners.claim(2, '{"id":"a"}', second), undefined, 'another channel has handles of its own');
    assert.equal(owners.claim(1, '{"id":"b"}', second), undefined);
  });

  it('are evicted oldest first, and never while among the latest thousands', () => {
    const owners = new HandleOwners();
    const given = Array.from({ length: 40_000 }, (_, n) => owner(n));
    for (const [n, each] of given.entries()) assert.equal(owners.claim(7, `handle ${n}`, each), undefined);
    const another = owner(-1);
    for (const [n, each] of [...given.entries()].slice(-4_000).reverse())
      assert.deepEqual(owners.claim(7, `handle ${n}`, another), each);
    assert.equal(owners.claim(7, 'handle 0', another), undefined, 'room is bounded');
  });
});

it('submits nothing whose uploads outlasted the time after which its task is refunded', async () => {
  const upload: PendingUpload = { key: 'a film', mediaType: 'video/mp4', size: 1, load: async () => Buffer.alloc(1) };
  const videos = [{ url: 'https://upload.invalid/', upload }];
  const request: VideoRequest = {
    ...{ taskId: 'task_1', model: 'a-model', prompt: 'a cat', images: [], videos, seconds: 5 },
    ...{ metadata: {}, extraFields: [] },
  };
  let isRefunded = false;
  let submits = 0;
  const adapter: Pick<VendorAdapter, 'submit' | 'upload'> = {
    upload: {
      maxBytes: { video: 1 },
      async send() {
        isRefunded = true;
        return { uri: 'file://1', expiresAtMs: 1 };
      },
      isForgotten: () => false,
    },
    async submit() {
      submits++;
      return { kind: 'accepted', handle: 'job', upstreamId: 'job', raw: null };
    },
  };
  const context = { cachedSecret: async (_key, make) => (await make()).value } as Partial<AdapterContext>;
  const submit = () => submitWithUploads(request, adapter, context as AdapterContext, () => isRefunded);
  assert.deepEqual([await submit(), submits], [{ kind: 'unreachable' }, 0]);
});
