import type { Socket } from 'node:net';
import type { ReadingOptions } from '../guard.ts';

const READ_BYTES = 64 * 1024;
const RECEIVE = Symbol('receive');

interface ReadSocket extends Socket {
  [RECEIVE]?: (bytes: Buffer) => void;
}

const buffer = Buffer.allocUnsafeSlow(READ_BYTES);

/**
 * All sockets opened with it are read into one buffer, and what came is copied out of it. Otherwise each read takes 64 KiB of its own and
 * gives most of it back, which costs more than the copy.
 */
export const READ_INTO_ONE_BUFFER: ReadingOptions = {
  onread: {
    buffer,
    callback(this: ReadSocket, size: number): boolean {
      const bytes = Buffer.allocUnsafe(size);
      buffer.copy(bytes, 0, 0, size);
      this[RECEIVE]?.(bytes);
      return true;
    },
  },
};

/** Gives what comes on a socket to `receive`, whether it was opened with that or not: then it has `data` events. */
export function receiveFrom(socket: Socket, receive: (bytes: Buffer) => void): void {
  (socket as ReadSocket)[RECEIVE] = receive;
  socket.on('data', receive);
}
