import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PlayLinks } from './content.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const TEN_MINUTES = 10 * 60_000;

function parse(path: string) {
  const url = new URL(path, 'http://reelgate.test');
  const { expires, credential, signature } = Object.fromEntries(url.searchParams);
  const taskId = decodeURIComponent(url.pathname.replace('/play/', ''));
  return { link: { taskId, expires: Number(expires), credential: String(credential) }, signature: String(signature) };
}

describe('a play link', () => {
  const links = new PlayLinks(Buffer.alloc(32, 1));
  const { link, signature } = parse(links.create('task_1', 's7', NOW));

  test('T93: works for ten minutes and not a millisecond after its expiry', () => {
    assert.ok(link.expires >= NOW + TEN_MINUTES && link.expires < NOW + TEN_MINUTES + 60_000);
    assert.equal(links.verify(link, signature, NOW), true);
    assert.equal(links.verify(link, signature, link.expires - 1), true);
    assert.equal(links.verify(link, signature, link.expires), false);
    assert.equal(links.verify(link, signature, link.expires + 86_400_000), false);
  });

  test('is rejected when any part was changed, or when its expiry exceeds the longest lifetime issued', () => {
    assert.equal(links.verify({ ...link, taskId: 'task_2' }, signature, NOW), false);
    assert.equal(links.verify({ ...link, credential: 's8' }, signature, NOW), false);
    assert.equal(links.verify({ ...link, expires: link.expires + 60_000 }, signature, NOW), false);
    assert.equal(links.verify(link, signature, NOW - 86_400_000), false);
    for (const wrong of ['', 'x', signature.slice(1), `${signature}A`])
      assert.equal(links.verify(link, wrong, NOW), false, wrong);
    assert.equal(new PlayLinks(Buffer.alloc(32, 2)).verify(link, signature, NOW), false);
  });

  test('stays the same within a minute, so that the browser reuses its cached file', () => {
    const start = Math.ceil(NOW / 60_000) * 60_000;
    assert.equal(links.create('task_1', 's7', start + 1), links.create('task_1', 's7', start + 59_000));
  });
});
