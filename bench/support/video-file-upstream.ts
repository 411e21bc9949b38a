/** Serves an MP4 of `MIB` MiB (default 24) at every path, like a vendor's file host. Prints `listening PORT`. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

const MIB = 1024 ** 2;
const size = Number(process.env.MIB ?? 24) * MIB;

/** A box of ISO/IEC 14496-12 section 4.2. */
function box(type: string, bytes: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(bytes);
  head.write(type, 4, 'latin1');
  return head;
}

const head = Buffer.concat([box('ftyp', 24), Buffer.from('isom\0\0\0\0isommp41', 'latin1'), box('moov', 8)]);
const start = Buffer.concat([head, box('mdat', size - head.length)]);
const chunk = Buffer.alloc(64 * 1024);

function* file(): Generator<Buffer> {
  yield start;
  for (let left = size - start.length; left > 0; left -= chunk.length)
    yield chunk.subarray(0, Math.min(left, chunk.length));
}

const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': size });
  Readable.from(file(), { objectMode: false })
    .on('error', () => {})
    .pipe(response);
});
server.listen(0, '127.0.0.1', () => console.log(`listening ${(server.address() as AddressInfo).port}`));
