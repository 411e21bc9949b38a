import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import type { OutboundClient, OutboundRequest, OutboundResponse } from '../platform/outbound/outbound.ts';
import { S3Client, S3FileStorage } from './s3.ts';

type Reply = readonly [status: number, body?: string, headers?: Record<string, string>];

/** A store in a bucket whose service gives prepared responses, and the requests it received. */
function storeOf(place: string, ...replies: Reply[]) {
  const [endpoint = '', bucket = 'films'] = place.split(' ');
  const requests: OutboundRequest[] = [];
  const outbound = {
    request: async (request: OutboundRequest) => {
      requests.push(request);
      const [status, body = '', headers = {}] = replies.shift() ?? [404];
      return { status, headers, body: Readable.from([body]) } as unknown as OutboundResponse;
    },
  } as OutboundClient;
  const options = { endpoint, region: 'r', bucket, accessKey: 'k', secretKey: 's' };
  return { storage: new S3FileStorage(new S3Client(options, outbound), 'copies/'), requests };
}

describe('S3FileStorage', () => {
  it('names the bucket in the host where the service refuses it in the path', async () => {
    for (const [place, base, prefix = ''] of [
      ['https://oss-cn-hangzhou.aliyuncs.com', 'https://films.oss-cn-hangzhou.aliyuncs.com'],
      // Earlier releases stored under these keys.
      ['https://films.oss-cn-hangzhou.aliyuncs.com', 'https://films.oss-cn-hangzhou.aliyuncs.com', 'films/'],
      ['https://obs.cn-north-4.myhuaweicloud.com my.films', 'https://obs.cn-north-4.myhuaweicloud.com/my.films'],
      ['https://cos.ap-guangzhou.myqcloud.com', 'https://films.cos.ap-guangzhou.myqcloud.com'],
      ['https://tos-s3-cn-beijing.volces.com', 'https://films.tos-s3-cn-beijing.volces.com'],
      ['https://obs.cn-north-4.myhuaweicloud.com', 'https://films.obs.cn-north-4.myhuaweicloud.com'],
      ['http://minio.lan:9000', 'http://minio.lan:9000/films'],
      ['https://films.example.com', 'https://films.example.com/films'],
      ['https://gate.example/s3', 'https://gate.example/s3/films'],
    ] as const) {
      const { storage, requests } = storeOf(place, [404], [200]);
      await storage.size('id');
      for await (const _ of storage.list());
      const [object, list] = requests.map(({ url }) => url);
      assert.equal(object, `${base}/${prefix}copies/id`);
      assert.equal(list, `${new URL(base).href}?list-type=2&prefix=${encodeURIComponent(prefix)}copies%2F`);
    }
  });

  it('ends a list at an empty token', { timeout: 5_000 }, async () => {
    const entry = `<Contents><Key>copies/${'a'.repeat(24)}</Key><LastModified>2026-11-01T00:00:00Z</LastModified></Contents>`;
    const page = (token: string) => `<List>${entry}<NextContinuationToken>${token}</NextContinuationToken></List>`;
    const { storage, requests } = storeOf('http://s3.lan', [200, page('next')], [200, page('')]);
    const found = [];
    for await (const batch of storage.list()) found.push(...batch);
    assert.deepEqual([found.length, requests.length], [2, 2]);
  });

  it('refuses a response that is not the requested part', async () => {
    const whole = [200, '0123456789', { 'content-length': '10' }] as const;
    const { storage } = storeOf('http://s3.lan', whole, whole, whole, [206, '23']);
    const read = async (start: number, end: number) => {
      const body = await storage.open('id', start, end);
      return body && (await text(body));
    };
    assert.equal(await read(0, 9), '0123456789');
    await assert.rejects(read(2, 3), /S3 answered 200: it sent 10 bytes for the range 2 to 3/);
    await assert.rejects(read(0, 3), /S3 answered 200/);
    assert.equal(await read(2, 3), '23');
  });
});
