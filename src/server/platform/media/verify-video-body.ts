import { Readable } from 'node:stream';
import { BadVideoError, type CheckedVideo, VideoCheck } from './video-check.ts';

export interface VerifiedBody {
  readonly body: Readable;
  /** By the first bytes, whatever the host announced. */
  readonly mimeType: CheckedVideo['mimeType'];
}

/**
 * A complete file of another host as it may be passed on. Bytes that do not begin like a video are refused before anything is
 * sent. A video that turns out to be cut short fails before its last bytes are sent, so that its receiver sees a broken
 * download in place of a whole file.
 *
 * @returns undefined for bytes that are no video; the body is destroyed then
 */
export async function verifyVideoBody(body: Readable): Promise<VerifiedBody | undefined> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const check = new VideoCheck();
  const first: Buffer[] = [];
  try {
    while (check.mimeType === undefined) {
      const { value, done } = await chunks.next();
      if (done === true) throw new BadVideoError('it is too short for a video', true);
      check.push(value);
      first.push(value);
    }
  } catch {
    body.destroy();
    return undefined;
  }
  const passed = Readable.from(checked(check, first, chunks), { objectMode: false });
  // A generator that waits for a chunk ends only with it.
  return { body: passed.once('close', () => body.destroy()), mimeType: check.mimeType };
}

/** Each chunk is held until the next has come, and the last until the check has passed. */
async function* checked(check: VideoCheck, first: Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  let held = Buffer.concat(first);
  for await (const chunk of { [Symbol.asyncIterator]: () => rest }) {
    check.push(chunk);
    yield held;
    held = chunk as Buffer<ArrayBuffer>;
  }
  check.end();
  yield held;
}
