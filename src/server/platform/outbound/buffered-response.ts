import { promisify } from 'node:util';
import { type BrotliOptions, brotliDecompress, gunzip, inflate, type ZlibOptions } from 'node:zlib';
import { JsonRejectedError, parseJson } from '../parse-untrusted-json.ts';
import { type BufferedResponse, type ExchangeHandler, OutboundError } from './outbound-types.ts';

type Decoder = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: { readonly [coding: string]: Decoder } = {
  gzip: promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  'x-gzip': promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  deflate: promisify<Buffer, ZlibOptions, Buffer>(inflate),
  br: promisify<Buffer, BrotliOptions, Buffer>(brotliDecompress),
};

/** Collects a response in memory, at most `maxBytes` of it both as sent and as decoded. */
export function bufferingHandler(
  maxBytes: number,
  resolve: (answer: BufferedResponse) => void,
  reject: (error: OutboundError) => void,
): ExchangeHandler {
  let status = 0;
  let headers: Readonly<Record<string, string>> = {};
  let chunks: Buffer[] = [];
  let size = 0;
  const settle = (bytes: Buffer, whole: boolean): void => {
    const text = bytes.toString('utf8');
    resolve({ status, headers, text, json: whole ? readJson(text) : undefined });
  };
  return {
    head(gotStatus, gotHeaders) {
      status = gotStatus;
      headers = gotHeaders;
    },
    chunk(bytes, control) {
      size += bytes.length;
      chunks.push(bytes);
      if (size <= maxBytes) return;
      const cut = Buffer.concat(chunks).subarray(0, maxBytes);
      chunks = [];
      // Settled first: the failure that follows the abort then has nothing left to decide.
      if (codingOf(headers) === undefined) settle(cut, false);
      else reject(new OutboundError('body', `the answer is longer than ${maxBytes} bytes`));
      control.abort();
    },
    end() {
      const [first] = chunks;
      const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
      const coding = codingOf(headers);
      if (coding === undefined || bytes.length === 0) settle(bytes, true);
      else decode(bytes, coding, maxBytes).then((decoded) => settle(decoded, true), reject);
    },
    fail(error) {
      reject(error);
    },
  };
}

function codingOf(headers: Readonly<Record<string, string>>): string | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase();
  return coding === undefined || coding === '' || coding === 'identity' ? undefined : coding;
}

async function decode(bytes: Buffer, coding: string, maxBytes: number): Promise<Buffer> {
  const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (decoder === undefined) throw new OutboundError('body', 'the answer has a content coding that was not asked for');
  try {
    return await decoder(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    throw new OutboundError('body', 'the answer could not be decoded within its bound', { cause });
  }
}

function readJson(text: string): unknown {
  try {
    return parseJson(text, { longIntegersAsText: true });
  } catch (error) {
    if (error instanceof JsonRejectedError) return undefined;
    throw error;
  }
}
