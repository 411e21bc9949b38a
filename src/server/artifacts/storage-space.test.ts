import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../platform/clock.ts';
import { NoSpaceError, type SpaceShortage, StorageSpace } from './storage-space.ts';

const MB = 1024 ** 2;
const USER = 1;

/** A space of 100 MB with copies of 10 MB each, oldest first, of which `others` belong to another account. */
function spaceOf({ copies = 0, others = 0, freeMb = 1_000, minFreeMb = 20, maxMb = 100, canRemove = true }) {
  const stored = Array.from({ length: copies + others }, (_, n) => ({
    id: String(n).padStart(3, '0'),
    bytes: 10 * MB,
    stored_at: n,
    user: n < others ? 2 : USER,
  }));
  const removed: string[] = [];
  /** Marked for removal, but still there. */
  const unremovable: string[] = [];
  const told: { shortage: SpaceShortage; since: number }[] = [];
  const clock = manualClock();
  const device = { freeBytes: freeMb * MB };
  const left = (user?: number) =>
    stored.filter(
      (copy) => ![...removed, ...unremovable].includes(copy.id) && (user === undefined || copy.user === user),
    );
  const sum = (user?: number) => ({ bytes: left(user).length * 10 * MB, files: left(user).length });
  const space = new StorageSpace({
    usage: { of: async (user: number) => sum(user), ofAll: async () => sum() } as never,
    removals: {
      listOldest: async (user: number | undefined, _limit: number, after?: { stored_at: number }) =>
        left(user)
          .filter(({ stored_at }) => stored_at > (after?.stored_at ?? -1))
          .slice(0, 2),
      markRemoved: async () => {},
      countFailed: async () => ({ files: unremovable.length, bytes: unremovable.length * 10 * MB }),
    } as never,
    remover: {
      tryRemove: async ({ id }: { id: string }) => {
        (canRemove ? removed : unremovable).push(id);
        if (canRemove) device.freeBytes += 10 * MB;
        return canRemove;
      },
    } as never,
    files: { freeBytes: async () => device.freeBytes } as never,
    maxBytes: maxMb * MB,
    minFreeBytes: minFreeMb * MB,
    clock,
    onShortage: async (shortage, since) => void told.push({ shortage, since }),
  });
  const reserve = (mb: number, limitMb = 100) => space.reserve(USER, mb * MB, limitMb * MB);
  const kinds = () => told.map(({ shortage }) => shortage);
  return { space, reserve, removed, unremovable, told, kinds, device, clock };
}

const noSpace = (error: unknown): boolean => error instanceof NoSpaceError && !error.isPermanent;

describe('space of stored videos', () => {
  it('evicts the oldest copies: the account’s own for its limit, any account’s for the total', async () => {
    const account = spaceOf({ copies: 3, others: 2 });
    await account.reserve(15, 40);
    assert.deepEqual([account.removed, account.kinds()], [['002'], []]);
    const all = spaceOf({ copies: 5, others: 5 });
    await all.reserve(15);
    assert.deepEqual([all.removed, all.kinds()], [['000', '001'], ['evicting']]);
  });

  it('counts space freed for the account towards the total', async () => {
    const both = spaceOf({ copies: 5, others: 5 });
    await both.reserve(10, 50);
    assert.deepEqual(both.removed, ['005']);
  });

  it('evicts no copies of the account when the total would still be exceeded', async () => {
    const { reserve, removed, kinds } = spaceOf({ copies: 2, freeMb: 5, minFreeMb: 20 });
    await assert.rejects(reserve(10, 20), noSpace);
    assert.deepEqual([removed, kinds()], [[], ['blocked']]);
  });

  it('on the device: evicts as many bytes as the new copy has, and none for bytes used by other programs', async () => {
    const steady = spaceOf({ copies: 5, freeMb: 20, minFreeMb: 20 });
    await steady.reserve(10);
    assert.deepEqual([steady.removed, steady.kinds()], [['000'], ['evicting']]);
    const nibbled = spaceOf({ copies: 5, freeMb: 12, minFreeMb: 20 });
    await nibbled.reserve(10);
    assert.deepEqual(nibbled.removed, ['000']);
    for (const freeMb of [9, 0]) {
      const filled = spaceOf({ copies: 5, freeMb, minFreeMb: 20 });
      await assert.rejects(filled.reserve(10), noSpace);
      assert.deepEqual([filled.removed, filled.kinds()], [[], ['blocked']], `${freeMb} MB free`);
    }
  });

  it('evicts nothing when all copies together would not free enough', async () => {
    const { reserve, removed, kinds } = spaceOf({ copies: 1, freeMb: 5, minFreeMb: 0 });
    await assert.rejects(reserve(30), noSpace);
    assert.deepEqual([removed, kinds()], [[], ['blocked']]);
  });

  it('stops evicting once files cannot be deleted, which still use space', async () => {
    const { reserve, removed, unremovable, kinds } = spaceOf({ copies: 10, canRemove: false });
    for (const bytes of [10, 10, 5]) await assert.rejects(reserve(bytes), noSpace);
    assert.deepEqual([removed, unremovable, kinds()], [[], ['000'], Array(3).fill('unremovable')]);
  });

  it('does not count bytes twice that a copy in progress has written', async () => {
    const { reserve, removed, device } = spaceOf({ copies: 2, freeMb: 60, minFreeMb: 20, maxMb: 1_000 });
    const first = await reserve(20, 1_000);
    device.freeBytes -= 19 * MB;
    await first.growTo(19 * MB);
    await first.growTo(20 * MB);
    device.freeBytes -= MB;
    (await reserve(20, 1_000)).release();
    assert.deepEqual(removed, []);
    first.release();
  });

  it('reports a shortage that recurs as a new one', async () => {
    const { reserve, device, told, clock } = spaceOf({ copies: 1, freeMb: 0, minFreeMb: 20 });
    await assert.rejects(reserve(10), noSpace);
    clock.advance(1_000);
    await assert.rejects(reserve(10), noSpace);
    device.freeBytes = 500 * MB;
    (await reserve(10)).release();
    device.freeBytes = 0;
    await assert.rejects(reserve(10), noSpace);
    const [first, again, later] = told.map(({ since }) => since);
    assert.equal(first, again);
    assert.notEqual(first, later);
  });
});
