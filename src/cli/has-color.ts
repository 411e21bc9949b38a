import type { WriteStream } from 'node:tty';

/**
 * Whether text for a stream may be coloured: FORCE_COLOR decides where it is set (0 or false: never), else NO_COLOR
 * (no-color.org) turns colours off, else a terminal that knows some has them.
 */
export function hasColor(stream: Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>, env = process.env): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: without } = env;
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false';
  if (without !== undefined && without !== '') return false;
  return stream.isTTY === true && stream.hasColors?.() === true;
}
