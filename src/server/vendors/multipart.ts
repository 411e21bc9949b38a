import { randomBytes } from 'node:crypto';
import { isObject } from '../../contract/objects.ts';
import type { Json, MediaFile } from './adapter.ts';
import type { RequestBody } from './json-calls.ts';

/**
 * Builds a body by RFC 7578; objects become bracketed names (`input_reference[image_url]`), as in the official clients.
 */
export function toMultipart(fields: RequestBody, file: Required<MediaFile>, fileField: string) {
  const boundary = `reelgate-${randomBytes(16).toString('hex')}`;
  const parts: Buffer[] = [];
  const part = (disposition: string, value: Buffer) => {
    parts.push(
      Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n`),
      value,
      Buffer.from('\r\n'),
    );
  };
  const quote = (name: string) => name.replace(/[\r\n"]/g, (sign) => encodeURIComponent(sign));
  const field = (name: string, value: Json): void => {
    if (isObject(value)) {
      for (const [key, inner] of Object.entries(value)) field(`${name}[${key}]`, inner);
    } else part(`name="${quote(name)}"`, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
  };
  // The only file is the last part, so everything else is plain JSON.
  for (const [name, value] of Object.entries(fields)) field(name, value as Json);
  const type = file.mediaType.replace(/[\r\n]/g, '');
  part(`name="${fileField}"; filename="${quote(file.filename)}"\r\ncontent-type: ${type}`, file.bytes);
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(parts) };
}
