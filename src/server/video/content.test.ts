import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { describe, it, test } from 'node:test';
import { loadMedia } from '../../sandbox/media.ts';
import type { ConditionalRequest } from '../platform/preconditions.ts';
import {
  AccelRedirect,
  type Content,
  ContentDelivery,
  DownloadSlots,
  PlayLinks,
  toAccelHeaders,
  withFileName,
} from './content.ts';

describe('names of saved files', () => {
  const named = (type: string, name: string, status: Content['status'] = 200) =>
    withFileName({ status, headers: { 'content-type': type }, body: Readable.from([]) }, name).headers[
      'content-disposition'
    ];

  it('have the extension of the media type', () => {
    for (const [type, extension] of [
      ['video/mp4', 'mp4'],
      ['video/quicktime', 'mov'],
      ['video/webm', 'webm'],
      ['image/jpeg', 'jpg'],
    ] as const)
      assert.equal(
        named(type, 'task_Ab-1'),
        `inline; filename="task_Ab-1.${extension}"; filename*=UTF-8''task_Ab-1.${extension}`,
      );
    assert.equal(named('application/octet-stream', 'task_1'), undefined);
    assert.equal(named('video/mp4', 'task_1', 416), undefined);
  });

  it('keep letters and digits only, of every script, and at most 80', () => {
    assert.equal(
      named('video/mp4', '雨夜 "的" 纸船\r\n'),
      `inline; filename="video.mp4"; filename*=UTF-8''${encodeURIComponent('雨夜-的-纸船')}.mp4`,
    );
    assert.match(named('video/mp4', 'नमस्ते!') ?? '', new RegExp(`''${encodeURIComponent('नमस्ते')}\\.mp4$`));
    assert.match(named('video/mp4', '../../etc') ?? '', /filename="etc\.mp4"/);
    assert.match(named('video/mp4', '…') ?? '', /filename="video\.mp4"/);
    assert.match(named('video/mp4', '𠮷'.repeat(100)) ?? '', /''(?:%F0%A0%AE%B7){80}\.mp4$/);
  });

  it('follow the bytes of a vendor’s file, whatever type its host declares', async () => {
    const clip = Buffer.from(loadMedia('sea-1-silent.mp4').bytes);
    clip.write('qt  ', 8, 'latin1');
    const content = await openAtVendor({ 'content-type': 'video/mp4' }, clip).content();
    content.body.destroy();
    assert.equal(content.headers['content-type'], 'video/quicktime');
  });
});

/** Opens a video that its vendor serves with these headers. */
function openAtVendor(headers: Record<string, string>, bytes: Uint8Array) {
  const body = Readable.from([bytes]);
  const delivery = new ContentDelivery({
    vendorFiles: { open: async () => ({ status: 200, headers, body }) },
    storedFiles: { open: async () => undefined },
    urlRefresher: { withFreshUrl: async (task: object) => task },
    upstreams: { adapterOf: () => ({}) },
    downloadSlots: new DownloadSlots(),
  } as unknown as ConstructorParameters<typeof ContentDelivery>[0]);
  const request = { watchAccess: () => () => {}, signal: AbortSignal.timeout(60_000) };
  const task = { id: 'task_1', user_id: 1, status: 'SUCCESS' } as never;
  return {
    body,
    content: (conditions: ConditionalRequest = {}) => delivery.open(task, { ...request, ...conditions }),
  };
}

describe('conditional downloads of a vendor’s file', () => {
  const clip = loadMedia('sea-1-silent.mp4').bytes;
  const headers = { etag: '"v"', 'last-modified': 'Fri, 02 Jan 2026 03:04:05 GMT' };
  for (const [conditions, status] of [
    [{ ifMatch: '"v"' }, 200],
    [{ ifNoneMatch: 'W/"v"' }, 304],
    [{ ifMatch: '"x"' }, 412],
    [{ ifUnmodifiedSince: 'Fri, 02 Jan 2026 03:04:04 GMT' }, 412],
  ] as const)
    it(`${JSON.stringify(conditions)}: ${status}`, async () => {
      const { content, body } = openAtVendor(headers, clip);
      if (status === 412) await assert.rejects(content(conditions), { code: 'precondition_failed' });
      else {
        const opened = await content(conditions);
        assert.deepEqual([opened.status, opened.headers.etag], [status, '"v"']);
        opened.body.destroy();
      }
      // A response that is not sent releases its connection.
      if (status !== 200) assert.equal(body.destroyed, true);
    });
  it('a file without a tag matches no named one', async () => {
    await assert.rejects(openAtVendor({}, clip).content({ ifMatch: '"v"' }), { code: 'precondition_failed' });
    const any = await openAtVendor({}, clip).content({ ifMatch: '*' });
    any.body.destroy();
    assert.equal(any.status, 200);
  });
});

describe('accel redirect', () => {
  const FORWARDED = { 'x-forwarded-for': '198.51.100.7' };
  const from = (remoteAddress: string, headers: Record<string, string> = FORWARDED) => ({
    headers,
    socket: { remoteAddress } as Socket,
  });

  it('T99: accepts requests forwarded by the configured proxies only', () => {
    const accel = new AccelRedirect(['127.0.0.1', '10.1.0.0/16']);
    for (const peer of ['127.0.0.1', '::ffff:127.0.0.1', '10.1.2.3'])
      assert.equal(accel.accepts(from(peer)), true, peer);
    for (const peer of ['127.0.0.2', '10.2.0.1', '::1', '198.51.100.7', ''])
      assert.equal(accel.accepts(from(peer)), false, peer);
    // X-Forwarded-For is client-controlled: it may contain any address.
    assert.equal(accel.accepts(from('198.51.100.7', { 'x-forwarded-for': '127.0.0.1, 10.1.2.3' })), false);
  });

  it('rejects other programs on the proxy’s host, and conditions that nginx would evaluate differently', () => {
    const accel = new AccelRedirect(['127.0.0.1']);
    for (const headers of [{}, { ...FORWARDED, 'if-match': '"a"' }, { ...FORWARDED, 'if-unmodified-since': 'x' }])
      assert.equal(accel.accepts(from('127.0.0.1', headers)), false);
  });

  it('rejects every request when no proxy is configured', () => {
    assert.equal(new AccelRedirect([]).accepts(from('127.0.0.1')), false);
  });

  it('names the file and leaves its length and range to nginx', () => {
    const headers = {
      etag: '"a"',
      'content-length': '100',
      'content-range': 'bytes 0-99/200',
      'accept-ranges': 'bytes',
    };
    assert.deepEqual(toAccelHeaders('Ab/Abc', headers), {
      etag: '"a"',
      'x-accel-redirect': '/stored-videos/Ab/Abc',
      'content-length': '0',
    });
  });
});

describe('play links', () => {
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
});
