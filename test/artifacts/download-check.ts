import assert from 'node:assert/strict';
import type { SeededRandom } from '../../src/sandbox/deviations.ts';
import type { ApiCaller } from '../flows/video-fixture.ts';

/** A video and the only bytes that may ever be served as its file. */
export interface ExpectedFile {
  readonly id: string;
  readonly bytes: Buffer;
}

const FORMS = ['whole', 'part', 'tail', 'resumed', 'stale'] as const;
/** Statuses that may refuse a download while its vendor's file is unavailable. */
const REFUSALS = new Set([400, 404, 409, 416, 429, 502, 503, 504]);

/** Downloads files in the ways players and download programs do, and records every byte that is not the file's. */
export class DownloadCheck {
  readonly counts = { right: 0, broken: 0, refused: 0 };
  readonly wrong: string[] = [];
  readonly #caller: ApiCaller;
  readonly #random: SeededRandom;
  #reads = 0;

  constructor(caller: ApiCaller, random: SeededRandom) {
    this.#caller = caller;
    this.#random = random;
  }

  /** Reads part or all of the file; the download may break off or be refused. */
  async read(file: ExpectedFile): Promise<void> {
    const moment = `read ${this.#reads++}`;
    const form = this.#random.pick(moment, FORMS);
    const cut = 1 + Math.floor(this.#random.next(moment) * (file.bytes.length - 2));
    if (form === 'resumed') return this.#resume(file, cut);
    const ranges = {
      whole: undefined,
      part: `bytes=${cut >> 1}-${cut}`,
      tail: `bytes=-${cut}`,
      stale: `bytes=${cut}-`,
    };
    const range = ranges[form];
    const ifRange: Record<string, string> = form === 'stale' ? { 'if-range': '"of another file"' } : {};
    await this.#download(file, range === undefined ? {} : { range, ...ifRange });
  }

  /**
   * Reads all and then part of a file that its vendor no longer has.
   * @throws AssertionError if the copy is lost
   */
  async readStored(file: ExpectedFile): Promise<void> {
    const { id, bytes } = file;
    const whole = await this.#caller.fetchRaw(`/v1/videos/${id}/content`);
    assert.equal(whole.status, 200, `${id} is lost: ${whole.status}`);
    assert.ok(bytes.equals(Buffer.from(await whole.arrayBuffer())), `${id} has other bytes`);
    const etag = whole.headers.get('etag') ?? '';
    const part = await this.#caller.fetchRaw(`/v1/videos/${id}/content`, {
      headers: { range: 'bytes=100-4999', 'if-range': etag },
    });
    assert.equal(part.status, 206);
    assert.ok(bytes.subarray(100, 5_000).equals(Buffer.from(await part.arrayBuffer())), `${id} has another part`);
    const head = await this.#caller.fetchRaw(`/v1/videos/${id}/content`, { method: 'HEAD' });
    assert.equal(Number(head.headers.get('content-length')), bytes.length);
  }

  /** Reads the first bytes, then the rest if the file is still the same. */
  async #resume(file: ExpectedFile, cut: number): Promise<void> {
    const etag = await this.#download(file, { range: `bytes=0-${cut - 1}` });
    if (etag) await this.#download(file, { range: `bytes=${cut}-`, 'if-range': etag });
  }

  /** @returns the ETag of a complete download */
  async #download(file: ExpectedFile, headers: Record<string, string>): Promise<string | null | undefined> {
    const response = await this.#caller.fetchRaw(`/v1/videos/${file.id}/content`, { headers }).catch(() => undefined);
    const body = await response?.arrayBuffer().catch(() => undefined);
    if (response === undefined || body === undefined) {
      this.counts.broken += 1;
      return undefined;
    }
    const { status } = response;
    if (status !== 200 && status !== 206) {
      if (!REFUSALS.has(status)) this.wrong.push(`${file.id}: status ${status}: ${Buffer.from(body).toString()}`);
      this.counts.refused += 1;
      return undefined;
    }
    const found = Buffer.from(body);
    const expected = status === 200 ? file.bytes : partOf(file.bytes, response.headers.get('content-range'));
    if (expected?.equals(found)) this.counts.right += 1;
    else
      this.wrong.push(
        `${file.id}: ${status} ${JSON.stringify(headers)} ${response.headers.get('content-range')}: ${found.length} bytes`,
      );
    return response.headers.get('etag');
  }
}

/** The bytes a Content-Range (RFC 9110 section 14.4) names; undefined if it does not fit the file. */
function partOf(bytes: Buffer, contentRange: string | null): Buffer | undefined {
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(contentRange ?? '') ?? [];
  return Number(total) === bytes.length ? bytes.subarray(Number(first), Number(last) + 1) : undefined;
}
