import { Readable } from 'node:stream';
import { VideoCheck } from './video-check.ts';

/** Less cannot be told from a text; more is not needed. */
const FIRST_BYTES = 12;

/**
 * A complete file of another host as it may be passed on. What begins like a text is refused before anything is sent. A video
 * that turns out to be cut short fails before its last bytes are sent, so that its receiver sees a broken download in place
 * of a whole file.
 *
 * @returns undefined for what is no file; the body is destroyed then
 */
export async function verifyVideoBody(body: Readable): Promise<Readable | undefined> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let first = Buffer.alloc(0);
  while (first.length < FIRST_BYTES) {
    const { value, done } = await chunks.next().catch(() => ({ value: undefined, done: true }));
    if (done === true) break;
    first = Buffer.concat([first, value as Buffer]);
  }
  if (first.length === 0 || /^[\s\ufeff]*[<{[]/.test(first.toString('utf8'))) {
    body.destroy();
    return undefined;
  }
  const passed = Readable.from(isKnownForm(first) ? checked(first, chunks) : joined(first, chunks), {
    objectMode: false,
  });
  // A generator that waits for a chunk ends only with it.
  return passed.once('close', () => body.destroy());
}

const isKnownForm = (first: Buffer): boolean => first.toString('latin1', 4, 8) === 'ftyp';

async function* joined(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
}

/** Each chunk is held until the next has come, and the last until the check has passed. */
async function* checked(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  const check = new VideoCheck();
  let held: Buffer | undefined;
  for await (const chunk of joined(first, rest)) {
    check.push(chunk);
    if (held !== undefined) yield held;
    held = chunk;
  }
  check.end();
  if (held !== undefined) yield held;
}
